"""What a program gets as its context, and what it may attach to.

ctx_layout.py has the structures of linux/bpf.h, ctx.py which bytes of them each program type may read and write and
what it finds there. A tracing program's context is the arguments of the function it attaches to: attach.py finds the
function, btf_walk.py the types behind its pointers.
"""
