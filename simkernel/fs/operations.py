"""Which tables of operations the inodes, dentries and super blocks of each file system lead to, and what else its super block says.

Asked of 6.1, file by file; functions of files are FileOperations.  File systems without a row have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from arch.abi.limits import PAGE_SHIFT
from arch.abi.stat import S_IFDIR, S_IFLNK, S_IFMT, S_IFREG

SB_NODIRATIME, SB_POSIXACL, SB_KERNMOUNT, SB_I_VERSION = 0x800, 1 << 16, 1 << 22, 1 << 23
SB_NOSEC, SB_BORN, SB_ACTIVE, SB_NOUSER = 1 << 28, 1 << 29, 1 << 30, 0xFFFFFFFF80000000
DCACHE_OP_REVALIDATE, DCACHE_OP_DELETE, DCACHE_NORCU, DCACHE_SPECIAL_TYPE = 0x4, 0x8, 0x40000000, 0x500000
ALIVE = SB_BORN | SB_ACTIVE
MAX_NON_LFS = (1 << 31) - 1  # s_maxbytes of who says nothing
NO_SYMLINKS = ("simple_symlink_inode_operations", "empty_aops")


class FsRow(NamedTuple):
    """One file system."""

    s_op: str
    s_flags: int
    # (i_op, a_ops) of files, directories, symbolic links and all others
    regular: tuple[str, str]
    directory: tuple[str, str]
    link: tuple[str, str]
    special: tuple[str, str]
    d_op: str = "simple_dentry_operations"  # of all but its root
    s_maxbytes: int = 0  # 0: what it says itself
    blkbits: int = PAGE_SHIFT

    def of(self, mode: int) -> tuple[str, str]:
        """For an inode of this i_mode."""
        kind = mode & S_IFMT
        if kind == S_IFREG:
            return self.regular
        return self.directory if kind == S_IFDIR else self.link if kind == S_IFLNK else self.special


_SHMEM = (
    ("shmem_inode_operations", "shmem_aops"), ("shmem_dir_inode_operations", "empty_aops"),
    ("shmem_short_symlink_operations", "empty_aops"), ("shmem_special_inode_operations", "empty_aops"),
)  # fmt: skip
_KERNFS = (
    ("kernfs_iops", "ram_aops"),
    ("kernfs_dir_iops", "ram_aops"),
    ("kernfs_symlink_iops", "ram_aops"),
    ("kernfs_iops", "ram_aops"),
)
_TRACEFS = (
    ("empty_iops", "empty_aops"),
    ("simple_dir_inode_operations", "empty_aops"),
    NO_SYMLINKS,
    ("empty_iops", "empty_aops"),
)
_PROC = (("proc_file_inode_operations", "empty_aops"), ("proc_dir_inode_operations", "empty_aops"), NO_SYMLINKS,
         ("proc_file_inode_operations", "empty_aops"))  # fmt: skip
_BPF = (("empty_iops", "empty_aops"), ("bpf_dir_iops", "empty_aops"), NO_SYMLINKS, ("empty_iops", "empty_aops"))


def _nameless(inode: str, aops: str) -> tuple[tuple[str, str], tuple[str, str], tuple[str, str], tuple[str, str]]:
    return (inode, aops), (inode, aops), (inode, aops), (inode, aops)


FILE_SYSTEMS: Mapping[str, FsRow] = {
    "rootfs": FsRow("shmem_ops", ALIVE | SB_NOSEC | SB_I_VERSION | SB_POSIXACL, *_SHMEM),
    "tmpfs": FsRow("shmem_ops", ALIVE | SB_NOSEC | SB_I_VERSION | SB_POSIXACL, *_SHMEM),
    "devtmpfs": FsRow("shmem_ops", ALIVE | SB_NOSEC | SB_POSIXACL, *_SHMEM),
    "proc": FsRow("proc_sops", ALIVE | SB_NODIRATIME, *_PROC, "proc_misc_dentry_ops", s_maxbytes=MAX_NON_LFS, blkbits=10),
    "sysfs": FsRow("kernfs_sops", ALIVE, *_KERNFS, "kernfs_dops", s_maxbytes=MAX_NON_LFS),
    "cgroup2": FsRow("kernfs_sops", ALIVE, *_KERNFS, "kernfs_dops", s_maxbytes=MAX_NON_LFS),
    "tracefs": FsRow("tracefs_super_operations", ALIVE | SB_KERNMOUNT, *_TRACEFS, s_maxbytes=MAX_NON_LFS),
    "debugfs": FsRow("debugfs_super_operations", ALIVE | SB_KERNMOUNT, *_TRACEFS, s_maxbytes=MAX_NON_LFS),
    "bpf": FsRow("bpf_super_ops", ALIVE, *_BPF, s_maxbytes=MAX_NON_LFS),
    "pipefs": FsRow("pipefs_ops", ALIVE | SB_KERNMOUNT | SB_NOUSER, *_nameless("empty_iops", "empty_aops"), "pipefs_dentry_operations"),
    "sockfs": FsRow("sockfs_ops", ALIVE | SB_KERNMOUNT | SB_NOUSER, *_nameless("sockfs_inode_ops", "empty_aops"), "sockfs_dentry_operations"),
    "anon_inodefs": FsRow("simple_super_operations", ALIVE | SB_KERNMOUNT | SB_NOUSER, *_nameless("empty_iops", "anon_aops"),
                          "anon_inodefs_dentry_operations"),
}  # fmt: skip
# What d_flags say of a table of operations, so that the walk need not look into it.
D_OP_FLAGS: Mapping[str, int] = {
    "simple_dentry_operations": DCACHE_OP_DELETE, "kernfs_dops": DCACHE_OP_REVALIDATE,
    "proc_misc_dentry_ops": DCACHE_OP_REVALIDATE | DCACHE_OP_DELETE, "pipefs_dentry_operations": DCACHE_NORCU,
    "sockfs_dentry_operations": DCACHE_NORCU, "anon_inodefs_dentry_operations": DCACHE_NORCU,
}  # fmt: skip
