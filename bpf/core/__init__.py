"""Programs, links and the machine's BPF as a whole: what bpf(2) makes and what outlives one call.  kernel/bpf/core.c, syscall.c."""
