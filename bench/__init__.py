"""Benchmarks: what the hot paths cost, as ratios against a named peer measured in the same run.  `make bench`."""
