"""bpf(2): one door, its attributes, one file for each kind of command.  kernel/bpf/syscall.c, net/bpf/test_run.c.

sys_bpf.py is the door: privileges, the size of the attribute, then the command's row.  attr.py has the layout of
union bpf_attr and how much of it each version knows.  The commands are in map.py, prog.py, link.py and object.py,
test runs in test_run.py; each checks in the kernel's order, because that order decides which errno a program sees.
"""
