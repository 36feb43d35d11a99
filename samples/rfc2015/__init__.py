"""The samples of "tracing: attach eBPF programs to tracepoints/syscalls/kprobe", January 2015."""
