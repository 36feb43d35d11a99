"""The line discipline N_TTY: what becomes of bytes between the two ends of a terminal.  drivers/tty/n_tty.c.

It knows characters and modes, nothing of tasks: what must be sent or signalled it hands to its `Line`.
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.signal import SIGINT, SIGQUIT, SIGTSTP
from arch.abi.termios import (
    ECHO,
    ECHOCTL,
    ECHOE,
    ECHOK,
    ECHOKE,
    ECHONL,
    ECHOPRT,
    EXTPROC,
    ICANON,
    ICRNL,
    IEXTEN,
    IGNCR,
    INIT_C_CC,
    INLCR,
    ISIG,
    ISTRIP,
    IUCLC,
    IUTF8,
    IXANY,
    IXON,
    NOFLSH,
    OCRNL,
    OLCUC,
    ONLCR,
    ONLRET,
    ONOCR,
    OPOST,
    PARMRK,
    TABDLY,
    VEOF,
    VEOL,
    VEOL2,
    VERASE,
    VINTR,
    VKILL,
    VLNEXT,
    VMIN,
    VQUIT,
    VREPRINT,
    VSTART,
    VSTOP,
    VSUSP,
    VTIME,
    VWERASE,
    XTABS,
)

N_TTY_BUF_SIZE = 4096
ORDINARY, LINE_END, END_OF_FILE = 0, 1, 2  # what read_flags and __DISABLED_CHAR say of a character in the buffer
SIGNALS = ((VINTR, SIGINT), (VQUIT, SIGQUIT), (VSUSP, SIGTSTP))
BACK_OVER = b"\b \b"
ECHO_OP_START = 0xFF  # begins an order in the buffer of echoes; as a character it is sent as it is
CASE = 0x20  # between a capital and its small letter
# lib/ctype.c: letters are Latin-1's
UPPER = frozenset(range(0x41, 0x5B)) | frozenset(range(0xC0, 0xDF)) - {0xD7}
LOWER = frozenset(range(0x61, 0x7B)) | frozenset(range(0xDF, 0x100)) - {0xF7}
OF_A_WORD = UPPER | LOWER | frozenset(b"0123456789_")


class Termios:
    """struct ktermios."""

    def __init__(self, iflag: int, oflag: int, cflag: int, lflag: int, cc: bytes = INIT_C_CC) -> None:
        self.iflag, self.oflag, self.cflag, self.lflag, self.line, self.cc = iflag, oflag, cflag, lflag, 0, cc
        self.speeds = (38400, 38400)

    def copy(self) -> Termios:
        """The same modes, to be changed."""
        new = Termios(self.iflag, self.oflag, self.cflag, self.lflag, self.cc)
        new.line, new.speeds = self.line, self.speeds
        return new


class Line(Protocol):
    """The end of a terminal that a discipline serves."""

    termios: Termios
    stopped: bool

    def send(self, data: bytes) -> int:
        """tty->ops->write(): to the other end; how many bytes it took."""
        ...

    def signal(self, sig: int) -> None:
        """To the foreground group."""

    def stop(self) -> None:
        """stop_tty()."""

    def start(self) -> None:
        """start_tty()."""

    def flush_output(self) -> None:
        """What was written and not yet read at the other end is lost."""

    def input_flushed(self) -> None:
        """A packet-mode master is told."""

    def readable(self) -> None:
        """Wake who reads."""


def is_control(c: int) -> bool:
    """iscntrl()."""
    return c < 32 or c == 127


class LineDiscipline:
    """struct n_tty_data."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.buf = bytearray()  # what was typed and not read
        self.marks = bytearray()  # of each of these: ORDINARY, LINE_END, END_OF_FILE
        self.canon_head = 0  # so many of them are whole lines
        self.column = self.canon_column = 0
        self.lnext = self.erasing = False
        self.unsent = bytearray()  # echoes that the other end had no room for

    # -- modes -------------------------------------------------------------------------------------------------------

    def on(self, lflag: int) -> bool:
        """A local mode is set."""
        return bool(self.line.termios.lflag & lflag)

    @property
    def canonical(self) -> bool:
        """Reads get lines."""
        return self.line.termios.lflag & (ICANON | EXTPROC) == ICANON

    def is_char(self, c: int, index: int, extended: bool = False) -> bool:
        """It is this control character, which is not disabled (NUL)."""
        return c != 0 and self.line.termios.cc[index] == c and (not extended or self.on(IEXTEN))

    def modes_changed(self, old: Termios) -> None:
        """n_tty_set_termios()."""
        if (old.lflag ^ self.line.termios.lflag) & (ICANON | EXTPROC):
            self.marks = bytearray(len(self.buf))
            self.canon_head = 0
            if self.on(ICANON) and self.buf:  # what is there already becomes a line
                self.marks[-1] = LINE_END
                self.canon_head = len(self.buf)
            self.lnext = self.erasing = False
        if not self.line.termios.iflag & IXON and old.iflag & IXON:
            self.line.start()
        self.line.readable()

    # -- the reader's side -------------------------------------------------------------------------------------------

    def available(self, poll: bool = False) -> bool:
        """input_available_p()."""
        if self.canonical:
            return self.canon_head > 0
        cc = self.line.termios.cc
        return len(self.buf) >= (cc[VMIN] if poll and not cc[VTIME] and cc[VMIN] else 1)

    def take(self, size: int) -> bytes:
        """canon_copy_from_read_buf(), copy_from_read_buf(): one line at most, or whatever is there."""
        if not self.canonical:
            return self._drop(min(size, len(self.buf)))
        ends = (i for i in range(self.canon_head) if self.marks[i])
        end = next(ends, self.canon_head - 1)
        if self.marks[end] == END_OF_FILE and end <= size:
            data = self._drop(end)
            self._drop(1)
            return data
        return self._drop(min(size, end + 1))

    def _drop(self, count: int) -> bytes:
        data = bytes(self.buf[:count])
        del self.buf[:count], self.marks[:count]
        self.canon_head = max(0, self.canon_head - count)
        return data

    def waiting(self) -> int:
        """TIOCINQ: what a read would get, not counting ends of files."""
        return self.canon_head - self.marks.count(END_OF_FILE) if self.canonical else len(self.buf)

    def flush(self) -> None:
        """n_tty_flush_buffer()."""
        self.buf.clear()
        self.marks.clear()
        self.canon_head = 0
        self.lnext = self.erasing = False
        self.line.input_flushed()

    # -- what comes from the other end ---------------------------------------------------------------------------------

    def room(self) -> int:
        """receive_room(): a line that does not end takes what comes, and forgets it."""
        length = len(self.buf)
        left = N_TTY_BUF_SIZE - (3 * length if self.line.termios.iflag & PARMRK else length) - 1
        return left if left > 0 else int(self.on(ICANON) and not self.canon_head)

    def receive(self, data: bytes) -> int:
        """n_tty_receive_buf(): as much as there is room for; how much that was."""
        lines, done = self.canon_head, 0
        for c in data:
            if len(self.buf) >= N_TTY_BUF_SIZE - 1:
                if not self.on(ICANON) or self.canon_head:
                    break
                if len(self.buf) >= N_TTY_BUF_SIZE:
                    del self.buf[-1], self.marks[-1]
            done += 1
            if self.lnext:
                self.lnext = False
                self._ordinary(self._stripped(c))
            elif self.on(EXTPROC):
                self._put(self._stripped(c))
            else:
                self._one(self._stripped(c))
        self.send_echoes()
        if self.canon_head != lines or (not self.canonical and self.available(True)):
            self.line.readable()
        return done

    def _stripped(self, c: int) -> int:
        iflag = self.line.termios.iflag
        if iflag & ISTRIP:
            c &= 0x7F
        if iflag & IUCLC and self.on(IEXTEN) and c in UPPER:
            c += CASE
        return c

    def _one(self, c: int) -> None:
        """n_tty_receive_char_special()."""
        line, iflag = self.line, self.line.termios.iflag
        if iflag & IXON:
            if self.is_char(c, VSTART):
                line.start()
                return
            if self.is_char(c, VSTOP):
                line.stop()
                return
        if self.on(ISIG):
            for index, sig in SIGNALS:
                if self.is_char(c, index):
                    self._interrupt(c, sig)
                    return
        if line.stopped and iflag & IXON and iflag & IXANY:
            line.start()
        if c == 13:
            if iflag & IGNCR:
                return
            if iflag & ICRNL:
                c = 10
        elif c == 10 and iflag & INLCR:
            c = 13
        if self.on(ICANON) and self._editing(c):
            return
        self._ordinary(c)

    def _interrupt(self, c: int, sig: int) -> None:
        """n_tty_receive_signal_char()."""
        line = self.line
        line.signal(sig)
        if not self.on(NOFLSH):
            self.unsent.clear()
            line.flush_output()
            self.flush()
        if line.termios.iflag & IXON:
            line.start()
        if self.on(ECHO):
            self._echo(c)

    def _ordinary(self, c: int) -> None:
        if self.on(ECHO):
            self._finish_erasing()
            if self.canon_head == len(self.buf):
                self.canon_column = self.column
            if c == 10:
                self._echo_raw(c)
            else:
                self._echo(c)
        if c == 0xFF and self.line.termios.iflag & PARMRK:
            self._put(c)
        self._put(c)

    def _put(self, c: int, mark: int = ORDINARY) -> None:
        self.buf.append(c)
        self.marks.append(mark)

    def _editing(self, c: int) -> bool:
        """n_tty_receive_char_canon(): true when the character was one that edits or ends the line."""
        if self.is_char(c, VERASE) or self.is_char(c, VKILL) or self.is_char(c, VWERASE, True):
            self._erase(c)
            return True
        if self.is_char(c, VLNEXT, True):
            self.lnext = True
            if self.on(ECHO):
                self._finish_erasing()
                if self.on(ECHOCTL):
                    self._echo_raw(0x5E)
                    self._echo_raw(8)
            return True
        if self.is_char(c, VREPRINT, True) and self.on(ECHO):
            self._finish_erasing()
            self._echo(c)
            self._echo_raw(10)
            for old in self.buf[self.canon_head :]:
                self._echo(old)
            return True
        if c == 10:
            if self.on(ECHO | ECHONL):
                self._echo_raw(10)
            self._line(c, LINE_END)
        elif self.is_char(c, VEOF):
            self._line(0, END_OF_FILE)
        elif self.is_char(c, VEOL) or self.is_char(c, VEOL2, True):
            if self.on(ECHO):
                if self.canon_head == len(self.buf):
                    self.canon_column = self.column
                self._echo(c)
            if c == 0xFF and self.line.termios.iflag & PARMRK:
                self._put(c)
            self._line(c, LINE_END)
        else:
            return False
        return True

    def _line(self, c: int, mark: int) -> None:
        self._put(c, mark)
        self.canon_head = len(self.buf)

    # -- erasing -----------------------------------------------------------------------------------------------------

    def _is_continuation(self, c: int) -> bool:
        return bool(self.line.termios.iflag & IUTF8) and c & 0xC0 == 0x80

    def _finish_erasing(self) -> None:
        if self.erasing:
            self._echo_raw(0x2F)
            self.erasing = False

    def _cut(self, head: int) -> bytes:
        gone = bytes(self.buf[head:])
        del self.buf[head:], self.marks[head:]
        return gone

    def _erase(self, c: int) -> None:
        """eraser()."""
        if len(self.buf) == self.canon_head:
            return
        word, kill = self.is_char(c, VWERASE, True), self.is_char(c, VKILL)
        if kill and not (self.on(ECHO) and self.on(ECHOK) and self.on(ECHOKE) and self.on(ECHOE)):
            self._cut(self.canon_head)
            if self.on(ECHO):
                self._finish_erasing()
                self._echo(self.line.termios.cc[VKILL])
                if self.on(ECHOK):
                    self._echo_raw(10)
            return
        seen_word = False
        while len(self.buf) > self.canon_head:
            head = len(self.buf) - 1
            while self._is_continuation(self.buf[head]) and head > self.canon_head:
                head -= 1
            last = self.buf[head]
            if self._is_continuation(last):
                break
            if word:
                if last in OF_A_WORD:
                    seen_word = True
                elif seen_word:
                    break
            gone = self._cut(head)
            if self.on(ECHO):
                self._echo_erased(gone, not word and not kill)
            if not word and not kill:
                break
        if len(self.buf) == self.canon_head and self.on(ECHO):
            self._finish_erasing()

    def _echo_erased(self, gone: bytes, single: bool) -> None:
        c = gone[0]
        if self.on(ECHOPRT):
            if not self.erasing:
                self._echo_raw(0x5C)
                self.erasing = True
            self._echo(c)
            for more in gone[1:]:
                self._echo_raw(more)
                self.column = max(0, self.column - 1)
        elif single and not self.on(ECHOE):
            self._echo(self.line.termios.cc[VERASE])
        elif c == 9:
            self._echo_erased_tab()
        else:
            if is_control(c) and self.on(ECHOCTL):
                self._raw_all(BACK_OVER)
            if not is_control(c) or self.on(ECHOCTL):
                self._raw_all(BACK_OVER)

    def _echo_erased_tab(self) -> None:
        """How far the tab had moved the cursor depends on what stands before it."""
        chars, after_tab = 0, False
        for c in reversed(self.buf[self.canon_head :]):
            if c == 9:
                after_tab = True
                break
            if is_control(c):
                chars += 2 if self.on(ECHOCTL) else 0
            elif not self._is_continuation(c):
                chars += 1
        if not after_tab:
            chars += self.canon_column
        back = 8 - (chars & 7)
        self.unsent += b"\b" * back
        self.column = max(0, self.column - back)

    # -- echoes and output ---------------------------------------------------------------------------------------------

    def _echo(self, c: int) -> None:
        """echo_char(): control characters as ^X."""
        if self.on(ECHOCTL) and is_control(c) and c != 9:
            self.unsent += bytes((0x5E, c ^ 0o100))
            self.column += 2
        else:
            self._echo_raw(c)

    def _echo_raw(self, c: int) -> None:
        if c == ECHO_OP_START:
            self.column += 1
            self.unsent.append(c)
        else:
            self.unsent += self.processed(c) if self.line.termios.oflag & OPOST else bytes((c,))

    def _raw_all(self, data: bytes) -> None:
        for c in data:
            self._echo_raw(c)

    def send_echoes(self) -> None:
        """process_echoes()."""
        if self.unsent and not self.line.stopped:
            taken = self.line.send(bytes(self.unsent))
            del self.unsent[:taken]

    def processed(self, c: int) -> bytes:
        """do_output_char(): what OPOST makes of a character, and where the cursor is afterwards."""
        oflag = self.line.termios.oflag
        if c == 10:
            if oflag & ONLRET:
                self.column = 0
            if oflag & ONLCR:
                self.column = self.canon_column = 0
                return b"\r\n"
            self.canon_column = self.column
        elif c == 13:
            if oflag & ONOCR and not self.column:
                return b""
            if oflag & OCRNL:
                if oflag & ONLRET:
                    self.column = self.canon_column = 0
                return b"\n"
            self.column = self.canon_column = 0
        elif c == 9:
            spaces = 8 - (self.column & 7)
            self.column += spaces
            if oflag & TABDLY == XTABS:
                return b" " * spaces
        elif c == 8:
            self.column = max(0, self.column - 1)
        elif not is_control(c):
            if oflag & OLCUC and c in LOWER:
                c -= CASE
            if not self._is_continuation(c):
                self.column += 1
        return bytes((c,))

    def output(self, data: bytes, room: int) -> tuple[bytes, int]:
        """process_output_block(): (what is to be sent and fits into `room`, how many of the bytes that is)."""
        if not self.line.termios.oflag & OPOST:
            return data[:room], min(room, len(data))
        out = bytearray()
        for index, c in enumerate(data):
            column, canon = self.column, self.canon_column
            piece = self.processed(c)
            if len(out) + len(piece) > room:
                self.column, self.canon_column = column, canon
                return bytes(out), index
            out += piece
        return bytes(out), len(data)
