"""Dentries and inodes as kmem_cache_alloc and kmem_cache_free show them: when names and files come and go.

fs/dcache.c, fs/inode.c.  A name that is looked up and not there makes no dentry here.
"""

from __future__ import annotations

from arch.abi.internal import GFP_KERNEL, GFP_NOFS, GFP_ZERO
from simkernel.fs.inode import Dentry, File, Inode
from simkernel.fs.mirror import Mirror
from simkernel.kernel.objects import Objects

#  file system -> cache of its inodes, who allocates and who frees one
INODES = {
    "tmpfs": ("shmem_inode_cache", "shmem_alloc_inode", "rcu_do_batch"),
    "proc": ("proc_inode_cache", "proc_alloc_inode", "rcu_do_batch"),
    "sockfs": ("sock_inode_cache", "sock_alloc_inode", "rcu_do_batch"),
    "pipefs": ("inode_cache", "alloc_inode", "destroy_inode"),
}
INODES["rootfs"] = INODES["devtmpfs"] = INODES["tmpfs"]
OTHER = ("inode_cache", "alloc_inode", "rcu_do_batch")


class Told:
    """`vfs.told`."""

    def __init__(self, objects: Objects, mirror: Mirror) -> None:
        self.objects, self.mirror = objects, mirror

    def made(self, dentry: Dentry, with_inode: bool = True) -> None:
        """d_alloc(), and new_inode() unless it is one more name of a file."""
        if self.objects.watched:
            self.objects.made("dentry", self.mirror.dentry(dentry), "__d_alloc")
            if with_inode:
                self.inode(dentry.inode)

    def inode(self, inode: Inode) -> None:
        """alloc_inode()."""
        if self.objects.watched:
            cache, maker, _ = INODES.get(inode.i_sb.fs_name, OTHER)
            self.objects.made(cache, self.mirror.inode(inode), maker)
            self.objects.made("lsm_inode_cache", self.mirror.inode(inode), "security_inode_alloc", GFP_NOFS | GFP_ZERO)

    def gone(self, dentry: Dentry) -> None:
        """dput() of what has no name any more; the dentry of an open file in no directory goes at once."""
        if self.objects.watched:
            at_once = dentry.d_dname is not None
            self.objects.gone("dentry", self.mirror.dentry(dentry), "__dentry_kill" if at_once else "rcu_do_batch")

    def evicted(self, inode: Inode) -> None:
        """destroy_inode()."""
        if self.objects.watched:
            cache, _, freer = INODES.get(inode.i_sb.fs_name, OTHER)
            address = self.mirror.inode(inode)
            self.objects.gone("lsm_inode_cache", address, "rcu_do_batch")
            self.objects.gone(cache, address, freer)

    def file_made(self, file: File) -> None:
        """__alloc_file(); a file in no directory brings its dentry, and its inode unless it shares that with all of its kind."""
        if not self.objects.watched:
            return
        dentry, inode, address = file.f_path.dentry, file.f_inode, file.addr
        if dentry.d_dname is not None and (_shared(inode) or inode.i_count == 1):
            self.made(dentry, not _shared(inode))
        self.objects.made("filp", address, "__alloc_file", GFP_KERNEL | GFP_ZERO)
        self.objects.made("lsm_file_cache", address, "security_file_alloc", GFP_KERNEL | GFP_ZERO)

    def file_gone(self, file: File) -> None:
        """__fput(), file_free()."""
        if not self.objects.watched:
            return
        dentry, inode, address = file.f_path.dentry, file.f_inode, file.addr
        if _shared(inode) or (not inode.i_count and (dentry.d_dname is not None or not dentry.hashed)):
            self.gone(dentry)
            if inode.i_nlink and not _shared(inode):
                self.evicted(inode)
        self.objects.gone("lsm_file_cache", address, "__fput")
        self.objects.gone("filp", address, "rcu_do_batch")


def _shared(inode: Inode) -> bool:
    return inode is inode.i_sb.anon_inode
