"""eBPF: everything that the kernel's kernel/bpf/ does, and in loader/ what libbpf does in user space.

From below: isa/ (instructions as data), btf/ (types), versions/ (what each kernel has), maps/ and packet/ (what
programs work on), helpers/ (what they call), verifier/ (may they run, and as what), run/ (running them), core/
(programs and links as objects), syscall/ (bpf(2)), testing/ (all of it without a machine).  Nothing here knows a
task, a file or a probe: what it needs of the machine it asks of the `Host` in face.py, and the machine's is
simkernel/observe/.
"""

__part_of__ = "simkernel"  # simkernel/own_floors.py looks for this line
