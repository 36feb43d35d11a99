"""Calls: of helpers (calls.py), of kernel functions (kfunc.py), of the program's own functions (subprog.py).

Each is judged in two steps: do the registers hold what the prototype asks for (args.py for helpers, arg_match.py
against BTF), and what do R0 and the caller-saved registers hold afterwards.
"""
