"""lsm_get_self_attr(2), lsm_set_self_attr(2): what security modules say of the caller.  security/lsm_syscalls.c, since 6.8.

Of the modules there are (kernel/calls/lsm.py) AppArmor alone knows attributes, the same as those of /proc/PID/attr (proc_attr.py).
"""

from __future__ import annotations

import struct

from arch.abi.errno import E2BIG, EINVAL, ENOENT, EOPNOTSUPP
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.proc_attr import change_label, told_label
from simkernel.kernel.kfunc import syscall

LSM_ID_APPARMOR, LSM_FLAG_SINGLE = 104, 1
LSM_CTX = "QQQQ"  # struct lsm_ctx: id, flags, len, ctx_len; the text follows
CTX_SIZE = struct.calcsize("<" + LSM_CTX)
ATTRIBUTES = {100: "current", 101: "exec", 104: "prev"}  # LSM_ATTR_*, of AppArmor
MAY_SET = ("current", "exec")


def _mark(k: FsKernel) -> str:
    return "<" if k.mem.byteorder == "little" else ">"


def _wanted(k: FsKernel, ctx: int, flags: int) -> int:
    """The module that is asked alone; 0 for all.  EINVAL, EFAULT."""
    if not flags:
        return 0
    if flags != LSM_FLAG_SINGLE or not ctx:
        raise KernelError(EINVAL)
    wanted = k.usercopy.get_user(ctx, 8)
    if not wanted:
        raise KernelError(EINVAL)
    return wanted


@syscall(
    "lsm_get_self_attr",
    "unsigned int attr, struct lsm_ctx *ctx, u32 *size, u32 flags",
    source="security/lsm_syscalls.c",
    since="6.8",
)
def sys_lsm_get_self_attr(k: FsKernel, attr: int, ctx: int, size: int, flags: int) -> int:
    """How many modules said something; their texts go to `ctx`, the bytes these need to `size`.  EINVAL, ENOENT, E2BIG, EOPNOTSUPP."""
    if not attr or not size:
        return -EINVAL
    room = k.usercopy.get_user(size, 4)
    wanted, name = _wanted(k, ctx, flags), ATTRIBUTES.get(attr)
    if name is None or wanted not in (0, LSM_ID_APPARMOR):
        k.usercopy.put_user(size, 4, 0)
        return -EOPNOTSUPP
    text = told_label(k.current, name).encode()
    if not text:
        return -ENOENT
    whole = CTX_SIZE + len(text) + 7 & ~7
    fits = room >= whole
    if ctx and fits:
        head = struct.pack(_mark(k) + LSM_CTX, LSM_ID_APPARMOR, 0, whole, len(text))
        k.usercopy.copy_to_user(ctx, (head + text).ljust(whole, b"\0"))
    k.usercopy.put_user(size, 4, whole)
    return 1 if fits else -E2BIG


@syscall(
    "lsm_set_self_attr",
    "unsigned int attr, struct lsm_ctx *ctx, u32 size, u32 flags",
    source="security/lsm_syscalls.c",
    since="6.8",
)
def sys_lsm_set_self_attr(k: FsKernel, attr: int, ctx: int, size: int, flags: int) -> int:
    """EINVAL, E2BIG, EFAULT, EOPNOTSUPP and what the module says."""
    if flags or size < CTX_SIZE:
        return -EINVAL
    if size > PAGE_SIZE:
        return -E2BIG
    raw = k.usercopy.copy_from_user(ctx, size)
    module, _, length, text_length = struct.unpack_from(_mark(k) + LSM_CTX, raw)
    if size < length or length < CTX_SIZE + text_length:
        return -EINVAL
    name = ATTRIBUTES.get(attr, "")
    if module != LSM_ID_APPARMOR or name not in MAY_SET:
        return -EOPNOTSUPP
    change_label(k.current, name, raw[CTX_SIZE : CTX_SIZE + text_length])
    return 0
