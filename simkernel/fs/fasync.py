"""Signals about files: whom a descriptor tells (F_SETOWN, F_SETSIG) and when (O_ASYNC).  fs/fcntl.c."""

from __future__ import annotations

import struct

from arch.abi.errno import EINVAL, ESRCH
from arch.abi.fcntl import F_OWNER_PGRP, F_OWNER_PID, F_OWNER_TID, FASYNC
from arch.abi.limits import INT_MIN
from arch.abi.poll import (
    POLLERR,
    POLLHUP,
    POLLIN,
    POLLMSG,
    POLLOUT,
    POLLPRI,
    POLLRDBAND,
    POLLRDNORM,
    POLLWRBAND,
    POLLWRNORM,
)
from arch.abi.signal import (
    NSIG,
    POLL_ERR,
    POLL_HUP,
    POLL_IN,
    POLL_MSG,
    POLL_OUT,
    POLL_PRI,
    SI_KERNEL,
    SI_SIGIO,
    SIGBUS,
    SIGCHLD,
    SIGFPE,
    SIGILL,
    SIGIO,
    SIGSEGV,
    SIGSYS,
    SIGTRAP,
    SIGURG,
)  # fmt: skip
from arch.abi.stat import S_IFCHR, S_IFMT, S_IFSOCK
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File
from simkernel.kernel.task import Task, WaitQueue

# si_band of each POLL_* code
BANDS = {
    POLL_IN: POLLIN | POLLRDNORM, POLL_OUT: POLLOUT | POLLWRNORM | POLLWRBAND, POLL_MSG: POLLIN | POLLRDNORM | POLLMSG, POLL_ERR: POLLERR,
    POLL_PRI: POLLPRI | POLLRDBAND, POLL_HUP: POLLHUP | POLLERR,
}  # fmt: skip


# signals whose codes say something else: SIG_SPECIFIC_SICODES_MASK without SIGIO
OWN_CODES = (SIGILL, SIGFPE, SIGSEGV, SIGBUS, SIGTRAP, SIGCHLD, SIGSYS)


class FownStruct:
    """struct fown_struct: who gets the signal, and which."""

    def __init__(self) -> None:
        self.kind = F_OWNER_PID
        self.pid = 0  # of the initial namespace; 0 for nobody
        self.uid = self.euid = 0
        self.signum = 0
        self.queues: list[WaitQueue] = []  # that tell of changes, while O_ASYNC is set
        self.fd = -1

    def forget(self) -> None:
        """fasync_remove_entry()."""
        for queue in self.queues:
            queue.on_wake = {
                fn: way for fn, way in queue.on_wake.items() if not (isinstance(fn, Told) and fn.owner is self)
            }
        self.queues = []

    def disown(self) -> None:
        """f_delown(), and the signal is the usual one again."""
        self.pid = self.signum = 0


def owner_of(file: File) -> FownStruct:
    """The file's, made when it is first asked for."""
    if not isinstance(file.f_owner, FownStruct):
        file.f_owner = FownStruct()
    return file.f_owner


def f_setown(k: FsKernel, file: File, kind: int, pid: int) -> None:
    """__f_setown()."""
    k.vfs.security.ask("file_set_fowner", file)
    owner, cred = owner_of(file), k.current.cred
    owner.kind, owner.pid, owner.uid, owner.euid = kind, pid, cred.uid, cred.euid


def set_owner(k: FsKernel, file: File, arg: int) -> int:
    """F_SETOWN: a process, or (negative) a group.  EINVAL, ESRCH."""
    who = (arg & 0xFFFFFFFF) - (1 << 32) if arg & 0x80000000 else arg & 0xFFFFFFFF
    if who == INT_MIN:
        return -EINVAL
    return _set(k, file, F_OWNER_PGRP if who < 0 else F_OWNER_PID, abs(who))


def _set(k: FsKernel, file: File, kind: int, who: int) -> int:
    """find_vpid(): any use of the number will do, whatever it is to be the owner as."""
    pid = k.tasks.real(who) if who else 0
    if who and not any(pid in (t.pid, t.pgid, t.session) for t in k.tasks.by_pid.values()):
        return -ESRCH
    f_setown(k, file, kind, pid)
    return 0


def _shown(k: FsKernel, owner: FownStruct) -> int:
    """Its number, while there is such a task or group; else 0."""
    there = (
        any(t.pgid == owner.pid for t in k.tasks.by_pid.values())
        if owner.kind == F_OWNER_PGRP
        else owner.pid in k.tasks.by_pid
    )
    return k.tasks.vnr(owner.pid) if owner.pid and there else 0


def get_owner(k: FsKernel, file: File) -> int:
    """F_GETOWN."""
    owner = owner_of(file)
    number = _shown(k, owner)
    return -number if owner.kind == F_OWNER_PGRP else number


def owner_ex(k: FsKernel, file: File, arg: int, store: bool) -> int:
    """F_SETOWN_EX and F_GETOWN_EX: struct f_owner_ex.  EFAULT, EINVAL, ESRCH."""
    order = "<" if k.mem.byteorder == "little" else ">"
    if store:
        kind, who = struct.unpack(order + "ii", k.usercopy.copy_from_user(arg, 8))
        if kind not in (F_OWNER_TID, F_OWNER_PID, F_OWNER_PGRP):
            return -EINVAL
        return _set(k, file, kind, who) if who >= 0 else -ESRCH
    owner = owner_of(file)
    k.usercopy.copy_to_user(arg, struct.pack(order + "ii", owner.kind, _shown(k, owner)))
    return 0


def owner_uids(k: FsKernel, file: File, arg: int) -> int:
    """F_GETOWNER_UIDS.  EFAULT."""
    owner, order = owner_of(file), "<" if k.mem.byteorder == "little" else ">"
    k.usercopy.copy_to_user(arg, struct.pack(order + "II", owner.uid, owner.euid))
    return 0


def set_signal(file: File, sig: int) -> int:
    """F_SETSIG.  EINVAL."""
    if not 0 <= sig <= NSIG:
        return -EINVAL
    owner_of(file).signum = sig
    return 0


def _may(task: Task, owner: FownStruct) -> bool:
    """sigio_perm()."""
    cred = task.cred
    return owner.euid == 0 or bool({owner.euid, owner.uid} & {cred.suid, cred.uid})


def _owners(k: FsKernel, owner: FownStruct) -> list[Task]:
    """Who may be told now."""
    if not owner.pid:
        return []
    if owner.kind == F_OWNER_PGRP:
        found = [t for t in k.tasks.by_pid.values() if t.pgid == owner.pid and t is t.group_leader]
    else:
        task = k.tasks.by_pid.get(owner.pid)
        found = [task] if task is not None else []
    return [task for task in found if not task.exit_state and _may(task, owner)]


def send_sigurg(k: FsKernel, file: File) -> None:
    """Urgent data came: the owner gets SIGURG, and with O_ASYNC and a signal of its own (F_SETSIG) that one, too."""
    owner = owner_of(file)
    for task in _owners(k, owner):
        if not _may_hear(k, file, task, owner.signum):
            continue
        send = k.signals.send_thread if owner.kind == F_OWNER_TID else k.signals.send
        send(task, SIGURG, SI_KERNEL)
    if owner.queues and owner.signum:
        send_sigio(k, file, owner.fd, POLL_PRI)


def _may_hear(k: FsKernel, file: File, task: Task, signum: int) -> bool:
    """security_file_send_sigiotask()."""
    if "file_send_sigiotask" not in k.security_hooks.watched:
        return True
    fown = file.addr + k.vfs.mirror.struct("struct file").offset("f_owner")
    return not k.vfs.security.answer("file_send_sigiotask", task.addr, fown, signum)


def send_sigio(k: FsKernel, file: File, fd: int, band: int) -> None:
    """The owner hears that something happened to a descriptor of its."""
    owner = owner_of(file)
    for task in _owners(k, owner):
        send = k.signals.send_thread if owner.kind == F_OWNER_TID else k.signals.send
        if owner.signum:
            code = SI_SIGIO if k.vfs.names.sigio_code and owner.signum in OWN_CODES else band
            send(task, owner.signum, code, band=BANDS[band], fd=fd)
        else:
            send(task, SIGIO, SI_KERNEL)


def fasync(k: FsKernel, fd: int, file: File, on: bool) -> None:
    """fasync_helper(): with O_ASYNC the owner hears of each change of what poll(2) says."""
    owner = owner_of(file)
    owner.forget()
    owner.fd = fd
    file.f_flags = file.f_flags | FASYNC if on else file.f_flags & ~FASYNC
    k.vfs.mirror.file_flags(file)
    if file.f_op.tell_owner is not None:

        def told(hangup: bool) -> None:
            send_sigio(k, file, fd, POLL_HUP if hangup else POLL_IN)

        file.f_op.tell_owner(k, file, told if on else None)
    elif on and file.f_op.poll is not None:
        file.f_op.poll(k, file, owner.queues)
        for queue in owner.queues:
            queue.on_wake[Told(k, file, owner)] = False


class Told:
    """kill_fasync(), as what a wait queue calls."""

    def __init__(self, k: FsKernel, file: File, owner: FownStruct) -> None:
        self.k, self.file, self.owner = k, file, owner
        kind = file.f_inode.i_mode & S_IFMT
        self.socket = kind == S_IFSOCK
        self.minds_room = kind in (S_IFSOCK, S_IFCHR)  # tells of room only where there was none
        self.full = self.minds_room and not self._mask() & POLLOUT

    def _mask(self) -> int:
        assert self.file.f_op.poll is not None
        return self.file.f_op.poll(self.k, self.file, None)

    def __call__(self) -> None:
        mask = self._mask()
        was_full, self.full = self.full, self.minds_room and not mask & POLLOUT
        if self.socket and mask & (POLLHUP | POLLERR):
            send_sigio(self.k, self.file, self.owner.fd, POLL_HUP if mask & POLLHUP else POLL_ERR)
        elif mask & (POLLIN | POLLPRI):
            send_sigio(self.k, self.file, self.owner.fd, POLL_IN)
        elif mask & POLLOUT and (was_full or not self.minds_room):  # SOCKWQ_ASYNC_NOSPACE, TTY_DO_WRITE_WAKEUP
            send_sigio(self.k, self.file, self.owner.fd, POLL_OUT)
