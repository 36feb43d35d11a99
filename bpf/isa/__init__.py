"""The instruction set: instructions as data, their bytes, an assembler and the kernel's disassembler.  include/uapi/linux/bpf.h."""
