"""Map types.  Mirrors kernel/bpf/{arraymap,hashtab,lpm_trie,queue_stack_maps,bloom_filter,ringbuf,stackmap,...}.c.

A type is a class with one row above it, `@map_type(...)` of rows.py: number, version, rules.  What else knows map types
(the verifier, the loader, bpf(2), the feature tables, docs/bpf-tables.md) reads the rows, through types.py.
"""
