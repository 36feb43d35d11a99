"""The security hooks that tools watch.  security/security.c.

No security module is loaded, so every hook allows.  Where nobody has a probe on it a hook costs a comparison.
"""

from __future__ import annotations

from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function

SECURITY = "security/security.c"


@kernel_function("int security_inode_create(struct inode *dir, struct dentry *dentry, umode_t mode)", source=SECURITY)
def security_inode_create(k: KernelFace, dir_: int, dentry: int, mode: int) -> int:
    """May a regular file be made?"""
    return 0


@kernel_function("int security_inode_unlink(struct inode *dir, struct dentry *dentry)", source=SECURITY)
def security_inode_unlink(k: KernelFace, dir_: int, dentry: int) -> int:
    """May a name be removed?"""
    return 0


@kernel_function("int security_inode_mkdir(struct inode *dir, struct dentry *dentry, umode_t mode)", source=SECURITY)
def security_inode_mkdir(k: KernelFace, dir_: int, dentry: int, mode: int) -> int:
    """May a directory be made?"""
    return 0


@kernel_function("int security_file_open(struct file *file)", source=SECURITY, since="4.19")
def security_file_open(k: KernelFace, file: int) -> int:
    """May a file be opened as it was asked for?"""
    return 0


@kernel_function("int security_file_open(struct file *file, const struct cred *cred)", source=SECURITY, until="4.19")
def security_file_open_4_18(k: KernelFace, file: int, cred: int) -> int:
    """The form with credentials."""
    return 0


def may(k: KernelFace, hook: str, *args: int) -> Body:
    """`yield from`: call a hook that has a probe; 0 otherwise."""
    if k.vfs.probed and k.text.is_probed(hook):
        return (yield k.call(hook, *args))
    return 0
