"""Reading and writing registers, stack and memory, and what each teaches."""
