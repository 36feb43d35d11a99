"""The instruction set: instructions as data, their bytes, an assembler and the kernel's disassembler.
include/uapi/linux/bpf.h.

insn.py has the instruction with its parts by name (class, size, mode, operation, source), which all others read;
nothing here knows what an instruction does (that is bpf/run/).  asm.py reads what disasm.py prints, with labels.
"""
