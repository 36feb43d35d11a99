"""What travels beside a message's bytes: descriptors (SCM_RIGHTS) and who sent it (SCM_CREDENTIALS).  net/core/scm.c."""

from __future__ import annotations

import struct

from arch.abi.capability import CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN
from arch.abi.errno import EINVAL, EPERM, ESRCH
from arch.abi.limits import U32_MAX
from arch.abi.socket import (
    MSG_CMSG_CLOEXEC,
    MSG_CTRUNC,
    MSG_PEEK,
    SCM_CREDENTIALS,
    SCM_RIGHTS,
    SO_PASSCRED,
    SOL_SOCKET,
    UCRED_SIZE,
)
from arch.errors import KernelError
from arch.records import dataclass, field
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import File
from simkernel.kernel.face import Steps
from simkernel.kernel.user_namespace import OVERFLOW_ID
from simkernel.net.core.message import Message
from simkernel.net.face import NetKernel
from simkernel.net.unix.garbage import drop_files, unix_detach_fds
from simkernel.net.unix.sock import Parcel, Ucred, UnixSock

SCM_MAX_FD = 253


@dataclass(slots=True)
class Scm:
    """struct scm_cookie: what the sender passes along."""

    cred: Ucred | None = None
    files: list[File] = field(default_factory=list)


def current_cred(k: NetKernel) -> Ucred:
    """Who the current task is."""
    return (k.current.tgid, k.current.cred.euid, k.current.cred.egid)


def scm_send(k: NetKernel, message: Message) -> Scm:
    """__scm_send(): the control messages of a sender, each file with a reference.  EINVAL, EBADF, EPERM, ESRCH."""
    control: bytes = message.control
    word = k.arch.model.word
    order = k.mem.byteorder
    head = word + 8
    scm = Scm()
    files: list[File] = []
    at = 0
    while at + head <= len(control):
        length = int.from_bytes(control[at : at + word], order)
        level = int.from_bytes(control[at + word : at + word + 4], order)
        kind = int.from_bytes(control[at + word + 4 : at + word + 8], order)
        if length < head or at + length > len(control):
            raise KernelError(EINVAL, "control message length")
        data = control[at + head : at + length]
        if level == SOL_SOCKET and kind == SCM_RIGHTS:
            fds = [int.from_bytes(data[i : i + 4], order, signed=True) for i in range(0, len(data) & ~3, 4)]
            if len(fds) > SCM_MAX_FD:
                raise KernelError(EINVAL, "too many descriptors")
            files += [k.vfs.file_of(k, k.current, fd) for fd in fds]
            if not all(file.f_op.sendable for file in files):
                raise KernelError(EINVAL, "an instance of io_uring")
        elif level == SOL_SOCKET and kind == SCM_CREDENTIALS:
            scm.cred = _claimed(k, data)
        elif level == SOL_SOCKET:
            raise KernelError(EINVAL, "unknown control message")
        at += (length + word - 1) & -word
    scm.files = [file.get() for file in files]
    return scm


def _claimed(k: NetKernel, data: bytes) -> Ucred:
    """scm_check_creds(): one may say only who one is, or with capabilities anything."""
    if len(data) != UCRED_SIZE:
        raise KernelError(EINVAL, "size of struct ucred")
    pid, uid, gid = struct.unpack(("<" if k.mem.byteorder == "little" else ">") + "iII", data)
    if U32_MAX in (uid, gid):
        raise KernelError(EINVAL, "uid_valid()")
    me = k.current.cred
    honest = pid == k.current.tgid or k.capable(CAP_SYS_ADMIN)
    honest = honest and (uid in (me.uid, me.euid, me.suid) or k.capable(CAP_SETUID))
    if not honest or not (gid in (me.gid, me.egid, me.sgid) or k.capable(CAP_SETGID)):
        raise KernelError(EPERM)
    if k.tasks.find(pid) is None:
        raise KernelError(ESRCH)
    return (pid, uid, gid)


def passes_cred(sk: UnixSock | None) -> bool:
    """SO_PASSCRED."""
    return sk is not None and bool(sk.options.get((SOL_SOCKET, SO_PASSCRED), 0))


def parcel_cred(k: NetKernel, scm: Scm, sk: UnixSock, peer: UnixSock) -> Ucred | None:
    """unix_maybe_add_creds(): said by the sender, or added because one side wants to know."""
    if scm.cred is None and (passes_cred(sk) or passes_cred(peer)):
        return current_cred(k)
    return scm.cred


def scm_recv(
    k: NetKernel, message: Message, sk: UnixSock, parcel: Parcel, flags: int, holder: Parcel | None = None
) -> Steps[None]:
    """`yield from`: tell the receiver who sent it if it wants to know, and install the files (of `holder`, which was joined)."""
    if passes_cred(sk):
        cred = parcel.cred or (0, OVERFLOW_ID, OVERFLOW_ID)
        order = "<" if k.mem.byteorder == "little" else ">"
        message.put_control(SOL_SOCKET, SCM_CREDENTIALS, struct.pack(order + "iII", *cred))
    yield from give_files(k, message, holder or parcel, flags)


def give_files(k: NetKernel, message: Message, parcel: Parcel, flags: int) -> Steps[None]:
    """scm_detach_fds(), after unix_detach_fds() or unix_peek_fds(): install what fits into the control buffer; the rest is closed and MSG_CTRUNC says so."""
    files = [file.get() for file in parcel.files] if flags & MSG_PEEK else unix_detach_fds(k, parcel)
    if not files:
        return
    word = k.arch.model.word
    room = max(0, message.control_room - len(message.control_out) - word - 8) // 4
    fds = []
    for file in files[:room]:
        try:
            k.vfs.security.ask("file_receive", file)
        except KernelError:
            break
        fd = files_of(k.current).get_unused_fd(bool(flags & MSG_CMSG_CLOEXEC))
        files_of(k.current).install(fd, file)
        fds.append(fd)
    if len(files) > len(fds):
        message.out_flags |= MSG_CTRUNC
        yield from drop_files(k, files[len(fds) :])
    if fds:
        message.put_control(SOL_SOCKET, SCM_RIGHTS, b"".join(fd.to_bytes(4, k.mem.byteorder) for fd in fds))
