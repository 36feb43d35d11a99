"""POSIX message queues.  include/uapi/linux/mqueue.h, include/linux/ipc_namespace.h."""

from __future__ import annotations

MQ_PRIO_MAX = 32768
DFLT_QUEUESMAX, DFLT_MSG, DFLT_MSGMAX, DFLT_MSGSIZE, DFLT_MSGSIZEMAX = 256, 10, 10, 8192, 8192
HARD_MSGMAX, HARD_MSGSIZEMAX = 65536, 16 << 20
MIN_MSGSIZEMAX = 128
SI_MESGQ = -3
