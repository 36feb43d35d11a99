"""eBPF: instructions, assembler, BTF, maps, helpers, verifiers, interpreter, bpf(2), and loader/, which does
what libbpf does in user space.  Mirrors kernel/bpf/ and tools/lib/bpf/.
"""

__part_of__ = "simkernel"  # simkernel/own_floors.py looks for this line
