"""What an instance keeps for its requests: files, buffers, and the slots that calls put new files into.  io_uring/rsrc.c, filetable.c, kbuf.c."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from arch.abi import io_uring as abi
from arch.abi.errno import E2BIG, EBADF, EBUSY, EEXIST, EFAULT, EINVAL, EMFILE, ENOENT, ENXIO, EOVERFLOW
from arch.abi.limits import PAGE_SIZE, U32_MAX
from arch.abi.resource import RLIMIT_NOFILE
from arch.errors import KernelError
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import File
from simkernel.fs.open import sys_close
from simkernel.fs.uio import import_iovec
from simkernel.io_uring.kbuf import LOW_GROUPS, Buffer, BufferList, BufferRing, Tags
from simkernel.io_uring.op import refuse, there
from simkernel.io_uring.request import Request
from simkernel.io_uring.ring import IO_URING_FOPS, Ring, fput
from simkernel.kernel.body import Body
from simkernel.net.face import NetKernel

UIO_MAXIOV, MAX_BUFFER, MAX_FILES = 1 << 14, 1 << 30, 1 << 20
BUF_REG, MAX_RING = 40, 1 << 16  # size of struct io_uring_buf_reg; entries of a ring
RSRC_REGISTER, RSRC_UPDATE2 = 32, 32  # sizes of struct io_uring_rsrc_register and _update2, in bytes

# -- registered files ----------------------------------------------------------------------------------------------


def _candidate(k: NetKernel, fd: int) -> File | None:
    """A file that may be registered; -1 is none.  EBADF."""
    file = k.vfs.fget(fd) if fd != -1 else None
    refuse(file is not None and file.f_op is IO_URING_FOPS, EBADF)
    return file


def _tag(k: NetKernel, tags: int, i: int) -> int:
    """The i-th of a list of tags, 0 without a list.  EFAULT."""
    return k.usercopy.get_user(tags + 8 * i, 8) if tags else 0


def register_files(k: NetKernel, ring: Ring, fds: int, count: int, tags: int = 0) -> int:
    """io_sqe_files_register(): -1 leaves a place empty, no list all of them.  EBUSY, EINVAL, EMFILE, EBADF, EFAULT."""
    refuse(ring.files is not None, EBUSY)
    refuse(not count)
    refuse(count > MAX_FILES or 0 <= k.current.rlimits[RLIMIT_NOFILE][0] < count, EMFILE)
    files: list[File | None] = []
    numbers = [_tag(k, tags, i) for i in range(count)] if tags else []
    try:
        for i in range(count):
            file = _candidate(k, k.usercopy.get_user(fds + 4 * i, 4, signed=True)) if fds else None
            refuse(file is None and tags and numbers[i])
            files.append(file.get() if file is not None else None)
    except KernelError:
        for file in files:
            if file is not None:
                file.put()
        raise
    ring.files, ring.alloc_range, ring.alloc_hint = files, (0, count), 0
    _tagged(ring.file_tags, numbers)
    return 0


def _tagged(tags: Tags, numbers: Sequence[int]) -> None:
    """All is new: its tags; those of what went before are told at once (io_rsrc_ref_quiesce()), those of what is there are forgotten."""
    tags.say()
    tags.of = {i: tag for i, tag in enumerate(numbers) if tag}


def unregister_files(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_sqe_files_unregister().  EINVAL, ENXIO."""
    refuse(arg or count)
    refuse(ring.files is None, ENXIO)
    for file in ring.files or ():
        if file is not None:
            fput(file, k.current)
    ring.files = None
    _tagged(ring.file_tags, ())
    return 0


def _empty(ring: Ring, index: int) -> None:
    assert ring.files is not None
    old, ring.files[index] = ring.files[index], None
    if old is not None:
        ring.file_tags.gone(index)
        fput(old, ring.k.current)
        ring.alloc_hint = index


def _fill(ring: Ring, index: int, file: File) -> None:
    """The reference becomes the instance's."""
    assert ring.files is not None
    ring.files[index] = file
    ring.alloc_hint = index + 1


def update_files(k: NetKernel, ring: Ring, offset: int, fds: int, count: int, tags: int = 0) -> int:
    """__io_sqe_files_update(): -1 takes one out, -2 leaves it.  ENXIO, EINVAL, EBADF, EFAULT."""
    refuse(ring.files is None, ENXIO)
    assert ring.files is not None
    refuse(offset + count > len(ring.files))
    for done in range(count):
        try:
            tag = _tag(k, tags, done)
            fd = k.usercopy.get_user(fds + 4 * done, 4, signed=True)
            refuse(tag and fd in (abi.IORING_REGISTER_FILES_SKIP, -1))
            if fd == abi.IORING_REGISTER_FILES_SKIP:
                continue
            _empty(ring, offset + done)
            file = _candidate(k, fd)
            if file is not None:
                _fill(ring, offset + done, file.get())
                ring.file_tags.put(offset + done, tag)
        except KernelError as error:
            return done or -error.errno
    return count


def check_files_update(request: Request) -> None:
    """io_files_update_prep().  EINVAL."""
    refuse(not request.len)


def files_update(k: NetKernel, request: Request) -> int:
    """IORING_OP_FILES_UPDATE: at a place, or each where there is one, which its word in the list is told.  ENFILE and those of updating."""
    offset = request.off & U32_MAX
    if offset != abi.IORING_FILE_INDEX_ALLOC or not there(k, "6.0"):
        return update_files(k, request.ring, offset, request.addr, request.len)
    refuse(request.ring.files is None, ENXIO)
    for done in range(request.len):
        at = request.addr + 4 * done
        try:
            file = k.vfs.fget(k.usercopy.get_user(at, 4, signed=True)).get()
            k.usercopy.put_user(at, 4, install_fixed(request.ring, file, abi.IORING_FILE_INDEX_ALLOC))
        except KernelError as error:
            return done or -error.errno
    return request.len


def register_update(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """struct io_uring_files_update: from where, and the descriptors.  EINVAL, EFAULT and those of updating."""
    refuse(not count)
    order = "<" if k.mem.byteorder == "little" else ">"
    offset, reserved, fds = struct.unpack(order + "IIQ", k.usercopy.copy_from_user(arg, 16))
    refuse(reserved)
    refuse(offset + count > U32_MAX, EOVERFLOW)
    return update_files(k, ring, offset, fds, count)


def alloc_range(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_register_file_alloc_range(): where slots are looked for.  EINVAL, EFAULT, EOVERFLOW."""
    refuse(not arg or count)
    order = "<" if k.mem.byteorder == "little" else ">"
    start, length, reserved = struct.unpack(order + "IIQ", k.usercopy.copy_from_user(arg, 16))
    refuse(start + length > U32_MAX, EOVERFLOW)
    refuse(reserved or start + length > len(ring.files or ()))
    ring.alloc_range, ring.alloc_hint = (start, start + length), start
    return 0


def into_slot(k: NetKernel, request: Request, fd: int) -> int:
    """The file that a call has opened becomes a registered one, and its number is given back at once.  As install_fixed()."""
    file = files_of(k.current).remove(fd)
    assert file is not None
    return install_fixed(request.ring, file, request.splice_fd_in)


def install_fixed(ring: Ring, file: File, slot: int) -> int:
    """io_fixed_fd_install(), which takes the reference: 0, or the place that was chosen.  EBADF, ENXIO, EINVAL, ENFILE."""
    chosen = slot == abi.IORING_FILE_INDEX_ALLOC
    try:
        index = ring.free_slot() if chosen else slot - 1
        refuse(file.f_op is IO_URING_FOPS, EBADF)
        refuse(ring.files is None, ENXIO)
        refuse(not 0 <= index < len(ring.files or ()))
    except KernelError:
        fput(file, ring.k.current)
        raise
    _empty(ring, index)
    _fill(ring, index, file)
    return index if chosen else 0


def close_slot(ring: Ring, slot: int) -> int:
    """io_fixed_fd_remove().  ENXIO, EINVAL, EBADF."""
    refuse(ring.files is None, ENXIO)
    assert ring.files is not None
    refuse(slot - 1 >= len(ring.files))
    refuse(ring.files[slot - 1] is None, EBADF)
    _empty(ring, slot - 1)
    return 0


@contextmanager
def numbered(request: Request) -> Iterator[int]:
    """A descriptor for a call that takes no file: the request's own, or for a registered file one that lasts as long as this."""
    file = request.take_file()
    if not request.flags & abi.IOSQE_FIXED_FILE:
        yield request.fd
        return
    with lent(request.k, file) as fd:
        yield fd


@contextmanager
def lent(k: NetKernel, file: File) -> Iterator[int]:
    """A descriptor of a file that has none, as long as this lasts."""
    files = files_of(k.current)
    fd = files.get_unused_fd()
    files.install(fd, file.get())
    try:
        yield fd
    finally:
        own = files.remove(fd)
        if own is not None:
            k.vfs.put_file(own)


def close(k: NetKernel, request: Request) -> Body:
    """IORING_OP_CLOSE: a descriptor, or a slot.  EBADF, EINVAL, ENXIO."""
    if request.splice_fd_in:
        return close_slot(request.ring, request.splice_fd_in)
    refuse(isinstance(k.vfs.fget(request.fd).private_data, Ring), EBADF)
    return (yield from sys_close(k, request.fd))


def check_close(request: Request) -> None:
    """io_close_prep().  EBADF, EINVAL."""
    refuse(request.flags & abi.IOSQE_FIXED_FILE, EBADF)
    refuse(request.splice_fd_in and request.fd)


# -- registered buffers --------------------------------------------------------------------------------------------


def _pinned(k: NetKernel, base: int, length: int) -> tuple[int, int]:
    """io_buffer_validate(), and that each of its pages is there to be written.  EFAULT, EOVERFLOW."""
    if not base:
        refuse(length, EFAULT)
        return 0, 0
    refuse(not length or length > MAX_BUFFER, EFAULT)
    refuse(base + length > 1 << 64, EOVERFLOW)
    for at in (base, *range((base | PAGE_SIZE - 1) + 1, base + length, PAGE_SIZE)):
        k.usercopy.put_user(at, 1, k.usercopy.get_user(at, 1))
    return base, length


def import_fixed(request: Request) -> tuple[int, int]:
    """io_import_fixed(): a piece of a registered buffer: (address, bytes).  EFAULT."""
    buffers = request.ring.buffers or []
    refuse(request.buf_index >= len(buffers), EFAULT)  # they have been taken away since
    base, length = buffers[request.buf_index]
    refuse(request.addr < base or request.addr + request.len > base + length, EFAULT)
    return request.addr, request.len


def register_buffers(k: NetKernel, ring: Ring, arg: int, count: int, tags: int = 0) -> int:
    """io_sqe_buffers_register(): no list is so many empty ones.  EBUSY, EINVAL, EFAULT."""
    refuse(ring.buffers is not None, EBUSY)
    refuse(not 0 < count <= UIO_MAXIOV)
    buffers: list[tuple[int, int]] = []
    numbers = [_tag(k, tags, i) for i in range(count)] if tags else []
    for i in range(count):
        buffers += [_pinned(k, *pair) for pair in import_iovec(k, arg + i * 2 * k.arch.word, 1)] if arg else [(0, 0)]
        refuse(tags and numbers[i] and not buffers[i][0])
    ring.buffers = buffers
    _tagged(ring.buffer_tags, numbers)
    return 0


def unregister_buffers(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_sqe_buffers_unregister().  EINVAL, ENXIO."""
    refuse(arg or count)
    refuse(ring.buffers is None, ENXIO)
    ring.buffers = None
    _tagged(ring.buffer_tags, ())
    return 0


def update_buffers(k: NetKernel, ring: Ring, offset: int, iovs: int, count: int, tags: int = 0) -> int:
    """__io_sqe_buffers_update().  ENXIO, EINVAL, EFAULT."""
    refuse(ring.buffers is None, ENXIO)
    assert ring.buffers is not None
    refuse(offset + count > len(ring.buffers))
    for done in range(count):
        try:
            (pair,) = import_iovec(k, iovs + done * 2 * k.arch.word, 1)
            tag = _tag(k, tags, done)
            refuse(tag and not pair[0])
            ring.buffers[offset + done] = _pinned(k, *pair)
            ring.buffer_tags.gone(offset + done)
            ring.buffer_tags.put(offset + done, tag)
        except KernelError as error:
            return done or -error.errno
    return count


def register_rsrc(k: NetKernel, ring: Ring, arg: int, size: int, buffers: bool) -> int:
    """io_register_rsrc(): files or buffers with flags and tags.  EINVAL, EFAULT and those of registering."""
    refuse(size != RSRC_REGISTER)
    order = "<" if k.mem.byteorder == "little" else ">"
    count, flags, reserved, data, tags = struct.unpack(order + "IIQQQ", k.usercopy.copy_from_user(arg, size))
    refuse(not count or reserved or flags & ~abi.IORING_RSRC_REGISTER_SPARSE)
    refuse(flags and data)
    return (register_buffers if buffers else register_files)(k, ring, data, count, tags)


def register_rsrc_update(k: NetKernel, ring: Ring, arg: int, size: int, buffers: bool) -> int:
    """io_register_rsrc_update().  EINVAL, EFAULT, EOVERFLOW and those of updating."""
    refuse(size != RSRC_UPDATE2)
    order = "<" if k.mem.byteorder == "little" else ">"
    offset, resv, data, tags, count, resv2 = struct.unpack(order + "IIQQII", k.usercopy.copy_from_user(arg, size))
    refuse(not count or resv or resv2)
    refuse(offset + count > U32_MAX, EOVERFLOW)
    return (update_buffers if buffers else update_files)(k, ring, offset, data, count, tags)


# -- provided buffers ----------------------------------------------------------------------------------------------


def provide(k: NetKernel, request: Request) -> int:
    """IORING_OP_PROVIDE_BUFFERS: so many, one behind the other, for a group."""
    ring, number = request.ring, request.buf_index
    _low_groups(ring, number)
    group = ring.provided.setdefault(number, BufferList())
    if not isinstance(group, BufferList):
        return -EINVAL
    for i in range(request.fd):
        group.free.append(Buffer(request.addr + i * request.len, request.len, (request.off + i) & 0xFFFF))
    return 0


def _low_groups(ring: Ring, number: int) -> None:
    """io_init_bl_list(): the first of the low groups brings them all, empty."""
    if number < LOW_GROUPS and number not in ring.provided and ring.k.version.at_least("5.19"):
        for low in range(LOW_GROUPS):
            ring.provided[low] = BufferList()


def register_buffer_ring(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_register_pbuf_ring(): pages of the process's that are a ring of buffers from now on.  EINVAL, EFAULT, EEXIST."""
    refuse(not arg or count != 1)
    order = "<" if k.mem.byteorder == "little" else ">"
    address, entries, number, pad, *reserved = struct.unpack(order + "QIHH3Q", k.usercopy.copy_from_user(arg, BUF_REG))
    refuse(pad or any(reserved))
    refuse(not address, EFAULT)
    refuse(address % PAGE_SIZE or entries.bit_count() != 1 or entries >= MAX_RING)
    _low_groups(ring, number)
    there = ring.provided.get(number)
    refuse(there is not None and (not isinstance(there, BufferList) or there.free), EEXIST)
    ring.provided[number] = BufferRing(k, address, entries)
    return 0


def unregister_buffer_ring(k: NetKernel, ring: Ring, arg: int, count: int) -> int:
    """io_unregister_pbuf_ring().  EINVAL, EFAULT, ENOENT."""
    refuse(not arg or count != 1)
    order = "<" if k.mem.byteorder == "little" else ">"
    _, _, number, pad, *reserved = struct.unpack(order + "QIHH3Q", k.usercopy.copy_from_user(arg, BUF_REG))
    refuse(pad or any(reserved))
    group = ring.provided.get(number)
    refuse(group is None, ENOENT)
    if not isinstance(group, BufferRing):
        return -EINVAL
    group.release()
    del ring.provided[number]
    if number < LOW_GROUPS:
        ring.provided[number] = BufferList()
    return 0


def check_provide(request: Request) -> None:
    """io_provide_buffers_prep().  E2BIG, EINVAL, EFAULT."""
    refuse(not 0 < request.fd <= 0xFFFF, E2BIG if request.fd > 0xFFFF else EINVAL)
    refuse(not request.len)
    refuse(request.addr + request.len * request.fd > request.k.vfs.user_end, EFAULT)
    refuse(request.off + request.fd > 0x10000, E2BIG)


def remove_buffers(k: NetKernel, request: Request) -> int:
    """IORING_OP_REMOVE_BUFFERS: how many.  ENOENT."""
    group = request.ring.provided.get(request.buf_index)
    refuse(group is None, ENOENT)
    if not isinstance(group, BufferList):
        return -EINVAL
    count = min(len(group.free), request.fd)
    for _ in range(count):
        group.free.popleft()
    return count
