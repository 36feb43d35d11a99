"""BPF without a machine: a small host, recorded cases, runs with every check on."""
