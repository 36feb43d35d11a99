"""What an end of a pseudo-terminal is asked and told by ioctl(2).  drivers/tty/{tty_ioctl,tty_io,tty_jobctrl,pty}.c."""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EBADF, EBUSY, EINVAL, EIO, ENOTTY, EPERM, ESRCH
from arch.abi.fcntl import O_CLOEXEC
from arch.abi.ioctl import (
    FIONREAD,
    TCFLSH,
    TCGETA,
    TCGETS,
    TCGETS2,
    TCSBRK,
    TCSBRKP,
    TCSETA,
    TCSETAF,
    TCSETAW,
    TCSETS,
    TCSETS2,
    TCSETSF,
    TCSETSF2,
    TCSETSW,
    TCSETSW2,
    TCXONC,
    TIOCCBRK,
    TIOCCONS,
    TIOCEXCL,
    TIOCGDEV,
    TIOCGETD,
    TIOCGEXCL,
    TIOCGLCKTRMIOS,
    TIOCGPGRP,
    TIOCGPKT,
    TIOCGPTLCK,
    TIOCGPTN,
    TIOCGPTPEER,
    TIOCGSID,
    TIOCGSOFTCAR,
    TIOCGWINSZ,
    TIOCNOTTY,
    TIOCNXCL,
    TIOCOUTQ,
    TIOCPKT,
    TIOCSBRK,
    TIOCSCTTY,
    TIOCSETD,
    TIOCSIG,
    TIOCSLCKTRMIOS,
    TIOCSPGRP,
    TIOCSPTLCK,
    TIOCSSOFTCAR,
    TIOCSTI,
    TIOCSWINSZ,
    TIOCVHANGUP,
)
from arch.abi.signal import SIGINT, SIGQUIT, SIGTSTP
from arch.abi.termios import CLOCAL, NCCS, TCIFLUSH, TCIOFF, TCIOFLUSH, TCION, TCOFLUSH, TCOOFF, TCOON, VSTART, VSTOP
from arch.errors import KernelError
from simkernel.fs.constants import FMODE_WRITE
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import File
from simkernel.fs.tty.n_tty import Termios
from simkernel.fs.tty.tty import TtyEnd, take_back
from simkernel.kernel.face import Body, Steps

TERMIOS_SIZE, TERMIOS2_SIZE, TERMIO_SIZE = 36, 44, 18
NCC = 8  # of struct termio
GETS = {TCGETS: TERMIOS_SIZE, TCGETS2: TERMIOS2_SIZE, TCGETA: TERMIO_SIZE}
SETS = {
    TCSETS: (TERMIOS_SIZE, False), TCSETSW: (TERMIOS_SIZE, False), TCSETSF: (TERMIOS_SIZE, True),
    TCSETS2: (TERMIOS2_SIZE, False), TCSETSW2: (TERMIOS2_SIZE, False), TCSETSF2: (TERMIOS2_SIZE, True),
    TCSETA: (TERMIO_SIZE, False), TCSETAW: (TERMIO_SIZE, False), TCSETAF: (TERMIO_SIZE, True),
}  # fmt: skip
CHECKED = (TIOCSETD, TIOCSBRK, TIOCCBRK, TCSBRK, TCSBRKP)  # a background group gets SIGTTOU
SIGNALS_FOR_SLAVE = (SIGINT, SIGQUIT, SIGTSTP)


def termios_bytes(k: FsKernel, termios: Termios, size: int) -> bytes:
    """struct termios, termios2 or termio."""
    order = k.mem.byteorder
    modes = (termios.iflag, termios.oflag, termios.cflag, termios.lflag)
    if size == TERMIO_SIZE:
        raw = b"".join((mode & 0xFFFF).to_bytes(2, order) for mode in modes) + bytes((termios.line,))
        return (raw + termios.cc[:NCC]).ljust(size, b"\0")
    raw = b"".join(mode.to_bytes(4, order) for mode in modes) + bytes((termios.line,)) + termios.cc
    return raw + b"".join(s.to_bytes(4, order) for s in termios.speeds) if size == TERMIOS2_SIZE else raw


def termios_from(k: FsKernel, raw: bytes, old: Termios) -> Termios:
    """The same read; what the shorter forms do not have stays."""
    order, new = k.mem.byteorder, old.copy()
    if len(raw) == TERMIO_SIZE:
        low = [int.from_bytes(raw[i : i + 2], order) for i in (0, 2, 4, 6)]
        high = [mode & ~0xFFFF for mode in (old.iflag, old.oflag, old.cflag, old.lflag)]
        new.iflag, new.oflag, new.cflag, new.lflag = (a | b for a, b in zip(low, high))
        new.line, new.cc = raw[8], raw[9 : 9 + NCC] + old.cc[NCC:]
        return new
    new.iflag, new.oflag, new.cflag, new.lflag = (int.from_bytes(raw[i : i + 4], order) for i in (0, 4, 8, 12))
    new.line, new.cc = raw[16], raw[17 : 17 + NCCS]
    if len(raw) == TERMIOS2_SIZE:
        new.speeds = (int.from_bytes(raw[36:40], order), int.from_bytes(raw[40:44], order))
    return new


def tty_ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int | Body:
    """tty_ioctl().  ENOTTY for what it does not know."""
    tty: TtyEnd = file.private_data
    if cmd in CHECKED:
        ret = tty.check_change()
        if ret < 0:
            return ret
    if cmd in GETS:
        k.usercopy.copy_to_user(arg, termios_bytes(k, tty.slave.termios, GETS[cmd]))
        return 0
    if cmd in SETS:
        return _set_modes(k, tty.slave, *SETS[cmd], arg)
    if cmd in (TIOCGLCKTRMIOS, TIOCSLCKTRMIOS):
        return _locks(k, tty.slave, cmd, arg)
    if cmd == TIOCGPTPEER:
        return _open_peer(k, tty, arg) if tty.master else -EIO
    for group in (_session, _flow, _pair, _plain):
        answer = group(k, tty, file, cmd, arg)
        if answer is not None:
            return answer
    raise KernelError(ENOTTY, "unknown terminal ioctl")


def _unset_locked(new: Termios, old: Termios, locked: Termios) -> None:
    """unset_locked_termios(): what is locked stays as it was."""
    for name in ("iflag", "oflag", "cflag", "lflag"):
        mask = vars(locked)[name]
        vars(new)[name] = vars(old)[name] & mask | vars(new)[name] & ~mask
    new.line = old.line if locked.line else new.line
    new.cc = bytes(a if lock else b for a, b, lock in zip(old.cc, new.cc, locked.cc, strict=True))


def _locks(k: FsKernel, tty: TtyEnd, cmd: int, arg: int) -> int:
    """TIOCGLCKTRMIOS, TIOCSLCKTRMIOS: settings that nobody may change.  EPERM."""
    if cmd == TIOCGLCKTRMIOS:
        k.usercopy.copy_to_user(arg, termios_bytes(k, tty.termios_locked, TERMIOS_SIZE))
        return 0
    if not k.capable(CAP_SYS_ADMIN):
        return -EPERM
    tty.termios_locked = termios_from(k, k.usercopy.copy_from_user(arg, TERMIOS_SIZE), tty.termios_locked)
    return 0


def _set_modes(k: FsKernel, tty: TtyEnd, size: int, flush: bool, arg: int) -> int:
    ret = tty.check_change()
    if ret < 0:
        return ret
    new = termios_from(k, k.usercopy.copy_from_user(arg, size), tty.termios)
    _unset_locked(new, tty.termios, tty.termios_locked)
    if flush:
        tty.ldisc.flush()
    tty.set_termios(new)
    return 0


def _session(k: FsKernel, tty: TtyEnd, file: File, cmd: int, arg: int) -> int | None:
    """tty_jobctrl_ioctl()."""
    slave, task = tty.slave, k.current
    if cmd == TIOCNOTTY:
        if task.signal.tty is not tty:
            return -ENOTTY
        tty.disassociate(task, False)
    elif cmd == TIOCSCTTY:
        return tty.take_over(file, arg)
    elif cmd in (TIOCGPGRP, TIOCGSID):
        if tty is slave and task.signal.tty is not slave:
            return -ENOTTY
        if cmd == TIOCGSID and not slave.session:
            return -ENOTTY
        k.usercopy.put_user(arg, 4, slave.pgrp if cmd == TIOCGPGRP else slave.session)
    elif cmd == TIOCSPGRP:
        return _set_group(k, slave, arg)
    else:
        return None
    return 0


def _set_group(k: FsKernel, tty: TtyEnd, arg: int) -> int:
    """tiocspgrp()."""
    task, ret = k.current, tty.check_change()
    if ret == -EIO:
        return -ENOTTY
    if ret < 0:
        return ret
    group = k.usercopy.get_user(arg, 4, signed=True)
    if group < 0:
        return -EINVAL
    if task.signal.tty is not tty or tty.session != task.session:
        return -ENOTTY
    members = [t for t in k.tasks.by_pid.values() if t.pgid == group]
    if not members:
        return -ESRCH if k.tasks.find(group) is None else -EPERM
    if members[0].session != task.session:
        return -EPERM
    tty.pgrp = group
    return 0


def _flow(k: FsKernel, tty: TtyEnd, file: File, cmd: int, arg: int) -> int | None:
    """n_tty_ioctl_helper()."""
    if cmd not in (TCXONC, TCFLSH):
        return None
    ret = tty.check_change()
    if ret < 0:
        return ret
    if cmd == TCFLSH:
        if arg not in (TCIFLUSH, TCOFLUSH, TCIOFLUSH):
            return -EINVAL
        if arg != TCOFLUSH:
            tty.port.clear()
            tty.ldisc.flush()
            tty.pump()
        if arg != TCIFLUSH:
            tty.flush_output()
    elif arg == TCOOFF:
        if not tty.tco_stopped:
            tty.tco_stopped = True
            tty.stop()
    elif arg == TCOON:
        if tty.tco_stopped:
            tty.tco_stopped = False
            tty.start()
    elif arg in (TCIOFF, TCION):
        char = tty.termios.cc[VSTOP if arg == TCIOFF else VSTART]
        if char:
            tty.send(bytes((char,)))
    else:
        return -EINVAL
    return 0


def _pair(k: FsKernel, tty: TtyEnd, file: File, cmd: int, arg: int) -> int | None:
    """pty_unix98_ioctl(): asked of the master alone."""
    if not tty.master:
        return None
    user = k.usercopy
    if cmd == TIOCGPTN:
        user.put_user(arg, 4, tty.index)
    elif cmd == TIOCSPTLCK:
        tty.link.locked = bool(user.get_user(arg, 4))
    elif cmd == TIOCGPTLCK:
        user.put_user(arg, 4, int(tty.link.locked))
    elif cmd == TIOCPKT:
        want = bool(user.get_user(arg, 4))
        if want and not tty.packet:
            tty.link.pktstatus = 0
        tty.packet = want
    elif cmd == TIOCGPKT:
        user.put_user(arg, 4, int(tty.packet))
    elif cmd == TIOCSIG:
        if arg not in SIGNALS_FOR_SLAVE:
            return -EINVAL
        tty.link.signal(arg)
    else:
        return None
    return 0


def _plain(k: FsKernel, tty: TtyEnd, file: File, cmd: int, arg: int) -> int | None:
    """The rest of tty_ioctl()."""
    user, order = k.usercopy, k.mem.byteorder
    if cmd == TIOCGWINSZ:
        user.copy_to_user(arg, b"".join(v.to_bytes(2, order) for v in tty.winsize))
    elif cmd == TIOCSWINSZ:
        raw = user.copy_from_user(arg, 8)
        rows, columns, width, height = (int.from_bytes(raw[i : i + 2], order) for i in (0, 2, 4, 6))
        tty.resize((rows, columns, width, height))
    elif cmd == FIONREAD:
        user.put_user(arg, 4, tty.ldisc.waiting())
    elif cmd in (TIOCOUTQ, TIOCGETD):
        user.put_user(arg, 4, 0)
    elif cmd == TIOCGSOFTCAR:
        user.put_user(arg, 4, int(bool(tty.slave.termios.cflag & CLOCAL)))
    elif cmd == TIOCSSOFTCAR:
        new = tty.slave.termios.copy()
        new.cflag = new.cflag & ~CLOCAL | (CLOCAL if user.get_user(arg, 4) else 0)
        tty.slave.set_termios(new)
    elif cmd == TIOCSETD:
        return 0 if user.get_user(arg, 4) == 0 else -EINVAL
    elif cmd == TIOCGDEV:
        user.put_user(arg, 4, tty.slave.dev)
    elif cmd == TIOCCONS:
        return -EINVAL if tty.master else tioccons(k, file)
    elif cmd in (TIOCEXCL, TIOCNXCL):
        tty.exclusive = cmd == TIOCEXCL
    elif cmd == TIOCGEXCL:
        user.put_user(arg, 4, int(tty.exclusive))
    elif cmd == TIOCSTI:
        if k.current.signal.tty is not tty and not k.capable(CAP_SYS_ADMIN):
            return -EPERM
        tty.ldisc.receive(bytes((user.get_user(arg, 1),)))
    elif cmd == TIOCVHANGUP:
        if not k.capable(CAP_SYS_ADMIN):
            return -EPERM
        tty.hangup()
    elif cmd not in (TCSBRK, TCSBRKP, TIOCSBRK, TIOCCBRK):
        return None
    return 0


def tioccons(k: FsKernel, file: File) -> int:
    """TIOCCONS: the console's output goes to this pseudo-terminal; asked of the console, it stays there again.  EPERM, EBADF, EBUSY."""
    if not k.capable(CAP_SYS_ADMIN):
        return -EPERM
    if not isinstance(file.private_data, TtyEnd):
        take_back(k)
        return 0
    if not file.f_mode & FMODE_WRITE:
        return -EBADF
    if k.vfs.terminal.redirect is not None:
        return -EBUSY
    file.f_count += 1
    k.vfs.terminal.redirect = file
    return 0


def _open_peer(k: FsKernel, master: TtyEnd, flags: int) -> Steps[int]:
    """ptm_open_peer(): the slave by its master's descriptor."""
    files = files_of(k.current)
    path = master.peer_path
    with files.unused_fd(bool(flags & O_CLOEXEC)) as fd:
        peer = k.vfs.new_file(path, flags & ~O_CLOEXEC, k.vfs.fops_for(path.inode))
    where = peer.addr + k.vfs.mirror.struct("struct file").offset("f_path")
    ret = yield k.call("vfs_open", where, peer.addr, *(() if k.vfs.names.vfs_open_two_args else (0,)))
    if ret < 0:
        files.put_unused_fd(fd)
        k.vfs.put_file(peer)
        return ret
    files.install(fd, peer)
    return fd
