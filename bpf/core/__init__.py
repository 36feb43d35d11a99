"""Programs and links as objects with ids and descriptors: what bpf(2) makes, and what outlives the call.
kernel/bpf/core.c, syscall.c.

load.py goes from the attributes of BPF_PROG_LOAD to a program, in the kernel's order of checks; program.py is the
loaded program and its runs; link.py an attachment that is an object of its own.
"""
