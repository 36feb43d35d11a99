"""Leases: a process hears before another opens or cuts a file that it has open.  fs/locks.c (F_SETLEASE, break_lease)."""

from __future__ import annotations

from arch.abi.capability import CAP_LEASE
from arch.abi.errno import EACCES, EAGAIN, EINVAL, ETIME, EWOULDBLOCK
from arch.abi.fcntl import F_OWNER_PID, F_RDLCK, F_UNLCK, F_WRLCK, FASYNC, O_ACCMODE, O_NONBLOCK, O_RDONLY
from arch.abi.signal import POLL_MSG
from arch.abi.time import NSEC_PER_SEC
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fasync import f_setown, owner_of, send_sigio
from simkernel.fs.inode import File, Inode
from simkernel.fs.lease_table import Breaker, Lease
from simkernel.kernel.face import Steps

# include/linux/filelock.h, since 7.0
LEASE_BREAK_LEASE, LEASE_BREAK_NONBLOCK, LEASE_BREAK_OPEN_RDONLY = 1, 8, 16


def get_lease(k: FsKernel, file: File) -> int:
    """F_GETLEASE: what it is, or is about to be."""
    lease = k.vfs.leases.of(file)
    return F_UNLCK if lease is None else lease.target


def set_lease(k: FsKernel, fd: int, file: File, kind: int) -> int:
    """F_SETLEASE.  EINVAL, EACCES, EAGAIN."""
    leases, inode = k.vfs.leases, file.f_inode
    if not inode.is_reg:
        return -EINVAL
    held = leases.of(file)
    if kind == F_UNLCK:
        if held is None:
            return -EAGAIN
        leases.drop(k, held)
        return 0
    if kind not in (F_RDLCK, F_WRLCK) or not k.vfs.sysctl["fs.leases-enable"]:
        return -EINVAL
    cred = k.vfs.cred()
    if cred.fsuid != inode.i_uid and not cred.capable(CAP_LEASE):
        return -EACCES
    k.vfs.security.ask("file_lock", file, kind)
    if _open_otherwise(k, file, kind):
        return -EAGAIN
    others = [lease for lease in leases.held.get(inode, ()) if lease is not held]
    if others and (kind == F_WRLCK or any(lease.kind == F_WRLCK or lease.target == F_UNLCK for lease in others)):
        return -EAGAIN
    if held is not None:
        held.kind = held.target = kind
        k.wake_up(leases.broken, 0)
        return 0
    file.f_flags |= FASYNC  # fasync_insert_entry()
    k.vfs.mirror.file_flags(file)
    leases.held.setdefault(inode, []).append(Lease(file, fd, kind, kind, k.current.tgid, k.vfs.next_lock_place()))
    if not owner_of(file).pid:
        f_setown(k, file, F_OWNER_PID, k.current.tgid)
    return 0


def _open_otherwise(k: FsKernel, file: File, kind: int) -> bool:
    """check_conflicting_open()."""
    inode = file.f_inode
    opened = [
        f
        for f in k.vfs.files.values()
        if f.f_inode is inode and f.f_mode & c.FMODE_OPENED and not f.f_mode & c.FMODE_PATH
    ]
    if kind == F_RDLCK:
        return inode.i_writecount > 0
    return any(f is not file for f in opened) or inode.i_writecount != bool(file.f_mode & c.FMODE_WRITE)


def break_lease(k: FsKernel, inode: Inode, flags: int) -> Steps[int]:
    """__break_lease(): whoever holds one in the way is told, and has some time.  EWOULDBLOCK, -ERESTARTSYS."""
    leases, write = k.vfs.leases, flags & O_ACCMODE != O_RDONLY
    wanted = F_UNLCK if write else F_RDLCK
    if leases.held.get(inode):
        why = LEASE_BREAK_LEASE | (0 if write else LEASE_BREAK_OPEN_RDONLY)
        k.trace("break_lease", inode.addr, why | (LEASE_BREAK_NONBLOCK if flags & O_NONBLOCK else 0))
    while True:
        in_the_way = [lease for lease in leases.held.get(inode, ()) if write or lease.kind == F_WRLCK]
        if not in_the_way:
            return 0
        for lease in in_the_way:
            if lease.target == lease.kind or (wanted == F_UNLCK != lease.target):
                lease.target = wanted
                lease.break_ns = k.clock.now_ns + k.vfs.sysctl["fs.lease-break-time"] * NSEC_PER_SEC
                send_sigio(k, lease.file, lease.fd, POLL_MSG)
        if flags & O_NONBLOCK:
            return -EWOULDBLOCK
        left = min(lease.break_ns for lease in in_the_way) - k.clock.now_ns
        breaker = Breaker(inode, F_WRLCK if write else F_RDLCK, k.current.tgid)
        leases.breakers.append(breaker)
        ret = yield k.wait(leases.broken, timeout_ns=max(left, 1))
        leases.breakers.remove(breaker)
        if ret == -ETIME:
            for lease in in_the_way:
                if lease in leases.held.get(inode, ()):
                    if lease.target == F_UNLCK:
                        leases.drop(k, lease)
                    else:
                        lease.kind = lease.target
        elif ret < 0:
            return ret
