"""What process accounting keeps: the calls are in acct.py.  kernel/acct.c:struct bsd_acct_struct."""

from __future__ import annotations

from simkernel.fs.inode import File
from simkernel.kernel.task import SignalStruct


class Accounting:
    """`k.vfs.acct`: the file of the records, and what is known of processes that end."""

    def __init__(self) -> None:
        self.file: File | None = None
        self.memory_kb: dict[SignalStruct, int] = {}  # that they had mapped
