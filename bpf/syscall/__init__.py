"""bpf(2): the door, its attributes, one file for each kind of command.  kernel/bpf/syscall.c, net/bpf/test_run.c."""
