"""Which helper a program may call, with which prototype and which maps: tables, and the questions to them.

The prototypes stand beside the helpers' bodies (bpf/helpers/); by_type.py says which program types get which,
choose.py answers for one program, map_compat.py which maps go with which helpers, attach_rules.py what may be loaded
for which attachment.
"""
