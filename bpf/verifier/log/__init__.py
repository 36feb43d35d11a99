"""The verifier's log: the buffer with the levels and sizes of the kernel's, and how registers, stack slots and types
read in it.
"""
