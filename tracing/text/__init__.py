"""Small things that print or are printed: numbers and strings as the kernel reads them, addresses, flags of allocations."""
