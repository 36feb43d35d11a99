"""Pseudo-terminals.  Mirrors drivers/tty/ and fs/devpts/.

devpts.py   the file system, /dev/ptmx, and the kernel functions on the way: what a machine has from its boot on
tty.py      one end: its modes, who its session and foreground group are, hang-up.  tty_io.c, tty_jobctrl.c, pty.c
n_tty.py    the line discipline: editing, echo, control characters, what a read gets.  n_tty.c
ioctl.py    what is asked of an end by ioctl(2).  tty_ioctl.c

The last three are loaded when the first pair is made.  The console (simkernel/fs/hostio.py) is another thing: the host's
terminal edits its lines.
"""
