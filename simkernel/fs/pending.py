"""Names that are about to be made: a negative dentry for who is asked about it.  fs/namei.c:filename_create()."""

from __future__ import annotations

from typing import Protocol

from simkernel.fs.inode import Cred, Dentry
from simkernel.fs.mirror import Mirror
from simkernel.fs.root_cred import ROOT_CRED


class FsObjects(Protocol):
    """What of the virtual file system is needed (vfs.py)."""

    mirror: Mirror
    objects: dict[int, object]


class Pending:
    """A negative dentry with a C struct: the name that vfs_mkdir and its like are asked to make."""

    __slots__ = ("addr", "cred", "made", "name", "parent", "target", "vfs")

    def __init__(self, vfs: FsObjects, parent: Dentry, name: str, cred: Cred = ROOT_CRED) -> None:
        self.vfs = vfs
        self.parent = parent
        self.name = name
        self.cred = cred
        self.made: Dentry | None = None
        self.target = ""
        layout = vfs.mirror.struct("struct dentry")
        raw = name.encode("utf-8", "surrogateescape")
        self.addr = vfs.mirror.mem.alloc(layout.size + 256)
        inline = layout.where("d_iname")
        assert inline is not None
        at = self.addr + (inline[0] if len(raw) < inline[1] else layout.size)
        vfs.mirror.mem.write(self.addr, layout.pack({
            "d_parent": vfs.mirror.dentry(parent), "d_name.name": at, "d_name.len": len(raw),
        }))  # fmt: skip
        vfs.mirror.mem.write(at, raw + b"\0")
        vfs.objects[self.addr] = self

    def put(self) -> None:
        """The call is over."""
        del self.vfs.objects[self.addr]
        self.vfs.mirror.mem.free(self.addr)
