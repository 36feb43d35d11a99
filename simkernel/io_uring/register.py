"""io_uring_register(2): what is left with an instance.  io_uring/io_uring.c, register parts of rsrc.c, tctx.c, cancel.c."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

from arch.abi import io_uring as abi
from arch.abi.errno import EACCES, EBADF, EBADFD, EBUSY, EEXIST, EFAULT, EINVAL, ENXIO, EOPNOTSUPP
from arch.abi.limits import S32_MAX, U32_MAX
from arch.errors import KernelError
from simkernel.fs.eventfd import EventFd
from simkernel.fs.inode import File
from simkernel.io_uring.op import refuse, there
from simkernel.io_uring.ops import OPS
from simkernel.io_uring.ring import IO_URING_FOPS, Restrictions, Ring, ring_in
from simkernel.io_uring.rsrc import (
    alloc_range,
    register_buffer_ring,
    register_buffers,
    register_files,
    register_rsrc,
    register_rsrc_update,
    register_update,
    unregister_buffer_ring,
    unregister_buffers,
    unregister_files,
)
from simkernel.io_uring.waits import try_cancel
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.task import Task
from simkernel.net.face import NetKernel

MAX_PERSONALITY = 0xFFFF
Registering = Callable[[NetKernel, Ring, int, int], int]


def _listed(register: Registering) -> Registering:
    """The list may not be missing.  EFAULT."""

    def checked(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
        refuse(not arg, EFAULT)
        return register(k, ring, arg, count)

    return checked


def _eventfd(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    if count != 1:
        return -EINVAL
    if ring.eventfd is not None:
        return -EBUSY
    file = k.vfs.fget(k.usercopy.get_user(arg, 4, signed=True))
    if not isinstance(file.private_data, EventFd):
        return -EINVAL
    ring.eventfd = file.get()
    return 0


def _no_eventfd(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    if arg or count:
        return -EINVAL
    if ring.eventfd is None:
        return -ENXIO
    ring.eventfd.put()
    ring.eventfd = None
    return 0


def _probe(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_probe(): which operations there are.  EINVAL, EFAULT."""
    if not arg or count > 256:
        return -EINVAL
    size = 16 + 8 * count
    if any(k.usercopy.copy_from_user(arg, size)):
        return -EINVAL
    known = [number for number, op in OPS.items() if there(k, op.since)]
    last = max(known)
    count = min(count, last + 1)
    order = "<" if k.mem.byteorder == "little" else ">"
    answer = struct.pack(order + "BBH12x", last, count, 0)
    for number in range(count):
        answer += struct.pack(order + "BBHI", number, 0, abi.IO_URING_OP_SUPPORTED if number in known else 0, 0)
    k.usercopy.copy_to_user(arg, answer)
    return 0


def _enable(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    if arg or count:
        return -EINVAL
    if not ring.flags & abi.IORING_SETUP_R_DISABLED:
        return -EBADFD
    ring.enabled()
    return 0


def _personality(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_register_personality(): the caller's rights under a number, each the next.  EINVAL."""
    refuse(arg or count)
    number = ring.next_personality
    ring.personalities[number] = k.current.cred
    ring.next_personality = number % MAX_PERSONALITY + 1
    return number


def _no_personality(k: NetKernel, ring: Ring, arg: int, number: int) -> int:
    refuse(arg or ring.personalities.pop(number, None) is None)
    return 0


def _restrict(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_register_restrictions(): once, before the instance is enabled.  EBADFD, EBUSY, EINVAL, EFAULT."""
    refuse(not ring.flags & abi.IORING_SETUP_R_DISABLED, EBADFD)
    refuse(ring.restrictions is not None, EBUSY)
    refuse(not arg or count > abi.IORING_RESTRICTION_LAST + abi.IORING_REGISTER_LAST + abi.IORING_OP_LAST)
    order = "<" if k.mem.byteorder == "little" else ">"
    asked = Restrictions()
    for opcode, value in struct.iter_unpack(
        order + "HB13x", k.usercopy.copy_from_user(arg, 16 * count) if count else b""
    ):
        if opcode == abi.IORING_RESTRICTION_REGISTER_OP:
            refuse(value >= abi.IORING_REGISTER_LAST)
            asked.register_ops.add(value)
        elif opcode == abi.IORING_RESTRICTION_SQE_OP:
            refuse(value >= abi.IORING_OP_LAST)
            asked.sqe_ops.add(value)
        elif opcode == abi.IORING_RESTRICTION_SQE_FLAGS_ALLOWED:
            asked.flags_allowed = value
        elif opcode == abi.IORING_RESTRICTION_SQE_FLAGS_REQUIRED:
            asked.flags_required = value
        else:
            return -EINVAL
    ring.restrictions = asked
    return 0


def _affinity(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_register_iowq_aff(): of workers, which there are none of.  EINVAL, EFAULT."""
    refuse(not arg or not count)
    k.usercopy.copy_from_user(arg, min(count, 1024))
    return 0


def _no_affinity(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    refuse(arg or count)
    return 0


def _workers(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_register_iowq_max_workers(): how many there may be, bounded and not; 0 asks only.  EINVAL, EFAULT."""
    refuse(not arg or count != 2)
    wanted = [k.usercopy.get_user(arg + 4 * i, 4) for i in range(2)]
    refuse(any(number > S32_MAX for number in wanted))
    before = list(ring.workers)
    ring.workers = [new or old for new, old in zip(wanted, before, strict=True)]
    for i, number in enumerate(before):
        k.usercopy.put_user(arg + 4 * i, 4, number)
    return 0


def _sync_cancel(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_sync_cancel(): what waits is over at once, so nobody waits for that.  EINVAL, EFAULT, ENOENT, EBADF."""
    refuse(not arg or count != 1)
    order = "<" if k.mem.byteorder == "little" else ">"
    data, fd, flags, _seconds, _ns, *pad = struct.unpack(order + "QiIqq4Q", k.usercopy.copy_from_user(arg, 64))
    refuse(flags & ~abi.CANCEL_FLAGS or any(pad))
    return min(try_cancel(k, ring, data, fd, flags), 0)


# -- rings by number -----------------------------------------------------------------------------------------------


class RingFds(dict[int, File]):
    """task->io_uring->registered_rings: instances that a task enters without a descriptor."""


def _ring_fds_of(task: Task) -> RingFds:
    if not isinstance(task.registered_rings, RingFds):
        task.registered_rings = RingFds()
    assert isinstance(task.registered_rings, RingFds)
    return task.registered_rings


def forget_ring_fds(task: Task) -> None:
    """io_uring_unreg_ringfd(): the task ends."""
    if isinstance(task.registered_rings, RingFds):
        for file in task.registered_rings.values():
            file.put()
        task.registered_rings = None


Numbering = Callable[[NetKernel, RingFds, int, int, int, int], None]


def _each_ring_fd(k: NetKernel, ring: Ring, arg: int, count: int, act: Numbering) -> int:
    """A list of struct io_uring_rsrc_update (place, reserved, data): how many were done before one was refused.  EINVAL, EFAULT."""
    refuse(not 0 < count <= abi.IO_RINGFD_REG_MAX)
    order = "<" if k.mem.byteorder == "little" else ">"
    places = _ring_fds_of(k.current)
    for i in range(count):
        try:
            act(k, places, arg + 16 * i, *struct.unpack(order + "IIQ", k.usercopy.copy_from_user(arg + 16 * i, 16)))
        except KernelError as error:
            return i or -error.errno
    return count


def _ring_fd(k: NetKernel, places: RingFds, at: int, wanted: int, reserved: int, fd: int) -> None:
    """io_ringfd_register(): the caller is told its number.  EINVAL, EFAULT, EBADF, EOPNOTSUPP, EBUSY."""
    refuse(reserved)
    refuse(wanted != U32_MAX and wanted >= abi.IO_RINGFD_REG_MAX)
    among = range(abi.IO_RINGFD_REG_MAX) if wanted == U32_MAX else range(wanted, wanted + 1)
    free = next((number for number in among if number not in places), None)
    refuse(free is None, EBUSY)
    assert free is not None
    file = k.vfs.fget(fd & U32_MAX)
    refuse(file.f_op is not IO_URING_FOPS, EOPNOTSUPP)
    k.usercopy.put_user(at, 4, free)
    places[free] = file.get()


def _no_ring_fd(k: NetKernel, places: RingFds, at: int, number: int, reserved: int, data: int) -> None:
    """io_ringfd_unregister().  EINVAL."""
    refuse(reserved or data or number >= abi.IO_RINGFD_REG_MAX)
    file = places.pop(number, None)
    if file is not None:
        file.put()


def entered_ring(k: NetKernel, fd: int, registered: bool) -> tuple[File, Ring]:
    """The instance of a descriptor, or of a number that the task gave it.  EBADF, EINVAL, EOPNOTSUPP."""
    if registered:
        refuse(fd >= abi.IO_RINGFD_REG_MAX)
        known = _ring_fds_of(k.current).get(fd)
        refuse(known is None, EBADF)
    file = known if registered and known is not None else k.vfs.fget(fd)
    refuse(file.f_op is not IO_URING_FOPS, EOPNOTSUPP)
    return file, ring_in(file)


# opcode -> since which version, and what it does
REGISTER: dict[int, tuple[str, Registering]] = {
    abi.IORING_REGISTER_BUFFERS: ("5.1", _listed(register_buffers)), abi.IORING_UNREGISTER_BUFFERS: ("5.1", unregister_buffers),
    abi.IORING_REGISTER_FILES: ("5.1", _listed(register_files)), abi.IORING_UNREGISTER_FILES: ("5.1", unregister_files),
    abi.IORING_REGISTER_EVENTFD: ("5.2", _eventfd), abi.IORING_UNREGISTER_EVENTFD: ("5.2", _no_eventfd),
    abi.IORING_REGISTER_FILES_UPDATE: ("5.5", register_update), abi.IORING_REGISTER_EVENTFD_ASYNC: ("5.6", _eventfd),
    abi.IORING_REGISTER_PROBE: ("5.6", _probe), abi.IORING_REGISTER_PERSONALITY: ("5.6", _personality),
    abi.IORING_UNREGISTER_PERSONALITY: ("5.6", _no_personality), abi.IORING_REGISTER_RESTRICTIONS: ("5.10", _restrict),
    abi.IORING_REGISTER_ENABLE_RINGS: ("5.10", _enable),
    abi.IORING_REGISTER_FILES2: ("5.13", partial(register_rsrc, buffers=False)),
    abi.IORING_REGISTER_FILES_UPDATE2: ("5.13", partial(register_rsrc_update, buffers=False)),
    abi.IORING_REGISTER_BUFFERS2: ("5.13", partial(register_rsrc, buffers=True)),
    abi.IORING_REGISTER_BUFFERS_UPDATE: ("5.13", partial(register_rsrc_update, buffers=True)),
    abi.IORING_REGISTER_IOWQ_AFF: ("5.14", _affinity), abi.IORING_UNREGISTER_IOWQ_AFF: ("5.14", _no_affinity),
    abi.IORING_REGISTER_IOWQ_MAX_WORKERS: ("5.15", _workers), abi.IORING_REGISTER_RING_FDS: ("5.18", partial(_each_ring_fd, act=_ring_fd)),
    abi.IORING_UNREGISTER_RING_FDS: ("5.18", partial(_each_ring_fd, act=_no_ring_fd)), abi.IORING_REGISTER_SYNC_CANCEL: ("6.0", _sync_cancel),
    abi.IORING_REGISTER_PBUF_RING: ("5.19", register_buffer_ring), abi.IORING_UNREGISTER_PBUF_RING: ("5.19", unregister_buffer_ring),
    abi.IORING_REGISTER_FILE_ALLOC_RANGE: ("6.0", alloc_range),
}  # fmt: skip


@syscall(
    "io_uring_register",
    "unsigned int fd, unsigned int opcode, void *arg, unsigned int nr_args",
    source="io_uring/io_uring.c",
    since="5.1",
)
def sys_io_uring_register(k: NetKernel, fd: int, opcode: int, arg: int, nr_args: int) -> int:
    """Leave buffers, files or an eventfd with an instance.  EINVAL, EBADF, EOPNOTSUPP, EEXIST, EACCES, EBUSY, ENXIO, EFAULT."""
    if opcode >= abi.IORING_REGISTER_LAST:
        return -EINVAL
    _, ring = entered_ring(k, fd, False)
    if ring.submitter is not None and ring.submitter is not k.current:
        return -EEXIST
    if ring.restricted and ring.restrictions is not None and opcode not in ring.restrictions.register_ops:
        return -EACCES
    since, register = REGISTER.get(opcode, ("0", None))
    if register is None or not there(k, since):
        return -EINVAL
    return register(k, ring, arg, nr_args)
