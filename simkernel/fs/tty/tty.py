"""One end of a pseudo-terminal, and whose terminal it is.  drivers/tty/{tty_io,tty_jobctrl,pty}.c.

Both ends have a line discipline; the master's has no modes, so it passes everything.  Sessions and process groups are
kept by number.
"""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EAGAIN, EBUSY, EIO, EPERM, ERESTARTSYS
from arch.abi.fcntl import O_NOCTTY, O_NONBLOCK
from arch.abi.poll import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI, POLLRDNORM, POLLWRNORM
from arch.abi.signal import SIG_IGN, SIGCONT, SIGHUP, SIGTTIN, SIGTTOU, SIGWINCH
from arch.abi.stat import makedev
from arch.abi.termios import (
    B38400,
    CREAD,
    CS8,
    CSIZE,
    ECHO,
    ECHOCTL,
    ECHOE,
    ECHOK,
    ECHOKE,
    EXTPROC,
    ICANON,
    ICRNL,
    IEXTEN,
    ISIG,
    IXON,
    NCCS,
    ONLCR,
    OPOST,
    PARENB,
    TIOCPKT_DATA,
    TIOCPKT_DOSTOP,
    TIOCPKT_FLUSHREAD,
    TIOCPKT_FLUSHWRITE,
    TIOCPKT_IOCTL,
    TIOCPKT_NOSTOP,
    TIOCPKT_START,
    TIOCPKT_STOP,
    TOSTOP,
    VMIN,
    VSTART,
    VSTOP,
    VTIME,
)
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File, FileOperations
from simkernel.fs.terminal import PtyEnd
from simkernel.fs.tty.n_tty import LineDiscipline, Termios
from simkernel.kernel.face import Body
from simkernel.kernel.sigpending import bit
from simkernel.kernel.task import Task, WaitQueue

PORT_SIZE = 8192  # what waits for a discipline that has no room: tty_buffer_set_limit() of pty.c
SLAVE_MAJOR, MASTER_MAJOR = 136, 128
TENTH_OF_A_SECOND_NS = 100_000_000


def slave_termios() -> Termios:
    """tty_std_termios, as pty.c changes it."""
    lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN
    return Termios(ICRNL | IXON, OPOST | ONLCR, B38400 | CS8 | CREAD, lflag)


class TtyEnd(PtyEnd):
    """struct tty_struct."""

    link: TtyEnd

    def __init__(self, k: FsKernel, index: int, master: bool) -> None:
        self.k, self.index, self.master = k, index, master
        self.name = f"ptm{index}" if master else f"pts{index}"
        self.addr = k.mem.alloc(64)
        self.termios = Termios(0, 0, B38400 | CS8 | CREAD, 0) if master else slave_termios()
        self.termios_locked = Termios(0, 0, 0, 0, bytes(NCCS))  # what nobody may change
        self.ldisc = LineDiscipline(self)
        self.port = bytearray()  # came from the other end, not yet through the discipline
        self.read_wait, self.write_wait = WaitQueue("tty_read"), WaitQueue("tty_write")
        self.files: list[File] = []
        self.session = self.pgrp = 0
        self.winsize = (0, 0, 0, 0)
        self.locked = not master  # TTY_PTY_LOCK
        self.io_error = self.other_closed = self.exclusive = False
        self.stopped = self.tco_stopped = False
        self.packet = False
        self.pktstatus = 0
        self.taken = b""
        k.vfs.objects[self.addr] = self

    @property
    def dev(self) -> int:
        """tty_devnum()."""
        return makedev(MASTER_MAJOR if self.master else SLAVE_MAJOR, self.index)

    @property
    def slave(self) -> TtyEnd:
        """The end that programs have as their terminal: tty_pair_get_tty()."""
        return self.link if self.master else self

    # -- between the ends --------------------------------------------------------------------------------------------

    def write_room(self) -> int:
        """pty_write_room()."""
        return 0 if self.stopped else max(0, PORT_SIZE - len(self.link.port))

    def send(self, data: bytes) -> int:
        """pty_write(): into the other end's port; how much it took."""
        taken = data[: self.write_room()]
        self.link.port += taken
        self.link.pump()
        return len(taken)

    def pump(self) -> None:
        """flush_to_ldisc()."""
        while self.port:
            taken = self.ldisc.receive(bytes(self.port))
            if not taken:
                break
            del self.port[:taken]
        if len(self.port) < PORT_SIZE:
            self.k.wake_up(self.link.write_wait, 0)

    def signal(self, sig: int) -> None:
        """isig(): to the foreground group."""
        self.kill_group(self.pgrp, sig)

    def kill_group(self, pgrp: int, sig: int) -> None:
        """kill_pgrp()."""
        if pgrp:
            for task in list(self.k.tasks.by_pid.values()):
                if task is task.group_leader and task.pgid == pgrp:
                    self.k.signals.send(task, sig)

    def stop(self) -> None:
        """stop_tty()."""
        if not self.stopped:
            self.stopped = True
            self.tell_packet(TIOCPKT_STOP, TIOCPKT_START)

    def start(self) -> None:
        """start_tty()."""
        if self.stopped and not self.tco_stopped:
            self.stopped = False
            self.tell_packet(TIOCPKT_START, TIOCPKT_STOP)
            self.ldisc.send_echoes()
            self.k.wake_up(self.write_wait, 0)

    def flush_output(self) -> None:
        """pty_flush_buffer()."""
        self.link.port.clear()
        self.tell_packet(TIOCPKT_FLUSHWRITE)

    def input_flushed(self) -> None:
        """n_tty_packet_mode_flush()."""
        self.tell_packet(TIOCPKT_FLUSHREAD)

    def tell_packet(self, status: int, instead: int = 0) -> None:
        """A master in packet mode reads what happened at this end."""
        if self.link.packet:
            self.pktstatus = self.pktstatus & ~instead | status
            self.k.wake_up(self.link.read_wait, 0)

    def readable(self) -> None:
        """Wake who reads or polls."""
        self.k.wake_up(self.read_wait, 0)

    def set_termios(self, new: Termios) -> None:
        """tty_set_termios(), pty_set_termios()."""
        old, self.termios = self.termios, new
        new.cflag = new.cflag & ~(CSIZE | PARENB) | CS8 | CREAD
        if self.link.packet:
            extproc = (old.lflag | new.lflag) & EXTPROC
            flows = [bool(t.iflag & IXON) and (t.cc[VSTOP], t.cc[VSTART]) == (19, 17) for t in (old, new)]
            if flows[0] != flows[1]:
                self.tell_packet(TIOCPKT_DOSTOP if flows[1] else TIOCPKT_NOSTOP, TIOCPKT_DOSTOP | TIOCPKT_NOSTOP)
            if extproc:
                self.tell_packet(TIOCPKT_IOCTL)
        self.ldisc.modes_changed(old)
        self.pump()

    def resize(self, size: tuple[int, int, int, int]) -> None:
        """pty_resize(): both ends' groups learn of it."""
        if size != self.winsize:
            groups = {self.pgrp, self.link.pgrp}
            self.winsize = self.link.winsize = size
            for pgrp in sorted(groups):
                self.kill_group(pgrp, SIGWINCH)

    # -- whose terminal ------------------------------------------------------------------------------------------------

    def check_change(self, sig: int = SIGTTOU) -> int:
        """__tty_check_change(): a background group of this terminal's session may not.  -EIO, -ERESTARTSYS."""
        k, task = self.k, self.k.current
        if task.signal.tty is not self or not self.pgrp or task.pgid == self.pgrp:
            return 0
        if task.blocked & bit(sig) or task.signal.actions[sig].handler == SIG_IGN:
            return -EIO if sig == SIGTTIN else 0
        if k.signals.is_orphaned(task.pgid, task.session):
            return -EIO
        self.kill_group(task.pgid, sig)
        task.work = True
        return -ERESTARTSYS

    def open_slave(self) -> int:
        """pty_open()."""
        if self.locked or self.other_closed or not self.link.files:
            return -EIO
        self.io_error = self.link.other_closed = False
        return 0

    def opened(self, file: File) -> int:
        """tty_open(): the first terminal that a session's leader opens becomes the session's."""
        k, task = self.k, self.k.current
        if self.exclusive and not k.capable(CAP_SYS_ADMIN):
            return -EBUSY
        self.files.append(file)
        signal = task.signal
        if self.master or file.f_flags & O_NOCTTY or not file.f_mode & c.FMODE_READ:
            return 0
        if task.session == task.tgid and signal.tty is None and not self.session:
            self.become_controlling(task)
        return 0

    def become_controlling(self, task: Task) -> None:
        """__proc_set_tty()."""
        self.pgrp, self.session = task.pgid, task.session
        task.signal.tty, task.signal.tty_old_pgrp = self, 0

    def take_over(self, file: File, arg: int) -> int:
        """tiocsctty(): TIOCSCTTY.  EPERM."""
        k, task = self.k, self.k.current
        leader = task.session == task.tgid
        if leader and task.session == self.session:
            return 0
        if not leader or task.signal.tty is not None:
            return -EPERM
        if self.session:
            if arg != 1 or not k.capable(CAP_SYS_ADMIN):
                return -EPERM
            self._leave_session(self.session)
        if not file.f_mode & c.FMODE_READ and not k.capable(CAP_SYS_ADMIN):
            return -EPERM
        self.become_controlling(task)
        return 0

    def _leave_session(self, session: int) -> None:
        """session_clear_tty()."""
        for task in self.k.tasks.by_pid.values():
            if task.session == session and task.signal.tty is self:
                task.signal.tty = None

    def disassociate(self, task: Task, on_exit: bool) -> None:
        """disassociate_ctty() of a task that has this as its terminal: at its end, or by TIOCNOTTY."""
        if task.session == task.tgid:
            self.kill_group(self.pgrp, SIGHUP)
            if not on_exit:
                self.kill_group(self.pgrp, SIGCONT)
            self.session = self.pgrp = 0
            self._leave_session(task.session)
        task.signal.tty = None

    def hangup(self, exiting_session: bool = False) -> None:
        """__tty_hangup(): nothing goes through this end's files any more."""
        for file in self.files:
            file.f_op = HUNG_UP_TTY_FOPS
        redirect = self.k.vfs.terminal.redirect
        if redirect is not None and redirect.private_data is self:
            take_back(self.k)
        for task in list(self.k.tasks.by_pid.values()):
            if not self.session or task.session != self.session or task is not task.group_leader:
                continue
            if task.signal.tty is self:
                task.signal.tty = None
            if task.pid == self.session:
                self.k.signals.send(task, SIGHUP)
                self.k.signals.send(task, SIGCONT)
                task.signal.tty_old_pgrp = self.pgrp
        if exiting_session:
            self.kill_group(self.pgrp, SIGHUP)
        self.session = self.pgrp = 0
        self.ldisc.flush()
        self.termios = slave_termios()
        self.k.wake_up(self.read_wait, 0)
        self.k.wake_up(self.write_wait, 0)

    def closed(self, file: File) -> None:
        """tty_release(): the other end learns of the last one."""
        self.files.remove(file)
        if self.files:
            return
        self.io_error, self.packet = True, False
        link = self.link
        link.other_closed = True
        if self.master:
            self.on_close()
            link.hangup()
        else:
            self.session = self.pgrp = 0
        self.k.wake_up(link.read_wait, 0)
        self.k.wake_up(link.write_wait, 0)
        if not link.files and (self.master or link.io_error):
            self.free()
            link.free()

    def free(self) -> None:
        """release_tty()."""
        if self.k.vfs.objects.pop(self.addr, None) is not None:
            self.k.mem.free(self.addr)

    # -- reading and writing -------------------------------------------------------------------------------------------

    def read(self, file: File, size: int) -> Body:
        """n_tty_read(): what is read is left in `self.taken`; its length.  EIO, EAGAIN."""
        self.taken = b""
        ret: int | None = self.check_change(SIGTTIN)
        if ret:
            return ret
        minimum, between, timeout = self._patience()
        out = bytearray()
        while size > len(out):
            if self.packet and self.link.pktstatus:
                if not out:
                    out.append(self.link.pktstatus)
                    self.link.pktstatus = 0
                break
            if not self.ldisc.available():
                ret = self._why_not(file, timeout)
                if ret is not None:
                    break
                ret = yield self.k.wait(self.read_wait, timeout_ns=timeout)
                if ret == -ERESTARTSYS:
                    break
                if ret < 0:
                    timeout = 0
                continue
            if self.packet and not out:
                out.append(TIOCPKT_DATA)
            if self.ldisc.canonical:
                out += self.ldisc.take(size - len(out))
                ret = 0
                break
            out += self.ldisc.take(size - len(out))
            ret = 0
            if len(out) >= minimum:
                break
            if between:
                timeout = between
        self.pump()
        self.taken = bytes(out)
        return len(out) or (ret or 0)

    def _patience(self) -> tuple[int, int, int | None]:
        """(least number of bytes, time after the first one, time for the first one), from VMIN and VTIME."""
        if self.ldisc.canonical:
            return 1, 0, None
        minimum, tenths = self.termios.cc[VMIN], self.termios.cc[VTIME] * TENTH_OF_A_SECOND_NS
        return (minimum, tenths, None) if minimum else (1, 0, tenths)

    def _why_not(self, file: File, timeout: int | None) -> int | None:
        """What a read that finds nothing answers; None: it waits."""
        if self.other_closed:
            return -EIO
        if file.f_op is HUNG_UP_TTY_FOPS or timeout == 0:
            return 0
        return -EAGAIN if file.f_flags & O_NONBLOCK else None

    def write(self, file: File, data: bytes) -> Body:
        """n_tty_write().  EIO, EAGAIN."""
        if self.io_error:
            return -EIO
        if self.termios.lflag & TOSTOP:
            ret = self.check_change()
            if ret < 0:
                return ret
        done = 0
        self.ldisc.send_echoes()
        while True:
            if self.k.signals.pending():
                ret = -ERESTARTSYS
                break
            if file.f_op is HUNG_UP_TTY_FOPS or not (self.link.files or self.master):
                ret = -EIO
                break
            out, taken = self.ldisc.output(data[done:], self.write_room())
            if out:
                yield from self._to_the_other_end(out)
            done += taken
            if done >= len(data):
                break
            if taken:
                continue
            if file.f_flags & O_NONBLOCK:
                ret = -EAGAIN
                break
            ret = yield self.k.wait(self.write_wait)
            if ret < 0:
                break
        return done or ret

    def _to_the_other_end(self, out: bytes) -> Body:
        """The call of pty_write(), with the bytes where tty->write_buf would have them."""
        k = self.k
        where = k.mem.alloc(len(out))
        k.mem.write(where, out)
        try:
            return (yield k.call("pty_write", self.addr, where, len(out)))
        finally:
            k.mem.free(where)

    def poll(self, file: File, queues: list[WaitQueue] | None) -> int:
        """n_tty_poll()."""
        if queues is not None:
            queues += [self.read_wait, self.write_wait]
        mask = POLLIN | POLLRDNORM if self.ldisc.available(True) else 0
        if self.packet and self.link.pktstatus:
            mask |= POLLPRI | POLLIN | POLLRDNORM
        if self.other_closed:
            mask |= POLLHUP
        if self.write_room() > 0:
            mask |= POLLOUT | POLLWRNORM
        return mask


def take_back(k: FsKernel) -> None:
    """What is written to the console goes there again."""
    redirect, k.vfs.terminal.redirect = k.vfs.terminal.redirect, None
    if redirect is not None:
        k.vfs.put_file(redirect)


def hung_up_ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int:
    """hung_up_tty_ioctl()."""
    return -EIO


HUNG_UP_TTY_FOPS = FileOperations(
    "hung_up_tty_fops", read_iter="hung_up_tty_read", write_iter="hung_up_tty_write", llseek="no_llseek",
    poll=lambda k, file, queues: POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDNORM | POLLWRNORM, ioctl=hung_up_ioctl,
    release=lambda k, file: file.private_data.closed(file),
)  # fmt: skip
