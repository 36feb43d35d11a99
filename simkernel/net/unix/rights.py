"""Descriptors that travel with a message: SCM_RIGHTS.  net/core/scm.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.socket import MSG_CMSG_CLOEXEC, MSG_CTRUNC, SCM_RIGHTS, SOL_SOCKET
from arch.errors import KernelError
from simkernel.fs.inode import File
from simkernel.net.core.message import Message
from simkernel.net.face import NetKernel
from simkernel.net.unix.sock import Parcel

SCM_MAX_FD = 253


def take_files(k: NetKernel, message: Message) -> list[File]:
    """scm_fp_copy(): the files named in the control message, each with a reference."""
    control: bytes = message.control
    word = k.arch.model.word
    order = k.mem.byteorder
    head = word + 8
    files: list[File] = []
    at = 0
    while at + head <= len(control):
        length = int.from_bytes(control[at : at + word], order)
        level = int.from_bytes(control[at + word : at + word + 4], order)
        kind = int.from_bytes(control[at + word + 4 : at + word + 8], order)
        if length < head or at + length > len(control):
            raise KernelError(EINVAL, "control message length")
        if level == SOL_SOCKET and kind == SCM_RIGHTS:
            data = control[at + head : at + length]
            fds = [int.from_bytes(data[i : i + 4], order, signed=True) for i in range(0, len(data) & ~3, 4)]
            if len(fds) > SCM_MAX_FD:
                raise KernelError(EINVAL, "too many descriptors")
            files += [k.vfs.file_of(k, k.current, fd) for fd in fds]
        at += (length + word - 1) & -word
    return [file.get() for file in files]


def drop_files(k: NetKernel, files: list[File]) -> None:
    """Files that nobody received."""
    for file in files:
        k.vfs.put_file(file)


def give_files(k: NetKernel, message: Message, parcel: Parcel, flags: int) -> None:
    """scm_detach_fds(): install what fits into the control buffer; the rest is closed and MSG_CTRUNC says so."""
    files, parcel.files = parcel.files, []
    if not files:
        return
    word = k.arch.model.word
    head = word + 8
    room = max(0, message.control_room - head) // 4
    fds = []
    for file in files[:room]:
        fd = k.current.files.get_unused_fd(bool(flags & MSG_CMSG_CLOEXEC))
        k.current.files.install(fd, file)
        fds.append(fd)
    if len(files) > len(fds):
        message.out_flags |= MSG_CTRUNC
        drop_files(k, files[len(fds) :])
    if fds:
        order = k.mem.byteorder
        body = b"".join(fd.to_bytes(4, order) for fd in fds)
        head_bytes = (
            (head + len(body)).to_bytes(word, order) + SOL_SOCKET.to_bytes(4, order) + SCM_RIGHTS.to_bytes(4, order)
        )
        message.control_out = (head_bytes + body).ljust((head + len(body) + word - 1) & -word, b"\0")
        message.control_out = message.control_out[: message.control_room]
