"""Running verified programs: the reference interpreter and compiled code.  kernel/bpf/core.c, arch/*/net/bpf_jit*.c."""
