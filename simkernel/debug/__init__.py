"""A debugger for simulated machines: forwards and backwards through instructions, BPF programs and events."""
