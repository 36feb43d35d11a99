"""nsfs: the inodes behind /proc/PID/ns.  fs/nsfs.c.  Namespaces cannot be made or changed here: there is one of each kind."""

from __future__ import annotations

from arch.abi.stat import S_IFREG
from simkernel.fs.inode import Dentry, FileOperations, Inode, Mount, Path

NS_FILE_OPERATIONS = FileOperations("ns_file_operations", llseek="no_llseek")


class Namespaces:
    """One inode per namespace, made when first asked for."""

    def __init__(self, mnt: Mount) -> None:
        self.mnt = mnt
        self.made: dict[int, Path] = {}

    def path(self, text: str, ino: int) -> Path:
        """ns_get_path(): the namespace that `text` (`net:[4026531840]`) names."""
        if ino not in self.made:
            inode = Inode(self.mnt.mnt_sb, S_IFREG | 0o444, ino)
            inode.i_fop = NS_FILE_OPERATIONS
            dentry = Dentry(text, None, inode)
            dentry.d_dname = _name
            self.made[ino] = Path(self.mnt, dentry)
        return self.made[ino]


def _name(dentry: Dentry) -> str:
    return dentry.name
