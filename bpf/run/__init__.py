"""Running verified programs.  kernel/bpf/core.c, arch/*/net/bpf_jit*.c.

interpreter.py says what each instruction does, once, as Python text: blocks of instructions are translated when they
are first reached, or one instruction at a time for who wants to step.  compiled.py makes machine code, by LLVM, of
programs that work hard; the tests hold the two against each other.
"""
