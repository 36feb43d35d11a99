"""Linux's numbers, each stated once: what user space and the kernel agree on, by header.

`errno`, `fcntl`, `mman`, `poll`, `signal`, `socket` and the others hold the constants of one uapi header (or a few that
belong together) under Linux's own names; `version` orders kernel releases; `files` describes user-visible structures as
rows.  Everything here is the same on all supported architectures; what one of them does differently (struct stat, some
open flags, the packed struct epoll_event) is in its own folder, as rows of these modules' types.  BPF's numbers are in
bpf/uapi.py.  Nothing in this package imports anything of ours but its own modules.
"""
