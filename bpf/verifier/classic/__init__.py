"""The verifier of kernels before 4.9, exact to the byte for 4.1.  It is a tenth of the modern one, and a good first
read.

verifier.py runs the passes: cfg.py (map descriptors, control flow), check.py (every path of the program, with what
state.py knows: no ranges yet, only kinds of values), rewrite.py (context loads become loads from the kernel's
structures).  types.py has the tables of program types.
"""
