"""The options of tracefs and debugfs: uid, gid and mode, of which there is one set for all mounts.  fs/tracefs/inode.c, fs/debugfs/inode.c.

Before 6.11 a parser of tokens took what it knew and no notice of the rest; since then values have to be right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from arch.abi.errno import EINVAL
from arch.abi.mount import MS_RDONLY
from arch.abi.stat import S_IALLUGO
from arch.errors import KernelError
from simkernel.fs.inode import Dentry, Inode
from simkernel.fs.pseudo import PseudoSuper

DEFAULT_MODE = 0o700
TOKENS = {"uid": (r"0x[0-9a-fA-F]+|[0-9]+", 0), "gid": (r"0x[0-9a-fA-F]+|[0-9]+", 0), "mode": ("[0-7]+", 8)}


class OwnedSuper(PseudoSuper):
    """The one super block of such a tree."""

    strict = False  # unknown options are refused, where any are
    whole = False  # owner and group are of everything, not of the root alone

    def begin(self, strict: bool, whole: bool) -> OwnedSuper:
        """As the file system has it."""
        self.strict, self.whole = strict, whole
        self.set: dict[str, int] = {}
        return self

    def reconfigure(self, flags: int, data: str) -> None:
        """A remount.  EINVAL."""
        self._apply(data, self.set)

    def mount_again(self, flags: int, data: str) -> None:
        """reconfigure_single(): a second mount sets what a remount does, and whether the tree is read-only."""
        features = self.vfs.names
        self._apply(data, {} if features.tree_options_checked else self.set)
        self.s_flags = self.s_flags & ~MS_RDONLY | flags & MS_RDONLY

    def _parse(self, data: str) -> dict[str, int]:
        found = {}
        for option in filter(None, data.split(",")):
            key, _, value = option.partition("=")
            pattern, base = TOKENS.get(key, ("", 0))
            checked = self.vfs.names.tree_options_checked
            if pattern and re.fullmatch(pattern, value):
                octal = base or (8 if re.match("0[0-7]", value) else 0)
                found[key] = int(value, octal) & (S_IALLUGO if key == "mode" else 0xFFFFFFFF)
            elif checked and (pattern or self.strict):
                raise KernelError(EINVAL, f"{self.fs_name}: bad option {option}")
        return found

    def _apply(self, data: str, before: dict[str, int]) -> None:
        """apply_options().  Before the parser changed, what is not said has its default mode and is not applied."""
        features = self.vfs.names
        said = self._parse(data)
        if features.tree_options_checked:
            self.set = said = {**before, **said}
        else:
            self.set = {**{key: value for key, value in before.items() if key != "mode"}, **said}
            if not features.tree_mode_kept and not self.whole:
                said = {"mode": DEFAULT_MODE, **self.set}
        words = ((name, self.set.get(name, 0 if name != "mode" else DEFAULT_MODE)) for name in ("uid", "gid", "mode"))
        self.options = ",".join(
            f"mode={value:o}" if name == "mode" else f"{name}={value}"
            for name, value in words
            if value != (DEFAULT_MODE if name == "mode" else 0)
        )
        root = self.s_root.inode
        root.i_mode = root.i_mode & ~S_IALLUGO | said.get("mode", root.i_mode & S_IALLUGO)
        root.i_uid, root.i_gid = said.get("uid", root.i_uid), said.get("gid", root.i_gid)
        shared = ("uid", "gid") if features.tree_options_checked else ("gid",)
        if self.whole:
            self.owners = {**self.owners, **{key: said[key] for key in shared if key in said}}
            for inode in below(self.s_root):
                inode.i_uid = said["uid"] if "uid" in said and "uid" in shared else inode.i_uid
                inode.i_gid = said.get("gid", inode.i_gid)
                self.vfs.mirror.inode_changed(inode)
        self.vfs.mirror.inode_changed(root)


def below(dentry: Dentry) -> Iterator[Inode]:
    """The inodes of a tree that are in memory, without its root's."""
    for child in list((dentry.children or {}).values()):
        yield child.inode
        yield from below(child)
