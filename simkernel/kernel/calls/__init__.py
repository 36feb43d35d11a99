"""System calls of the kernel's core, one file for each area."""
