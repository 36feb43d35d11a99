"""Reading and writing registers, stack and memory, and what each teaches.

regs.py: is a register written before it is read.  stack.py: spills, fills, plain data, variable offsets.  memory.py:
a load or store through any kind of pointer, which it gives to the one that knows: stack.py, map_access.py (values,
and the special fields in them), the context's tables, BTF.  precision.py goes back along the path when a decision
turns out to depend on a scalar.
"""
