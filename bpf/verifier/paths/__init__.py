"""The shape of the program, and the walk over its paths.

First cfg.py: functions, jumps, reachability, loops; prepare.py: BTF, and what the 64-bit constants mean.  Then
do_check.py walks: one instruction after the other on one path, alu.py for arithmetic, jump.py for conditional jumps,
where the path forks and the other way is put aside.  prune.py ends a path that comes to a checkpoint knowing no more
than one before it.
"""
