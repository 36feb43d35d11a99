"""/proc/locks.  fs/locks.c (locks_show)."""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.fcntl import F_RDLCK, F_WRLCK
from arch.abi.limits import S64_MAX
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File, Inode
from simkernel.fs.lease_table import Breaker, Lease
from simkernel.fs.locks import Lock, LockTable
from simkernel.fs.nodes import PseudoFile
from simkernel.fs.procfs import proc_file

KINDS = {F_RDLCK: "READ", F_WRLCK: "WRITE"}
Shown = tuple[tuple[int, int], list[str]]  # its place, and its line with those of who waits for it


def _where(inode: Inode) -> str:
    return f"{inode.dev >> 20:02x}:{inode.dev & 0xFFFFF:02x}:{inode.i_ino}"


def _line(k: FsKernel, inode: Inode, lock: Lock, flock: bool) -> str:
    """lock_get_status(); nothing of processes that the reader does not see."""
    ofd = isinstance(lock.owner, File) and not flock
    pid = -1 if ofd else k.tasks.vnr(lock.pid)
    if not pid:
        return ""
    what = "FLOCK " if flock else "OFDLCK" if ofd else "POSIX "
    to = f"{0 if flock else lock.start} {'EOF' if lock.end == S64_MAX else lock.end}"
    return f"{what} ADVISORY  {KINDS[lock.kind]} {pid} {_where(inode)} {to}\n"


def _waiters(k: FsKernel, table: LockTable, held: Lock, flock: bool) -> Iterator[str]:
    """__locks_insert_block(): a waiter waits for the first that is in its way, be it one that waits itself."""
    mine = table.flocks.values() if flock else table.records
    inside: list[tuple[Lock, int]] = []
    for lock, of_flock in table.waiting:
        if of_flock != flock or next((other for other in mine if other.excludes(lock)), None) is not held:
            continue
        at, level = len(inside), 1
        for index, (other, depth) in enumerate(inside):
            if depth == level and other.excludes(lock):
                level += 1
                at = next((i for i in range(index + 1, len(inside)) if inside[i][1] < level), len(inside))
            elif index >= at:
                break
        inside.insert(at, (lock, level))
    for lock, level in inside:
        line = _line(k, table.inode, lock, flock)
        yield line and " " * (level - 1) + "-> " + line


def _table(k: FsKernel, table: LockTable) -> Iterator[Shown]:
    for flock, locks in ((True, table.flocks.values()), (False, table.records)):
        for lock in locks:
            assert lock.place is not None
            line = _line(k, table.inode, lock, flock)
            yield lock.place, [line, *_waiters(k, table, lock, flock)]


def _lease(k: FsKernel, lease: Lease, breakers: list[Breaker]) -> Shown:
    state = "ACTIVE  " if lease.target == lease.kind else "BREAKING"
    inode, pid = lease.file.f_inode, k.tasks.vnr(lease.pid)
    lines = [f"LEASE  {state}  {KINDS.get(lease.target, 'UNLCK')} {pid} {_where(inode)} 0 EOF\n" if pid else ""]
    for breaker in breakers:
        pid = k.tasks.vnr(breaker.pid)
        lines.append(f"-> LEASE  BREAKER   {KINDS[breaker.kind]} {pid} <none>:0 0 EOF\n" if pid else "")
    return lease.place, lines


def _locks(k: FsKernel) -> str:
    shown: list[Shown] = []
    for table in k.vfs.locked:
        assert isinstance(table, LockTable)
        shown += _table(k, table)
    leases = k.vfs.leases
    for inode, held in leases.held.items():
        for lease in held:
            waiting = [breaker for breaker in leases.breakers if breaker.inode is inode] if lease is held[0] else []
            shown.append(_lease(k, lease, waiting))
    shown.sort(key=lambda row: row[0])
    return "".join(f"{number}: {line}" for number, (_, lines) in enumerate(shown, 1) for line in lines if line)


def install(k: FsKernel) -> None:
    """At boot."""
    proc_file(k.vfs, "locks", PseudoFile(lambda: _locks(k)))
