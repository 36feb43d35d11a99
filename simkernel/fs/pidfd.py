"""Descriptors of processes.  kernel/pid.c, kernel/fork.c (pidfd_fops), kernel/signal.c (pidfd_send_signal)."""

from __future__ import annotations

from arch.abi.errno import EBADF, EINVAL, EPERM, ESRCH
from arch.abi.fcntl import O_CLOEXEC, O_NONBLOCK, O_RDWR
from arch.abi.poll import POLLIN, POLLRDNORM
from arch.abi.signal import SI_TKILL, SI_USER
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import File, FileOperations
from simkernel.fs.proc_pid import PidDir
from simkernel.fs.pseudo import PseudoInode
from simkernel.kernel.calls.kcmp import PTRACE_MODE_ATTACH_REALCREDS, ptrace_may_access
from simkernel.kernel.calls.signal import may_signal
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.pid_namespace import PidNamespace
from simkernel.kernel.task import EXIT_DEAD, Task, WaitQueue

PIDFD_NONBLOCK = O_NONBLOCK


@kernel_function(
    "unsigned int pidfd_poll(struct file *file, struct poll_table_struct *pts)", source="kernel/fork.c", since="5.3"
)
def pidfd_poll(k: FsKernel, file: int, pts: int) -> int:
    """Readable when the process has ended."""
    return _poll(k, k.vfs.files[file], None)


def process_of(file: File) -> Task:
    """The process behind a descriptor: a thread that execs takes its leader's place."""
    task: Task = file.private_data
    return task.group_leader


def _poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    task = process_of(file)
    if queues is not None:
        queues.append(task.signal.pidfd_wait)
    over = bool(task.exit_state) and all(t.exit_state for t in task.signal.threads)
    return POLLIN | POLLRDNORM if over else 0


def _fdinfo(k: FsKernel, file: File) -> str:
    """pidfd_show_fdinfo()."""
    task = process_of(file)
    if task.exit_state == EXIT_DEAD:
        return "Pid:\t-1\nNSpid:\t-1\n"
    mine, numbers = k.current.pid_ns, []
    levels: list[PidNamespace | None] = [*(task.pid_ns.chain() if task.pid_ns is not None else ()), None]
    if mine in levels:
        numbers = [k.tasks.number_in(space, task.pid) for space in levels[: levels.index(mine) + 1]]
    shown = "".join(f"\t{number}" for number in reversed(numbers or [0]))
    return f"Pid:\t{k.tasks.number_in(mine, task.pid)}\nNSpid:{shown}\n"


PIDFD_FOPS = FileOperations("pidfd_fops", llseek="no_llseek", poll=_poll, show_fdinfo=_fdinfo)


class PidFds:
    """`k.pidfds`: what the kernel core asks for."""

    def open(self, k: KernelFace, task: Task, flags: int, tell: int | None = None) -> int:
        """pidfd_create(): a descriptor of the current task for a process, written to user memory at `tell`.  EMFILE, EFAULT."""
        assert isinstance(k, FsKernel)
        files = files_of(k.current)
        with files.unused_fd(cloexec=True) as fd:
            if tell is not None:
                k.usercopy.put_user(tell, 4, fd)
            files.install(fd, k.vfs.anon_file("[pidfd]", PIDFD_FOPS, task, O_RDWR | O_CLOEXEC | flags))
        return fd

    def close(self, k: KernelFace, fd: int) -> None:
        """The process did not come to be."""
        assert isinstance(k, FsKernel)
        file = files_of(k.current).remove(fd)
        if file is not None:
            k.vfs.put_file(file)

    def task(self, k: KernelFace, fd: int) -> tuple[Task, bool]:
        """pidfd_get_task(): the process behind a descriptor, and whether it was opened PIDFD_NONBLOCK.  EBADF."""
        assert isinstance(k, FsKernel)
        file = k.vfs.fget(fd)
        if file.f_op is not PIDFD_FOPS:
            raise KernelError(EBADF, "not a pidfd")
        return process_of(file), bool(file.f_flags & O_NONBLOCK)


@syscall("pidfd_open", "pid_t pid, unsigned int flags", source="kernel/pid.c", since="5.3")
def sys_pidfd_open(k: FsKernel, pid: int, flags: int) -> int:
    """EINVAL, ESRCH."""
    if flags & ~(PIDFD_NONBLOCK if k.version.at_least("5.10") else 0) or pid <= 0:
        return -EINVAL
    task = k.tasks.find(pid)
    if task is None:
        return -ESRCH
    if task is not task.group_leader:
        return -EINVAL
    return k.pidfds.open(k, task, flags)


@syscall(
    "pidfd_send_signal", "int pidfd, int sig, siginfo_t *info, unsigned int flags", source="kernel/signal.c",
    since="5.1",
)  # fmt: skip
def sys_pidfd_send_signal(k: FsKernel, pidfd: int, sig: int, info: int, flags: int) -> int:
    """EINVAL, EBADF, EPERM, ESRCH, EFAULT."""
    if flags:
        return -EINVAL
    node = k.vfs.fget(pidfd).f_inode
    if isinstance(node, PseudoInode) and isinstance(node.node, PidDir) and node.node.whole:
        task = node.node.task  # a directory of /proc is as good: pidfd_to_pid()
    else:
        task, _ = k.pidfds.task(k, pidfd)
    me, code, value = k.current, SI_USER, 0
    if info:
        raw, order = k.usercopy.copy_from_user(info, 128), k.mem.byteorder
        code = int.from_bytes(raw[8:12], order, signed=True)
        if int.from_bytes(raw[:4], order) != sig:
            return -EINVAL
        if task.tgid != me.tgid and (code >= 0 or code == SI_TKILL):
            return -EPERM
        at = 24 if k.arch.word == 8 else 20
        value = int.from_bytes(raw[at : at + k.arch.word], order)
    if not 0 <= sig <= 64:
        return -EINVAL
    if task.exit_state == EXIT_DEAD:
        return -ESRCH
    may_signal(k, task, sig)
    if sig:
        k.signals.send(task, sig, code, pid=me.tgid, uid=me.cred.uid, value=value)
    return 0


@syscall("pidfd_getfd", "int pidfd, int fd, unsigned int flags", source="kernel/pid.c", since="5.6")
def sys_pidfd_getfd(k: FsKernel, pidfd: int, fd: int, flags: int) -> int:
    """A copy of another process's descriptor.  EINVAL, EBADF, EPERM, ESRCH."""
    if flags:
        return -EINVAL
    task, _ = k.pidfds.task(k, pidfd)
    if task.exit_state:
        return -ESRCH
    if not ptrace_may_access(k, task, PTRACE_MODE_ATTACH_REALCREDS):
        return -EPERM
    file = k.vfs.file_of(k, task, fd)
    k.vfs.security.ask("file_receive", file)
    files = files_of(k.current)
    new: int = files.get_unused_fd(True)
    files.install(new, file.get())
    return new
