"""What sys_enter_* events copy from the program's memory since 6.19: names, and what is written.  kernel/trace/trace_syscalls.c.

Which arguments point to it is a table; a string is cut, and what of it does not print becomes a dot.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from arch.abi.fcntl import O_ACCMODE, O_CREAT
from arch.cstring import c_string
from arch.errors import Fault
from arch.memory import Memory
from tracing.buffer.trace import SYSCALL_USER_BUF
from tracing.events.syscalls import SyscallEnterEvent, SyscallTable, argument
from tracing.record.fields import Field
from tracing.record.recorder import Recorder

FAULT_USER_MAX = 165  # SYSCALL_FAULT_USER_MAX
CUT_MARK = b"...\0"


class UserArguments(NamedTuple):
    """Of one call: the arguments that point to memory, and which says how long it is."""

    pointers: tuple[int, ...]
    size: int | None = None
    string: bool = False  # of that size, and not an array


AT_FIRST = """access acct chdir chown chmod chroot creat delete_module execve fsopen lchown open memfd_create mkdir mknod mq_open
mq_unlink readlink rmdir shmdt statfs swapon swapoff truncate unlink umount utime utimes"""
AT_SECOND = """execveat faccessat faccessat2 finit_module fchmodat fchmodat2 fchownat fgetxattr flistxattr fsetxattr fspick
fremovexattr futimesat inotify_add_watch mkdirat mknodat mount_setattr name_to_handle_at newfstatat openat openat2 open_tree
open_tree_attr readlinkat quotactl syslog statx unlinkat utimensat"""
AT_BOTH = """add_key getxattr lgetxattr lremovexattr link listxattr llistxattr lsetxattr pivot_root removexattr rename
request_key setxattr symlink"""
AT_SECOND_AND_FOURTH = "getxattrat linkat listxattrat move_mount renameat renameat2 removexattrat setxattrat"

USER_ARGUMENTS: dict[str, UserArguments] = {
    **dict.fromkeys(("write", "mq_timedsend", "pwrite64"), UserArguments((1,), 2)),
    **dict.fromkeys(("setdomainname", "sethostname"), UserArguments((0,), 1, True)),
    "kexec_file_load": UserArguments((4,), 3, True),
    **dict.fromkeys(AT_FIRST.split(), UserArguments((0,))),
    **dict.fromkeys(AT_SECOND.split(), UserArguments((1,))),
    **dict.fromkeys(("init_module", "fsconfig"), UserArguments((2,))),
    "fanotify_mark": UserArguments((4,)),
    **dict.fromkeys(AT_BOTH.split(), UserArguments((0, 1))),
    "symlinkat": UserArguments((0, 2)),
    **dict.fromkeys(AT_SECOND_AND_FOURTH.split(), UserArguments((1, 3))),
    "mount": UserArguments((0, 1, 2)),
}
# As x86 and the generic headers number them, in the order in which they print.
OPEN_FLAGS = (
    (0x410000, "O_TMPFILE"), (0x1, "O_WRONLY"), (0x2, "O_RDWR"), (0x40, "O_CREAT"), (0x80, "O_EXCL"), (0x100, "O_NOCTTY"),
    (0x200, "O_TRUNC"), (0x400, "O_APPEND"), (0x800, "O_NONBLOCK"), (0x1000, "O_DSYNC"), (0x4000, "O_DIRECT"),
    (0x8000, "O_LARGEFILE"), (0x10000, "O_DIRECTORY"), (0x20000, "O_NOFOLLOW"), (0x40000, "O_NOATIME"),
    (0x80000, "O_CLOEXEC"),
)  # fmt: skip
TMPFILE = 0x410000


def enter_event(recorder: Recorder, table: SyscallTable, syscall: str) -> SyscallEnterEvent:
    """The event of a call's begin, as this version has it."""
    user = recorder.board.features.syscall_user_data and syscall in USER_ARGUMENTS
    return UserEnterEvent(recorder, table, syscall) if user else SyscallEnterEvent(recorder, table, syscall)


class UserEnterEvent(SyscallEnterEvent):
    """sys_enter_NAME of a call with such arguments."""

    def __init__(self, recorder: Recorder, table: SyscallTable, syscall: str) -> None:
        super().__init__(recorder, table, syscall)
        self.user = USER_ARGUMENTS[syscall]
        self.hits = struct.Struct(f"{self.board.order}{len(self.user.pointers)}I")

    @property
    def strings(self) -> bool:
        """Text, not an array."""
        return self.user.size is None or self.user.string

    def lay_out(self) -> tuple[list[Field], str]:
        """The words, and behind them where each piece of memory is.  syscall_enter_define_fields()."""
        fields, _ = super().lay_out()
        at = self.start + len(self.params) * self.board.word
        for index, pointer in enumerate(self.user.pointers):
            name = f"__{self.params[pointer][1]}_val"
            fields.append(Field("__data_loc char[]", name, at + 4 * index, 4, self.board.char_signed, 2))
        return fields, self._openat_fmt() if self.syscall == "openat" else self._fmt()

    def _fmt(self) -> str:
        texts, values = [], []
        for index, (_, name) in enumerate(self.params):
            text = f"{name}: 0x%0{self.board.word}lx"
            values.append(f"((unsigned long)(REC->{name}))")
            if index in self.user.pointers:
                text += r" \"%s\"" if self.strings else " (%s)"
                val = f"__{name}_val"
                values.append(f"__get_str({val})" if self.strings else f"__print_dynamic_array({val}, 1)")
            texts.append(text)
        return f'"{", ".join(texts)}", {", ".join(values)}'

    def _openat_fmt(self) -> str:
        flags = ", ".join(f'{{ {bit:#x}, "{name}" }}' for bit, name in OPEN_FLAGS if bit != TMPFILE)
        return (
            r'"dfd: 0x%08lx, filename: 0x%08lx \"%s\", flags: %s%s, mode: 0%03o", ((unsigned long)(REC->dfd)), '
            "((unsigned long)(REC->filename)), __get_str(__filename_val), "
            '(REC->flags & ~3) && !(REC->flags & 3) ? "O_RDONLY|" : "",  '
            f'REC->flags ? __print_flags(REC->flags, "|", {flags}) : "O_RDONLY",  ((unsigned long)(REC->mode))'
        )

    # The record

    def compiled(self) -> Callable[[int, int], bool] | None:
        """Memory of the program's is Python's to read."""
        return None

    def record(self, nr: int, args: Sequence[int]) -> bytes:
        """The words, the places and the bytes.  syscall_put_data()."""
        return self._record(nr, args, self.recorder.array.syscall_user_buf_size)

    def _record(self, nr: int, args: Sequence[int], limit: int) -> bytes:
        plain = super().record(nr, args)
        pieces = self._pieces(args, limit)
        places, at = [], len(plain) + self.hits.size
        for piece in pieces:
            places.append(at | len(piece) << 16)
            at += len(piece)
        return b"".join((plain, self.hits.pack(*places), *pieces))

    def perf_record(self, nr: int, args: Sequence[int]) -> bytes:
        """As much as the kernel is built for, whatever the buffer's own size is."""
        return self._record(nr, args, SYSCALL_USER_BUF)

    def _pieces(self, args: Sequence[int], limit: int) -> list[bytes]:
        """sys_fault_user(): what each argument points to; nothing where it cannot be read."""
        memory = self.host.user_mem()
        if memory is None:
            return [b""] * len(self.user.pointers)
        if self.user.size is None:
            return [user_string(memory, args[pointer], limit) for pointer in self.user.pointers]
        size = min(args[self.user.size], FAULT_USER_MAX + 4)
        try:
            return [bytes(memory.read(args[pointer], size))[:limit] for pointer in self.user.pointers]
        except Fault:
            return [b""] * len(self.user.pointers)

    # The line

    @cached_property
    def whole(self) -> struct.Struct:
        """The number, the words, the places."""
        letter = "Q" if self.board.word == 8 else "I"
        return self.packer(f"{len(self.params)}{letter}{len(self.user.pointers)}I")

    def line(self, record: bytes) -> str:
        """`sys_openat(dfd: 18446744073709551516, filename: 0x7f... "/etc/passwd", flags: O_RDONLY|O_CLOEXEC)`."""
        _, *values = self.whole.unpack_from(record.ljust(8 + self.whole.size, b"\0"), 8)
        args, places = values[: len(self.params)], values[len(self.params) :]
        data = [record[place & 0xFFFF : (place & 0xFFFF) + (place >> 16)] for place in places]
        verbose = self.board.options["verbose"]
        if self.syscall == "openat" and not verbose:
            return self._openat_line(args, data[0])
        pieces = []
        for index, ((ctype, name), value) in enumerate(zip(self.params, args)):
            text = argument(ctype if verbose else "", name, value)
            if index in self.user.pointers:
                text += self._shown(data[self.user.pointers.index(index)], args)
            pieces.append(text)
        return f"sys_{self.syscall}({', '.join(pieces)})\n"

    def _shown(self, data: bytes, args: Sequence[int]) -> str:
        if self.strings or self.user.size is None:
            return f' "{cut(data)}"'
        rest = len(data) < args[self.user.size] & 0x7FFFFFFF
        text = f" ({':'.join(f'{byte:02x}' for byte in data)}{', ...' if rest else ''})"
        if not any(0x20 <= byte < 0x7F for byte in data):
            return text
        shown = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)
        return f'{text} "{shown}"{"..." if rest else ""}'

    def _openat_line(self, args: Sequence[int], name: bytes) -> str:
        flags, mode = args[2] & 0xFFFFFFFF, args[3]
        text = f'sys_openat(dfd: {args[0]}, filename: {args[1]} "{cut(name)}", flags: {open_flags(flags)}'
        return f"{text}, mode: 0{mode & 0xFFFFFFFF:03o})\n" if flags & (O_CREAT | TMPFILE) else f"{text})\n"


def cut(data: bytes) -> str:
    """%.*s"""
    return c_string(data)


def open_flags(flags: int) -> str:
    """O_RDONLY is what has no bit; what has no name is a number."""
    if not flags:
        return "O_RDONLY"
    head, words = "" if flags & O_ACCMODE else "O_RDONLY|", []
    for bits, name in OPEN_FLAGS:
        if flags & bits == bits:
            words.append(name)
            flags &= ~bits
    return head + "|".join([*words, *([hex(flags)] if flags else [])])


def user_string(memory: Memory, address: int, limit: int) -> bytes:
    """strncpy_from_user() into the buffer, dots for what does not print, and `...` where it was cut."""
    most = FAULT_USER_MAX + 4
    out = bytearray()
    try:
        while len(out) < most:
            step = min(256 - (address + len(out) & 255), most - len(out))
            chunk = bytes(memory.read(address + len(out), step))
            end = chunk.find(0)
            out += chunk if end < 0 else chunk[:end]
            if end >= 0:
                break
    except Fault:
        return b""
    text = bytes(byte if 0x20 <= byte < 0x7F or byte >= 0xA0 else 0x2E for byte in out)
    size = min(limit, FAULT_USER_MAX)
    return text[:size] + CUT_MARK if len(text) > size else text + b"\0"
