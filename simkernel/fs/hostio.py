"""The host's streams as files of the guest.  simkernel/kernel/hostio.py has their host ends; drivers/tty/ the names.

A stream that is no terminal looks like a pipe (`pipe:[INO]`, ESPIPE, ENOTTY), one that is looks like the console
/dev/console with a cooked-mode termios: the host's terminal does the editing.
"""

from __future__ import annotations

from arch.abi.errno import EAGAIN, EFAULT, ENOTTY, ENXIO, EPIPE
from arch.abi.fcntl import O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY
from arch.abi.ioctl import (
    FIONREAD,
    TCFLSH,
    TCGETS,
    TCSBRK,
    TCSBRKP,
    TCSETS,
    TCSETSF,
    TCSETSW,
    TCXONC,
    TIOCCONS,
    TIOCGPGRP,
    TIOCGSID,
    TIOCGWINSZ,
    TIOCNOTTY,
    TIOCSCTTY,
    TIOCSPGRP,
    TIOCSWINSZ,
)
from arch.abi.poll import POLLHUP, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM
from arch.abi.signal import SIGPIPE
from arch.abi.stat import S_IFIFO
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import Dentry, File, FileOperations, Inode, Path
from simkernel.fs.terminal import PtyEnd, Terminal
from simkernel.fs.tty.devpts import open_controlling
from simkernel.fs.tty.ioctl import tioccons
from simkernel.fs.uio import IovIter, Kiocb
from simkernel.fs.vfs import Vfs
from simkernel.kernel.face import Body
from simkernel.kernel.hostio import HostInput, HostOutput
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import Task, WaitQueue

TTY_READ_MAX, TTY_WRITE_CHUNK = 4096, 2048  # N_TTY_BUF_SIZE; do_tty_write()


def _read_input(k: FsKernel, iocb: Kiocb, it: IovIter, stream: HostInput) -> Body:
    """Take from the host; wait when it has nothing yet."""
    while True:
        data = stream.read(it.count)
        if data is not None:
            if not data:
                return 0
            copied = it.copy_to(data)
            return copied or -EFAULT
        if iocb.file.f_flags & O_NONBLOCK:
            return -EAGAIN
        ret = yield k.wait(stream.queue)
        if ret < 0:
            return ret


def _write_output(k: FsKernel, it: IovIter, stream: HostOutput) -> int:
    done = 0
    while it.count:
        data = it.copy_from(65536)
        if not data:
            return done or -EFAULT
        try:
            stream.write(data)
        except KernelError as error:  # the host's end is closed or full
            if done:
                return done
            if error.errno == EPIPE:
                k.signals.send(k.current, SIGPIPE)
            return -error.errno
        done += len(data)
    return done


# --- a stream that is no terminal: the other end of a pipe ---


@kernel_function("ssize_t hostio_read(struct kiocb *iocb, struct iov_iter *to)", source="simkernel/fs/hostio.py")
def hostio_read(k: FsKernel, iocb_addr: int, to: int) -> Body:
    """pipe_read of a pipe whose writer is the host."""
    iocb, it = k.vfs.kiocbs[iocb_addr], k.vfs.iters[to]
    if not it.count:
        return 0
    return (yield from _read_input(k, iocb, it, iocb.file.private_data))


@kernel_function("ssize_t hostio_write(struct kiocb *iocb, struct iov_iter *from)", source="simkernel/fs/hostio.py")
def hostio_write(k: FsKernel, iocb_addr: int, from_: int) -> int:
    """pipe_write of a pipe whose reader is the host."""
    iocb, it = k.vfs.kiocbs[iocb_addr], k.vfs.iters[from_]
    return _write_output(k, it, iocb.file.private_data)


def _host_poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    stream = file.private_data
    if isinstance(stream, HostInput):
        if queues is not None:
            queues.append(stream.queue)
        mask = POLLIN | POLLRDNORM if stream.data else 0
        if not stream.data and stream.source is None:
            mask |= POLLHUP
        elif not stream.data:
            mask |= POLLIN | POLLRDNORM
        return mask
    return POLLOUT | POLLWRNORM


def _host_ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int:
    if cmd == FIONREAD:
        stream = file.private_data  # what went to the host was taken at once
        k.usercopy.put_user(arg, 4, len(stream.data) if isinstance(stream, HostInput) else 0)
        return 0
    raise KernelError(ENOTTY, "not a terminal")


HOST_STREAM_FOPS = FileOperations(
    "pipefifo_fops", read_iter="hostio_read", write_iter="hostio_write", llseek="no_llseek", poll=_host_poll,
    ioctl=_host_ioctl, fasync=True, stream=True,
)  # fmt: skip


def _pipe_name(dentry: Dentry) -> str:
    return f"pipe:[{dentry.inode.i_ino}]"


def open_host_stream(vfs: Vfs, stream: HostInput | HostOutput, fd: int) -> File:
    """A File for one of the host's streams."""
    if stream.tty:
        return _open_terminal(vfs, stream, fd)
    inode = Inode(vfs.singletons["pipefs"], S_IFIFO | 0o600)
    inode.i_fop = HOST_STREAM_FOPS
    dentry = Dentry("", None, inode)
    dentry.d_dname = _pipe_name
    file: File = vfs.new_file(Path(vfs.pipe_mnt, dentry), O_RDONLY if fd == 0 else O_WRONLY, HOST_STREAM_FOPS)
    file.f_mode |= c.FMODE_OPENED | c.FMODE_STREAM | (c.FMODE_CAN_READ if fd == 0 else c.FMODE_CAN_WRITE)
    file.private_data = stream
    vfs.mirror.file_flags(file)
    return file


def install_stdio(
    vfs: Vfs, task: Task, stdin: HostInput | None, stdout: HostOutput | None, stderr: HostOutput | None
) -> None:
    """Descriptors 0, 1 and 2 on host ends: each a `HostInput` or `HostOutput` (simkernel/kernel/hostio.py), or None."""
    for fd, stream in enumerate((stdin, stdout, stderr)):
        if stream is None:
            continue
        if fd == 2 and stderr is stdout and 1 in files_of(task).fds:
            files_of(task).install(2, files_of(task).fds[1].get())
            continue
        files_of(task).install(fd, open_host_stream(vfs, stream, fd))


def _open_terminal(vfs: Vfs, stream: HostInput | HostOutput, fd: int) -> File:
    terminal = vfs.terminal
    if isinstance(stream, HostInput):
        terminal.input = stream
    else:
        terminal.output = stream
    path = vfs.resolve("/dev/console")
    file: File = vfs.new_file(path, O_RDWR, vfs.char_devices[path.dentry.inode.i_rdev])
    file.f_mode |= c.FMODE_OPENED | c.FMODE_CAN_READ | c.FMODE_CAN_WRITE | c.FMODE_STREAM
    file.private_data = terminal
    vfs.mirror.file_flags(file)
    return file


# --- the console ---


@kernel_function(
    "ssize_t tty_read(struct kiocb *iocb, struct iov_iter *to)", source="drivers/tty/tty_io.c", since="5.12"
)
def tty_read(k: FsKernel, iocb_addr: int, to: int) -> Body:
    """A line from the host, or from the other end of a pseudo-terminal."""
    iocb, it = k.vfs.kiocbs[iocb_addr], k.vfs.iters[to]
    return (yield from _read_tty(k, iocb, it))


def _read_tty(k: FsKernel, iocb: Kiocb, it: IovIter) -> Body:
    tty: PtyEnd | Terminal = iocb.file.private_data
    if isinstance(tty, PtyEnd):
        ret = yield from tty.read(iocb.file, min(it.count, TTY_READ_MAX))
        return (it.copy_to(tty.taken) or -EFAULT) if ret > 0 else ret
    if tty.input is None:
        return 0
    return (yield from _read_input(k, iocb, it, tty.input))


@kernel_function(
    "ssize_t tty_read(struct file *file, char *buf, size_t count, loff_t *ppos)", source="drivers/tty/tty_io.c",
    until="5.12",
)  # fmt: skip
def tty_read_5_11(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """The form before 5.12."""
    it = IovIter(k, [(buf, count)])
    return (yield from _read_tty(k, Kiocb(k.vfs.files[file_addr], 0, it), it))


@kernel_function(
    "ssize_t tty_write(struct kiocb *iocb, struct iov_iter *from)", source="drivers/tty/tty_io.c", since="5.12"
)
def tty_write(k: FsKernel, iocb_addr: int, from_: int) -> Body:
    """To the host's terminal, or to the other end of a pseudo-terminal."""
    return (yield from _write_tty(k, k.vfs.kiocbs[iocb_addr].file, k.vfs.iters[from_]))


@kernel_function(
    "ssize_t redirected_tty_write(struct kiocb *iocb, struct iov_iter *iter)", source="drivers/tty/tty_io.c",
    since="5.12",
)  # fmt: skip
def redirected_tty_write(k: FsKernel, iocb_addr: int, iter_: int) -> Body:
    """To the console, or to the terminal that has its output (TIOCCONS)."""
    redirect = k.vfs.terminal.redirect
    if redirect is not None:
        return (yield from _write_tty(k, redirect, k.vfs.iters[iter_]))
    return (yield k.call("tty_write", iocb_addr, iter_))


@kernel_function(
    "ssize_t redirected_tty_write(struct file *file, const char *buf, size_t count, loff_t *ppos)", source="drivers/tty/tty_io.c",
    until="5.12",
)  # fmt: skip
def redirected_tty_write_5_11(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """The form before 5.12."""
    redirect = k.vfs.terminal.redirect
    if redirect is not None:
        return (yield from _write_tty(k, redirect, IovIter(k, [(buf, min(count, 1 << 20))])))
    return (yield k.call("tty_write", file_addr, buf, count, ppos))


def _write_tty(k: FsKernel, file: File, it: IovIter) -> Body:
    tty: PtyEnd | Terminal = file.private_data
    if not isinstance(tty, PtyEnd):
        return _write_output(k, it, tty.output) if tty.output is not None else it.count
    done = 0
    while it.count:
        data = it.copy_from(TTY_WRITE_CHUNK)
        if not data:
            return done or -EFAULT
        ret = yield from tty.write(file, data)
        if ret < 0:
            return done or ret
        done += ret
        if ret < len(data):
            break
    return done


@kernel_function(
    "ssize_t tty_write(struct file *file, const char *buf, size_t count, loff_t *ppos)", source="drivers/tty/tty_io.c",
    until="5.12",
)  # fmt: skip
def tty_write_5_11(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """The form before 5.12."""
    return (yield from _write_tty(k, k.vfs.files[file_addr], IovIter(k, [(buf, min(count, 1 << 20))])))


def _tty_ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int:
    terminal: Terminal = file.private_data
    if cmd == TCGETS:
        k.usercopy.copy_to_user(arg, terminal.termios)
    elif cmd in (TCSETS, TCSETSW, TCSETSF):
        terminal.termios = k.usercopy.copy_from_user(arg, len(terminal.termios))
        if terminal.input is not None and terminal.input.configure is not None:
            terminal.input.configure(int.from_bytes(terminal.termios[12:16], k.mem.byteorder))
    elif cmd == TIOCGWINSZ:
        order = k.mem.byteorder
        k.usercopy.copy_to_user(arg, b"".join(v.to_bytes(2, order) for v in (terminal.rows, terminal.columns, 0, 0)))
    elif cmd == TIOCSWINSZ:
        terminal.rows, terminal.columns = k.usercopy.get_user(arg, 2), k.usercopy.get_user(arg + 2, 2)
    elif cmd == TIOCGPGRP:
        k.usercopy.put_user(arg, 4, terminal.pgrp or k.current.pgid)
    elif cmd == TIOCSPGRP:
        terminal.pgrp = k.usercopy.get_user(arg, 4)
    elif cmd == TIOCGSID:
        k.usercopy.put_user(arg, 4, k.current.session)
    elif cmd == FIONREAD:
        k.usercopy.put_user(arg, 4, len(terminal.input.data) if terminal.input is not None else 0)
    elif cmd == TIOCCONS:
        return tioccons(k, file)
    elif cmd not in (TIOCSCTTY, TIOCNOTTY, TCSBRK, TCFLSH, TCXONC, TCSBRKP):
        raise KernelError(ENOTTY, "unknown terminal ioctl")
    return 0


def _tty_poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    stream = file.private_data.input
    mask = POLLOUT | POLLWRNORM
    if stream is None:
        return mask | POLLIN | POLLRDNORM
    if queues is not None:
        queues.append(stream.queue)
    if stream.data or stream.source is not None:
        mask |= POLLIN | POLLRDNORM
    return mask


def _console_open(k: FsKernel, inode: Inode, file: File) -> int:
    file.private_data = k.vfs.terminal
    return 0


def _tty_open(k: FsKernel, inode: Inode, file: File) -> int:
    """/dev/tty: ENXIO for a task without a controlling terminal."""
    terminal = k.vfs.terminal
    if k.current.signal.tty is not None:
        return open_controlling(k, file)
    if (terminal.input is None and terminal.output is None) or k.current.session == k.current.tgid:
        return -ENXIO
    file.private_data = terminal
    return 0


CONSOLE_FOPS = FileOperations(
    "console_fops", read_iter="tty_read", write_iter="redirected_tty_write", llseek="no_llseek", poll=_tty_poll,
    ioctl=_tty_ioctl, open=_console_open, fasync=True,
)  # fmt: skip
TTY_FOPS = FileOperations(
    "tty_fops", read_iter="tty_read", write_iter="tty_write", llseek="no_llseek", poll=_tty_poll, ioctl=_tty_ioctl,
    open=_tty_open, fasync=True,
)  # fmt: skip
CONSOLE_FOPS_5_11 = FileOperations(
    "console_fops", read="tty_read", write="redirected_tty_write", llseek="no_llseek", poll=_tty_poll, ioctl=_tty_ioctl,
    open=_console_open, fasync=True,
)  # fmt: skip
TTY_FOPS_5_11 = FileOperations(
    "tty_fops", read="tty_read", write="tty_write", llseek="no_llseek", poll=_tty_poll, ioctl=_tty_ioctl,
    open=_tty_open, fasync=True,
)  # fmt: skip
