"""Landlock's calls: rulesets about files that a process puts on itself.  security/landlock/syscalls.c, include/uapi/linux/landlock.h.

ABI 2, as 6.1 has it.  What a domain then allows is in landlock_access.py.
"""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import E2BIG, EBADF, EBADFD, EFAULT, EINVAL, ENOMSG, EPERM
from arch.abi.fcntl import O_CLOEXEC, O_RDWR
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import FileOperations
from simkernel.fs.landlock_access import ACCESS_FILE, is_internal
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.landlock import ACCESS_REFER, LANDLOCK_MAX_NUM_LAYERS, MASK_ACCESS_FS, Domain, Ruleset
from simkernel.kernel.user_namespace import ns_capable, user_ns

ABI_VERSION, ERRATA = 2, 12  # errata 3 (disconnected directories) and 4 (whiteouts) are mended
CREATE_RULESET_VERSION, CREATE_RULESET_ERRATA, RULE_PATH_BENEATH = 1, 2, 1
PATH_BENEATH_SIZE = 12  # struct landlock_path_beneath_attr, packed


@kernel_function(
    "ssize_t fop_dummy_read(struct file *filp, char *buf, size_t size, loff_t *ppos)",
    source="security/landlock/syscalls.c", since="5.13",
)  # fmt: skip
def fop_dummy_read(k: FsKernel, filp: int, buf: int, size: int, ppos: int) -> int:
    """There only for the descriptor to be readable: landlock_restrict_self() asks for that."""
    return -EINVAL


@kernel_function(
    "ssize_t fop_dummy_write(struct file *filp, const char *buf, size_t size, loff_t *ppos)",
    source="security/landlock/syscalls.c", since="5.13",
)  # fmt: skip
def fop_dummy_write(k: FsKernel, filp: int, buf: int, size: int, ppos: int) -> int:
    """And writable, for landlock_add_rule()."""
    return -EINVAL


RULESET_FOPS = FileOperations("ruleset_fops", read="fop_dummy_read", write="fop_dummy_write", llseek="no_llseek")


@syscall(
    "landlock_create_ruleset", "const struct landlock_ruleset_attr *attr, size_t size, unsigned int flags",
    source="security/landlock/syscalls.c", since="5.13",
)  # fmt: skip
def sys_landlock_create_ruleset(k: FsKernel, attr: int, size: int, flags: int) -> int:
    """A new ruleset, or what this kernel can do.  EINVAL, E2BIG, EFAULT, ENOMSG."""
    if flags:
        answers = {CREATE_RULESET_VERSION: ABI_VERSION, CREATE_RULESET_ERRATA: ERRATA}
        if attr or size or flags not in answers:
            raise KernelError(EINVAL)
        return answers[flags]
    if not attr:
        raise KernelError(EFAULT)
    if size < 8:
        raise KernelError(EINVAL)
    if size > PAGE_SIZE:
        raise KernelError(E2BIG)
    handled = int.from_bytes(k.usercopy.copy_struct_from_user(attr, size, 8), k.mem.byteorder)
    if handled & ~MASK_ACCESS_FS:
        raise KernelError(EINVAL)
    if not handled:
        raise KernelError(ENOMSG)
    return k.vfs.anon_inode_getfd(k, "[landlock-ruleset]", RULESET_FOPS, Ruleset(handled), O_RDWR | O_CLOEXEC)


def _ruleset(k: FsKernel, fd: int, mode: int) -> Ruleset:
    """get_ruleset_from_fd().  EBADF, EBADFD, EPERM."""
    file = k.vfs.fget(fd)
    if file.f_op is not RULESET_FOPS:
        raise KernelError(EBADFD)
    if not file.f_mode & mode:
        raise KernelError(EPERM)
    ruleset: Ruleset = file.private_data
    return ruleset


@syscall(
    "landlock_add_rule", "int ruleset_fd, enum landlock_rule_type rule_type, const void *rule_attr, __u32 flags",
    source="security/landlock/syscalls.c", since="5.13",
)  # fmt: skip
def sys_landlock_add_rule(k: FsKernel, ruleset_fd: int, kind: int, attr: int, flags: int) -> int:
    """Allow something beneath a directory, or of a file.  EINVAL, EBADF, EBADFD, EPERM, EFAULT, ENOMSG."""
    if flags:
        raise KernelError(EINVAL)
    ruleset = _ruleset(k, ruleset_fd, c.FMODE_CAN_WRITE)
    if kind != RULE_PATH_BENEATH:
        raise KernelError(EINVAL)
    raw = k.usercopy.copy_from_user(attr, PATH_BENEATH_SIZE)
    access = int.from_bytes(raw[:8], k.mem.byteorder)
    parent_fd = int.from_bytes(raw[8:], k.mem.byteorder, signed=True)
    if not access:
        raise KernelError(ENOMSG)
    if access & ~ruleset.handled:
        raise KernelError(EINVAL)
    file = files_of(k.current).fds.get(parent_fd)
    if file is None:
        raise KernelError(EBADF)
    if file.f_op is RULESET_FOPS or is_internal(file.f_path):
        raise KernelError(EBADFD)
    if not file.f_inode.is_dir and access & ~ACCESS_FILE:
        raise KernelError(EINVAL)
    ruleset.add(file.f_inode, access | MASK_ACCESS_FS & ~(ruleset.handled | ACCESS_REFER))
    return 0


@syscall("landlock_restrict_self", "int ruleset_fd, __u32 flags", source="security/landlock/syscalls.c", since="5.13")
def sys_landlock_restrict_self(k: FsKernel, ruleset_fd: int, flags: int) -> int:
    """One more layer for this thread and those that come from it.  EPERM, EINVAL, EBADF, EBADFD, E2BIG."""
    task = k.current
    if not task.no_new_privs and not ns_capable(task, user_ns(task), CAP_SYS_ADMIN):
        raise KernelError(EPERM)
    if flags:
        raise KernelError(EINVAL)
    ruleset = _ruleset(k, ruleset_fd, c.FMODE_CAN_READ)
    old = task.cred.domain
    parent = old if isinstance(old, Domain) else None
    if parent is not None and parent.layers >= LANDLOCK_MAX_NUM_LAYERS:
        raise KernelError(E2BIG)
    task.cred = task.cred.copy()
    task.cred.domain = Domain(ruleset, parent)
    k.mirror.publish_cred(task)
    return 0
