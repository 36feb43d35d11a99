"""What a program gets as its context, and what it may attach to."""
