"""The two verifiers: `classic` for kernels before 4.9, `modern` for later ones.  Mirrors kernel/bpf/verifier.c.

A verifier gets a request and gives a verdict with a log and, where it accepts, the program as it will run (api.py).
Both are exact: verdict, errno, log and rewritten program equal recorded answers of the real 4.1 and 6.1; versions
between are 6.1 narrowed to what they could (older.py).

The modern one in the order in which a program passes it (modern.py): paths/ looks at the program's shape and then
walks every path, instruction by instruction; what it knows on the way is in domain/ (numbers, registers, stack,
states).  An instruction that touches memory is judged in access/, a call in calls/, with the prototypes of protos/
and the contexts of context/. log/ says it in the kernel's words; rewrite/ makes what runs.  env.py is the workplace
that they all share.

To read a check, start from its sentence in the log: the words are the kernel's, and each stands in one place.
"""
