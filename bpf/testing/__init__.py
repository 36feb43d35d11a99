"""BPF without a machine: a small host, recorded cases, runs with every check on.

host.py is a machine just big enough (memory, a clock, a task, descriptors).  cases.py reads case files: programs with
the answers that a real kernel gave, which `simkernel verify --cases` compares.  checked.py runs accepted programs and
holds what the verifier promised against what happens.
"""
