"""samples/bpf of Linux 4.1: the kernel sides in C (*.bpf.c), the user sides in Python."""
