"""Signals.  include/uapi/asm-generic/{signal,siginfo,signal-defs}.h, linux/signal.h.

The layout of signal frames is each architecture's (arch/NAME/signal.py).
"""

from __future__ import annotations

(SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE,
 SIGALRM, SIGTERM, SIGSTKFLT, SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGXCPU, SIGXFSZ,
 SIGVTALRM, SIGPROF, SIGWINCH, SIGIO, SIGPWR, SIGSYS) = range(1, 32)  # fmt: skip
SIGNAL_NAMES = {value: name for name, value in globals().items() if name.startswith("SIG") and isinstance(value, int)}
SIGRTMIN = 32  # the kernel's; libc keeps the first ones to itself
NSIG = 64

SIG_DFL, SIG_IGN = 0, 1
SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK = 0, 1, 2
SA_NOCLDSTOP, SA_NOCLDWAIT, SA_SIGINFO, SA_RESTORER = 1, 2, 4, 0x04000000
SA_ONSTACK, SA_RESTART, SA_NODEFER, SA_RESETHAND = 0x08000000, 0x10000000, 0x40000000, 0x80000000
SS_ONSTACK, SS_DISABLE, SS_AUTODISARM = 1, 2, 1 << 31
MINSIGSTKSZ = 2048  # bytes

# si_code
SI_USER, SI_KERNEL, SI_QUEUE, SI_TIMER, SI_TKILL = 0, 0x80, -1, -2, -6
ILL_BADSTK = 8
SEGV_MAPERR, SEGV_ACCERR = 1, 2
BUS_ADRERR = 2
CLD_EXITED, CLD_KILLED, CLD_DUMPED, CLD_TRAPPED, CLD_STOPPED, CLD_CONTINUED = range(1, 7)
SIGEV_SIGNAL, SIGEV_NONE, SIGEV_THREAD, SIGEV_THREAD_ID = 0, 1, 2, 4

POLL_IN, POLL_OUT, POLL_MSG, POLL_ERR, POLL_PRI, POLL_HUP = range(1, 7)  # si_code of SIGIO and its replacements
