"""The ground floor: the hardware.

Physical memory, page tables and the emulated CPU; per architecture one folder of facts (registers, pt_regs,
calling conventions, system-call numbers, breakpoints, kernel-function text, stack unwinding); C types and their
layouts; kernel text and symbols.  Nothing here knows what a task, a file or a program is.  Mirrors Linux's arch/.
"""

__part_of__ = "simkernel"  # simkernel/own_floors.py looks for this line
