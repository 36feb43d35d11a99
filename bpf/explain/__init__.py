"""Why the verifier said no, and where an accepted program's instructions go: for people, from what the verifier printed.

The log is the kernel's own and stays beside the explanation.  `path` reads it back into steps, states and the path that
failed; `rules` is the table of what the verifier's messages mean and what satisfies them; `story` puts both together:
the instruction and its source line, how the register came to what it was, the rule in words.  Nothing here is asked by
the kernel; it mirrors nothing of Linux's.
"""
