"""What the verifier knows about values, and how that is combined.

From below: tnum.py (known bits), bounds.py (signed, unsigned, 64 and 32 bits, kept consistent), scalar.py (arithmetic
on both), types.py (the words for kinds of pointers), state.py (registers, stack slots, frames: all that is known at
one point of one path).  Values are shared between states and never changed in place; a register gets another one.
"""
