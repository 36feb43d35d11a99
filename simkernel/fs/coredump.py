"""Core dumps: an ELF file with the memory and the registers of a process that a signal ends.  fs/coredump.c, fs/binfmt_elf.c.

The first thread whose signal it is writes the file while the others wait at the door of do_exit(); which file, core_pattern says.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator

from arch.abi.elf import (  # fmt: skip
    ELFCLASS32,
    ELFCLASS64,
    ELFDATA2LSB,
    ELFDATA2MSB,
    ELFMAG,
    ET_CORE,
    NT_AUXV,
    NT_FILE,
    NT_PRPSINFO,
    NT_SIGINFO,
    PF_R,
    PF_W,
    PF_X,
    PT_LOAD,
    PT_NOTE,
)
from arch.abi.fcntl import AT_FDCWD, O_CREAT, O_EXCL, O_LARGEFILE, O_NOFOLLOW, O_RDWR
from arch.abi.limits import PAGE_SIZE, U64_MAX
from arch.abi.mman import PROT_EXEC, PROT_READ, PROT_WRITE
from arch.abi.ptrace import NT_PRFPREG, NT_PRSTATUS
from arch.abi.resource import RLIMIT_CORE
from arch.abi.time import NSEC_PER_SEC, NSEC_PER_USEC
from arch.errors import KernelError
from simkernel.fs.copy import kernel_write
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File, Inode
from simkernel.fs.namei_calls import unlink_name
from simkernel.fs.open_walk import Filename, OpenFlags
from simkernel.fs.proc_text import cmdline
from simkernel.fs.truncate import truncate_inode
from simkernel.kernel.areas import VM_DONTDUMP, Vma, page_up
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.mm import Mm
from simkernel.kernel.ptrace.registers import floating, general
from simkernel.kernel.sigpending import SigInfo
from simkernel.kernel.task import PF_DUMPCORE, CoreState, Task

NAME_MAX_TEXT, ARGS_SIZE, COMM_SIZE = 128, 80, 16
# include/linux/sched/coredump.h, as /proc/PID/coredump_filter counts them
MMF_DUMP_ANON_PRIVATE, MMF_DUMP_ANON_SHARED, MMF_DUMP_MAPPED_PRIVATE, MMF_DUMP_MAPPED_SHARED, MMF_DUMP_ELF_HEADERS = (
    1 << number for number in range(5)
)


# -- the file's name --


def format_corename(k: FsKernel, pattern: str, sig: int) -> str:
    """core_pattern with its % words."""
    task, words = k.current, iter(pattern)
    found, pid_in_pattern = "", False
    for char in words:
        if char != "%":
            found += char
            continue
        word = next(words, "")
        pid_in_pattern = pid_in_pattern or word == "p"
        found += _word(k, task, word, sig)
    if not pid_in_pattern and k.vfs.sysctl["kernel.core_uses_pid"]:
        found += f".{k.tasks.vnr(task.tgid)}"
    return found[:NAME_MAX_TEXT]


def _word(k: FsKernel, task: Task, word: str, sig: int) -> str:
    values = {
        "%": "%", "p": str(k.tasks.vnr(task.tgid)), "P": str(task.tgid), "i": str(k.tasks.vnr(task.pid)), "I": str(task.pid),
        "u": str(task.cred.uid), "g": str(task.cred.gid), "d": str(task.dumpable), "s": str(sig),
        "t": str(k.clock.realtime_ns // NSEC_PER_SEC), "h": k.hostname, "e": task.comm.replace("/", "!"),
        "c": str(task.rlimits[RLIMIT_CORE][0] & U64_MAX), "C": str(task.cpu),
    }  # fmt: skip
    if word in "Ef" and word and task.mm is not None and task.mm.exe_file is not None:
        path = task.mm.exe_file.path
        return path.replace("/", "!") if word == "E" else path.rpartition("/")[2]
    return values.get(word, "")


# -- what goes into it --


class Writer:
    """The layout of numbers on this machine."""

    def __init__(self, k: FsKernel) -> None:
        self.word = k.arch.word
        self.order = "<" if k.mem.byteorder == "little" else ">"
        self.long = "Q" if self.word == 8 else "I"

    def pack(self, layout: str, *values: int) -> bytes:
        """`L` is a long here."""
        return struct.pack(self.order + layout.replace("L", self.long), *values)

    def note(self, kind: int, data: bytes, name: bytes = b"CORE\0") -> bytes:
        """struct elf_note, its name and its data."""
        return (
            self.pack("III", len(name), len(data), kind) + name + bytes(-len(name) % 4) + data + bytes(-len(data) % 4)
        )


def _times(w: Writer, ns: int) -> bytes:
    return w.pack("LL", ns // NSEC_PER_SEC, ns % NSEC_PER_SEC // NSEC_PER_USEC)


def prstatus(k: FsKernel, w: Writer, task: Task, sig: int) -> bytes:
    """struct elf_prstatus."""
    number = k.tasks.vnr
    mask = (1 << 8 * w.word) - 1
    pending = task.pending.mask & mask
    head = w.pack("iiihxx", sig, 0, 0, sig) + w.pack("LL", pending, task.blocked & mask)
    head += w.pack("iiii", number(task.pid), number(task.real_parent.pid), number(task.pgid), number(task.session))
    whole = task is task.group_leader
    user = sum(t.utime_ns for t in task.threads) if whole else task.utime_ns
    system = sum(t.stime_ns for t in task.threads) if whole else task.stime_ns
    times = _times(w, user) + _times(w, system) + _times(w, 0) + _times(w, 0)
    registers = general(k, task)
    return head + times + registers + w.pack("i", 1) + bytes(-(len(head + times + registers) + 4) % w.word)


def prpsinfo(k: FsKernel, w: Writer, task: Task) -> bytes:
    """struct elf_prpsinfo."""
    number = k.tasks.vnr
    head = b"\0R\0" + w.pack("b", task.static_prio - 120 if task.static_prio >= 100 else 0) + bytes(w.word - 4)
    ids = w.pack("II" if w.word == 8 else "HH", task.cred.uid, task.cred.gid)
    head += w.pack("L", task.flags) + ids
    head += w.pack("iiii", number(task.pid), number(task.real_parent.pid), number(task.pgid), number(task.session))
    args = cmdline(task)[: ARGS_SIZE - 1].replace(b"\0", b" ")
    name = task.comm.encode("utf-8", "surrogateescape")[:COMM_SIZE]
    return head + name.ljust(COMM_SIZE, b"\0") + args.ljust(ARGS_SIZE, b"\0")


def files_note(k: FsKernel, w: Writer, mm: Mm) -> bytes:
    """NT_FILE: which files are mapped where, as who dumps would name them."""
    mapped = [vma for vma in mm.vmas if isinstance(vma.file, File)]
    places = b"".join(w.pack("LLL", vma.start, vma.end, vma.pgoff) for vma in mapped)
    paths = [k.vfs.d_path(vma.file.f_path) for vma in mapped if isinstance(vma.file, File)]
    names = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
    return w.pack("LL", len(mapped), PAGE_SIZE) + places + names


def notes(k: FsKernel, w: Writer, mm: Mm, info: SigInfo) -> bytes:
    """Registers of all threads, the one that dumps first, and what is said once."""
    me = k.current
    out = w.note(NT_PRSTATUS, prstatus(k, w, me, info.sig)) + w.note(NT_PRPSINFO, prpsinfo(k, w, me))
    out += (
        w.note(NT_SIGINFO, k.signals.siginfo(info)) + w.note(NT_AUXV, mm.auxv) + w.note(NT_FILE, files_note(k, w, mm))
    )
    out += w.note(NT_PRFPREG, floating(k, me))
    for task in me.threads:
        if task is not me:
            out += w.note(NT_PRSTATUS, prstatus(k, w, task, info.sig)) + w.note(NT_PRFPREG, floating(k, task))
    return out


def dumped(k: FsKernel, mm: Mm, vma: Vma) -> int:
    """vma_dump_size(): what coredump_filter asks for; usually what was written, and the first page of programs."""
    whole = vma.end - vma.start
    present = mm.present(vma.start, vma.end)
    asked = mm.dump_filter
    if vma.name == "[vdso]":
        return whole
    if vma.advice & VM_DONTDUMP:
        return 0
    if vma.shared:
        inode = vma.file.inode if vma.file is not None else None
        nameless = not isinstance(inode, Inode) or not inode.i_nlink
        return whole if asked & (MMF_DUMP_ANON_SHARED if nameless else MMF_DUMP_MAPPED_SHARED) else 0
    if vma.file is None:
        return whole if present and asked & MMF_DUMP_ANON_PRIVATE else 0
    inode = vma.file.inode
    if asked & MMF_DUMP_ANON_PRIVATE and any(
        mm.pages[page] != inode.get_page(vma.pgoff + (page - vma.start) // PAGE_SIZE) for page in present
    ):
        return whole
    if asked & MMF_DUMP_MAPPED_PRIVATE:
        return whole
    if not asked & MMF_DUMP_ELF_HEADERS or vma.pgoff or not vma.prot & PROT_READ:
        return 0
    first = k.mem.phys.read(inode.get_page(0), len(ELFMAG)) if not present else mm.peek(vma.start, len(ELFMAG))
    return PAGE_SIZE if first == ELFMAG else 0


def headers(k: FsKernel, w: Writer, sizes: list[tuple[Vma, int]], note_size: int) -> tuple[bytes, int]:
    """The ELF header and the program headers, and where the first page stands."""
    wide = w.word == 8
    ehsize, phsize = (64, 56) if wide else (52, 32)
    ident = ELFMAG + bytes((ELFCLASS64 if wide else ELFCLASS32, ELFDATA2LSB if w.order == "<" else ELFDATA2MSB, 1))
    start = ehsize + phsize * (len(sizes) + 1)
    data = page_up(start + note_size)
    out = ident.ljust(16, b"\0") + w.pack(
        "HHILLLIHHHHHH", ET_CORE, k.arch.elf_machine, 1, 0, ehsize, 0, 0, ehsize, phsize, len(sizes) + 1, 0, 0, 0
    )

    def program(kind: int, flags: int, offset: int, at: int, in_file: int, size: int, align: int) -> bytes:
        if wide:
            return w.pack("IILLLLLL", kind, flags, offset, at, 0, in_file, size, align)
        return w.pack("ILLLLLIL", kind, offset, at, 0, in_file, size, flags, align)

    out += program(PT_NOTE, 0, start, 0, note_size, 0, 0)
    offset = data
    for vma, size in sizes:
        flags = (
            bool(vma.prot & PROT_READ) * PF_R | bool(vma.prot & PROT_WRITE) * PF_W | bool(vma.prot & PROT_EXEC) * PF_X
        )
        out += program(PT_LOAD, flags, offset, vma.start, size, vma.end - vma.start, PAGE_SIZE)
        offset += size
    return out, data


def pieces(k: FsKernel, w: Writer, mm: Mm, info: SigInfo) -> Iterator[tuple[int, bytes]]:
    """elf_core_dump(): (position, bytes); pages that are not there are holes.  The last piece is empty: where the file ends."""
    sizes = [(vma, dumped(k, mm, vma)) for vma in mm.vmas]
    text = notes(k, w, mm, info)
    head, at = headers(k, w, sizes, len(text))
    yield 0, head + text
    for vma, size in sizes:
        for page in mm.present(vma.start, vma.start + size):
            yield at + page - vma.start, mm.peek(page, PAGE_SIZE)
        at += size
    yield at, b""


# -- writing it --


@kernel_function(
    "void do_coredump(const kernel_siginfo_t *siginfo)",
    source="fs/coredump.c",
    names={None: "do_coredump", "6.17": "vfs_coredump"},
)
def do_coredump(k: FsKernel, siginfo: int) -> Body:
    """Stop the other threads, write the file; the exit code says that there is one."""
    task, info = k.current, k.signals.delivering
    signal, mm = task.signal, task.mm
    assert info is not None
    if mm is None or signal.group_exiting or task.dumpable == 0:
        return 0
    k.trace("coredump", info.sig)
    limit = task.rlimits[RLIMIT_CORE][0] & U64_MAX
    pattern: str = k.vfs.sysctl["kernel.core_pattern"]
    core = signal.core = CoreState(task)
    signal.group_exiting, signal.group_exit_code = True, info.sig
    k.mirror.change_flags(task, PF_DUMPCORE)
    k.signals.kill_other_threads(task)
    while any(not thread.past_core for thread in signal.threads if thread is not task):
        yield k.wait(core.arrived, interruptible=False)
    signal.group_exiting = False  # what writes the file is not to be interrupted by this end
    if pattern and not pattern.startswith("|") and limit >= PAGE_SIZE:
        written = yield from _write(k, mm, info, format_corename(k, pattern, info.sig), limit)
        signal.group_exit_code |= 0x80 if written else 0
    signal.group_exiting, signal.core = True, None
    k.wake_up(core.done, 0)
    return 0


def _write(k: FsKernel, mm: Mm, info: SigInfo, name: str, limit: int) -> Steps[bool]:
    try:
        file = yield from _open(k, name)
    except KernelError:
        return False
    if file is None:
        return False
    inode, done = file.f_inode, 0
    if not inode.is_reg or inode.i_nlink != 1 or inode.i_uid != k.current.cred.fsuid:
        k.vfs.put_file(file)
        return False
    for at, data in pieces(k, Writer(k), mm, info):
        if at + len(data) > limit:
            break
        if data and (yield from kernel_write(k, file, at, data)) < 0:
            break
        done = at + len(data)
    if done > inode.i_size:
        yield from truncate_inode(k, inode, done)
    k.vfs.put_file(file)
    return True


def _open(k: FsKernel, path: str) -> Steps[File | None]:
    """A new file in the place of an old one."""
    with contextlib.suppress(KernelError):
        yield from unlink_name(k, AT_FDCWD, path)
    op = OpenFlags(O_CREAT | O_RDWR | O_NOFOLLOW | O_LARGEFILE | O_EXCL, 0o600)
    name = Filename(k, path, 0, op, "do_coredump")
    try:
        ret = yield k.call("do_filp_open", AT_FDCWD & U64_MAX, name.addr, name.op_addr)
    finally:
        name.put()
    return None if k.vfs.is_error(ret) else k.vfs.files[ret & k.vfs.word_mask]
