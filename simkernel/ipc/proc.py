"""/proc/sysvipc and the sysctls of System V IPC.  ipc/util.c, ipc/{msg,sem,shm}.c, ipc/ipc_sysctl.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL
from arch.abi.ipc import IPCMNI
from arch.abi.limits import PAGE_SIZE, S32_MAX, U64_MAX
from arch.errors import KernelError
from simkernel.fs.nodes import PseudoFile
from simkernel.fs.proc_sys import NumbersFile
from simkernel.fs.sysctl_rows import Value, parse
from simkernel.ipc.face import IpcKernel
from simkernel.ipc.msg import MsgQueue
from simkernel.ipc.sem import SemArray
from simkernel.ipc.shm import Segment, resident_pages, set_rmid_forced
from simkernel.ipc.util import IpcIds, IpcObject


def _msg(k: IpcKernel) -> str:
    out = "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      rtime      ctime\n"
    for q in k.ipc.msg:
        assert isinstance(q, MsgQueue)
        out += (
            f"{q.key:10d} {q.id:10d}  {q.mode:4o}  {q.cbytes:10d} {len(q.messages):10d} {q.lspid:5d} {q.lrpid:5d} "
            f"{q.uid:5d} {q.gid:5d} {q.cuid:5d} {q.cgid:5d} {q.stime:10d} {q.rtime:10d} {q.ctime:10d}\n"
        )
    return out


def _sem(k: IpcKernel) -> str:
    out = "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n"
    for s in k.ipc.sem:
        assert isinstance(s, SemArray)
        out += (
            f"{s.key:10d} {s.id:10d}  {s.mode:4o} {len(s.sems):10d} {s.uid:5d} {s.gid:5d} {s.cuid:5d} {s.cgid:5d} "
            f"{s.otime:10d} {s.ctime:10d}\n"
        )
    return out


def _shm(k: IpcKernel) -> str:
    width = 21 if k.arch.word == 8 else 10
    out = f"       key      shmid perms {'size':>{width}}  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime {'rss':>{width}} {'swap':>{width}}\n"
    for s in k.ipc.shm:
        assert isinstance(s, Segment)
        rss = resident_pages(s) * PAGE_SIZE
        out += (
            f"{s.key:10d} {s.id:10d}  {s.mode:4o} {s.size:{width}d} {s.cpid:5d} {s.lpid:5d}  {s.nattch(k):5d} {s.uid:5d} "
            f"{s.gid:5d} {s.cuid:5d} {s.cgid:5d} {s.atime:10d} {s.dtime:10d} {s.ctime:10d} {rss:{width}d} {0:{width}d}\n"
        )
    return out


def install_proc(k: IpcKernel) -> None:
    """Hang the files into /proc."""
    texts: dict[str, Callable[[IpcKernel], str]] = {"msg": _msg, "sem": _sem, "shm": _shm}
    where = k.vfs.proc_root.subdir("sysvipc")
    for name, show in texts.items():
        where.add(name, PseudoFile(lambda show=show: show(k)))  # type: ignore[misc]
    sysctls = k.vfs.proc_root.subdir("sys").subdir("kernel")
    for name, high in HIGHEST.items():
        sysctls.add(name, _number(k, name, high))
    table = k.vfs.sysctl
    sysctls.add(
        "shm_rmid_forced",
        NumbersFile(
            table,
            "kernel.shm_rmid_forced",
            lambda: k.ipc.shm_rmid_forced,
            lambda value: set_rmid_forced(k, int(value)),
            0,
            1,
        ),
    )
    for name in ("msg", "sem", "shm"):
        sysctls.add(f"{name}_next_id", _next_id(k, name))
    sysctls.add(
        "sem",
        NumbersFile(
            table,
            "kernel.sem",
            lambda: "\t".join(map(str, k.ipc.sem_limits)),
            lambda value: _set_sem(k, value),
            -1 - S32_MAX,
            S32_MAX,
        ),
    )


# ipc_sysctls: the largest of each
HIGHEST = {
    "msgmax": S32_MAX, "msgmnb": S32_MAX, "msgmni": IPCMNI, "shmmax": U64_MAX, "shmall": U64_MAX, "shmmni": IPCMNI,
}  # fmt: skip


def _number(k: IpcKernel, name: str, high: int) -> NumbersFile:
    values = vars(k.ipc)
    return NumbersFile(
        k.vfs.sysctl,
        f"kernel.{name}",
        lambda: int(values[name]),
        lambda value: values.__setitem__(name, int(value)),
        0,
        high,
    )


def _next_id(k: IpcKernel, name: str) -> PseudoFile:
    """What the next object is to be called, for those who restore processes: ipc_permissions() gives them what the mode does not show."""

    def ids() -> IpcIds[IpcObject]:
        return {"msg": k.ipc.msg, "sem": k.ipc.sem, "shm": k.ipc.shm}[name]

    def store(data: bytes) -> None:
        ids().next_id = int(parse(data.decode("latin-1"), 0, 0, S32_MAX))

    return PseudoFile(lambda: f"{ids().next_id}\n", store, 0o444 if k.version.at_least("5.19") else 0o644)


def _set_sem(k: IpcKernel, value: Value) -> None:
    """proc_ipc_sem_dointvec().  EINVAL."""
    limits = [int(word) for word in str(value).split()]
    if not 0 <= limits[3] <= IPCMNI:
        raise KernelError(EINVAL, "so many there cannot be")
    k.ipc.sem_limits[:] = limits
