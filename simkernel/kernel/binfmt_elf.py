"""ELF programs: their headers, and the image that execve makes of them.  fs/binfmt_elf.c.

Headers are read field by field as load_elf_binary() does, for 32 and 64 bit and both byte orders.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from arch.abi.elf import (
    AT_BASE,
    AT_CLKTCK,
    AT_EGID,
    AT_ENTRY,
    AT_EUID,
    AT_EXECFN,
    AT_FLAGS,
    AT_GID,
    AT_HWCAP,
    AT_HWCAP2,
    AT_MINSIGSTKSZ,
    AT_NULL,
    AT_PAGESZ,
    AT_PHDR,
    AT_PHENT,
    AT_PHNUM,
    AT_PLATFORM,
    AT_RANDOM,
    AT_SECURE,
    AT_SYSINFO_EHDR,
    AT_UID,
    ET_DYN,
    ET_EXEC,
    PT_INTERP,
    PT_LOAD,
)
from arch.abi.errno import EACCES, EINVAL, EIO, ELIBBAD, ENOEXEC, ENOMEM
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import (
    MAP_ANONYMOUS,
    MAP_FIXED,
    MAP_FIXED_NOREPLACE,
    MAP_GROWSDOWN,
    MAP_PRIVATE,
    PROT_EXEC,
    PROT_READ,
    PROT_WRITE,
)
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.kernel.areas import MappedFile, Vma, page_down, page_up
from simkernel.kernel.exec_open import interpreter
from simkernel.kernel.exec_state import LinuxBinprm
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.mm import Mm
from simkernel.kernel.security import ask_mmap
from simkernel.kernel.user_namespace import munged, user_ns

STACK_PAGES = 33  # what setup_arg_pages() leaves mapped: 128 KiB and a page


@dataclass(frozen=True, slots=True)
class Segment:
    """One program header."""

    kind: int
    flags: int
    offset: int
    vaddr: int
    filesz: int
    memsz: int
    align: int


@dataclass(frozen=True, slots=True)
class ElfHeader:
    """What execve needs of an ELF file."""

    kind: int
    machine: int
    entry: int
    phoff: int
    phentsize: int
    phnum: int
    segments: tuple[Segment, ...]


def parse_elf(k: KernelFace, file: MappedFile, head: bytes) -> ElfHeader:
    """The ELF and program headers; KernelError(ENOEXEC) for another machine or a broken file, EIO if truncated."""
    bits64 = k.arch.elf_class == 2
    order = "<" if k.arch.byteorder == "little" else ">"
    if len(head) < 52 or head[:4] != b"\x7fELF":
        raise KernelError(ENOEXEC)
    if head[4] != k.arch.elf_class or head[5] != (1 if order == "<" else 2):
        raise KernelError(ENOEXEC, "an ELF file of another word size or byte order")
    try:
        fields = struct.unpack_from(order + ("HHIQQQIHHH" if bits64 else "HHIIIIIHHH"), head, 16)
    except struct.error:
        raise KernelError(ENOEXEC) from None
    kind, machine, _, entry, phoff, _, _, _, phentsize, phnum = fields
    if kind not in (ET_EXEC, ET_DYN) or machine != k.arch.elf_machine:
        raise KernelError(ENOEXEC, f"an ELF file of machine {machine}")
    size = 56 if bits64 else 32
    if phentsize != size or not 1 <= phnum <= 65536 // size:
        raise KernelError(ENOEXEC)
    raw = file.read_at(phoff, size * phnum)
    if len(raw) < size * phnum:
        raise KernelError(EIO, "truncated program headers")
    return ElfHeader(kind, machine, entry, phoff, phentsize, phnum, _segments(bytes(raw), bits64, order))


@lru_cache(maxsize=64)  # a shell starts the same few programs again and again
def _segments(raw: bytes, bits64: bool, order: str) -> tuple[Segment, ...]:
    """The program headers."""
    segments = []
    for row in struct.iter_unpack(order + ("IIQQQQQQ" if bits64 else "IIIIIIII"), raw):
        if bits64:
            p_type, flags, offset, vaddr, _, filesz, memsz, align = row
        else:
            p_type, offset, vaddr, _, filesz, memsz, flags, align = row
        segments.append(Segment(p_type, flags, offset, vaddr, filesz, memsz, align))
    return tuple(segments)


@kernel_function("int load_elf_binary(struct linux_binprm *bprm)", source="fs/binfmt_elf.c")
def load_elf_binary(k: KernelFace, address: int) -> Body:
    """Map an ELF file (and its interpreter) and start it.  ENOEXEC leaves the old image; later errors kill."""
    bprm = k.exec.at(address)
    elf = parse_elf(k, bprm.file, bprm.head)
    loads = [s for s in elf.segments if s.kind == PT_LOAD]
    if not loads:
        raise KernelError(ENOEXEC)
    interp_file, interp = yield from _interpreter(k, bprm, elf)
    ret: int = yield k.call("begin_new_exec", address)
    if ret:
        if interp_file is not None:
            interp_file.put()
        return ret
    mm = k.current.mm
    assert mm is not None
    try:
        return _load_image(k, bprm, mm, elf, loads, interp_file, interp)
    except KernelError as error:
        k.signals.force(k.current, 11, 0x80, 0)
        return -error.errno
    finally:
        if interp_file is not None:
            interp_file.put()


def _interpreter(k: KernelFace, bprm: LinuxBinprm, elf: ElfHeader) -> Steps[tuple[MappedFile | None, ElfHeader | None]]:
    """The dynamic linker that PT_INTERP names.  ENOENT when the guest does not have it."""
    for segment in elf.segments:
        if segment.kind == PT_INTERP:
            if not 2 <= segment.filesz <= 4096:
                raise KernelError(ENOEXEC)
            name = bprm.file.read_at(segment.offset, segment.filesz)
            if len(name) != segment.filesz or name[-1]:
                raise KernelError(EIO if len(name) != segment.filesz else ENOEXEC)
            path = name.partition(b"\0")[0]
            if not path:  # the working directory, then
                raise KernelError(EACCES)
            file = yield from interpreter(k, path)
            try:
                return file, parse_elf(k, file, file.read_at(0, 256))
            except KernelError:
                file.put()
                raise KernelError(ELIBBAD) from None
    return None, None


def _protection(flags: int) -> int:
    return (PROT_READ if flags & 4 else 0) | (PROT_WRITE if flags & 2 else 0) | (PROT_EXEC if flags & 1 else 0)


def _map_segments(k: KernelFace, mm: Mm, file: MappedFile, loads: list[Segment], bias: int) -> int:
    """Map PT_LOAD segments; returns the end of the highest (the place of the heap)."""
    end = 0
    for segment in loads:
        if segment.filesz > segment.memsz:
            raise KernelError(ENOEXEC)
        start = bias + segment.vaddr
        if start + segment.memsz > k.mm.layout.task_size or start < k.mm.lowest_fixed():
            raise KernelError(EINVAL)
        prot = _protection(segment.flags)
        low = page_down(start)
        file_end = page_up(start + segment.filesz)
        if segment.filesz:
            if segment.offset + segment.filesz > file.inode.size:
                raise KernelError(EIO, "truncated ELF file")
            pgoff = page_down(segment.offset) // PAGE_SIZE
            ask_mmap(k, file.addr, prot, MAP_PRIVATE | (MAP_FIXED if end else MAP_FIXED_NOREPLACE))
            mm.map(low, file_end - low, prot, MAP_PRIVATE | MAP_FIXED, file, pgoff)
        else:
            file_end = low
        if segment.memsz > segment.filesz:
            _clear_bss(k, mm, start + segment.filesz, file_end, page_up(start + segment.memsz), prot)
        end = max(end, start + segment.memsz)
    return end


def _clear_bss(k: KernelFace, mm: Mm, start: int, file_end: int, end: int, prot: int) -> None:
    """The rest of the last file page is zeroed, further pages are anonymous."""
    if start < file_end and prot & PROT_WRITE:
        k.usercopy.copy_to_user(start, bytes(file_end - start))
    if end > file_end:
        mm.map(file_end, end - file_end, prot, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS)


def _load_image(
    k: KernelFace,
    bprm: LinuxBinprm,
    mm: Mm,
    elf: ElfHeader,
    loads: list[Segment],
    interp_file: MappedFile | None,
    interp: ElfHeader | None,
) -> int:
    task = k.current
    _make_stack(k, mm)
    bias = 0
    if elf.kind == ET_DYN:
        lowest = page_down(loads[0].vaddr)
        span = page_up(max(s.vaddr + s.memsz for s in loads)) - lowest
        base = k.arch.elf_et_dyn_base if interp is not None else mm.free_range(span)
        bias = page_down(base) - lowest
    end = _map_segments(k, mm, bprm.file, loads, bias)
    code = [s for s in loads if s.flags & 1]
    data = [s for s in loads if s.flags & 2] or loads[-1:]
    if code:
        mm.start_code, mm.end_code = bias + code[0].vaddr, bias + code[-1].vaddr + code[-1].filesz
    mm.start_data, mm.end_data = bias + data[0].vaddr, bias + data[-1].vaddr + data[-1].filesz
    mm.start_brk = mm.brk = page_up(end)
    entry, base = bias + elf.entry, 0
    if interp is not None and interp_file is not None:
        entry, base = _map_interpreter(k, mm, interp_file, interp)
    phdr = 0
    for segment in loads:
        if segment.offset <= elf.phoff < segment.offset + segment.filesz:
            phdr = elf.phoff - segment.offset + segment.vaddr + bias
    vdso = k.mm.map_vdso(mm)
    frame = k.arch.calls.largest_frame
    auxv = [
        (AT_SYSINFO_EHDR, vdso) if vdso else None,
        (AT_MINSIGSTKSZ, frame[1]) if frame is not None and k.version.at_least(frame[0]) else None,
        (AT_HWCAP, k.arch.hwcap),
        (AT_PAGESZ, PAGE_SIZE),
        (AT_CLKTCK, 100),
        (AT_PHDR, phdr),
        (AT_PHENT, elf.phentsize),
        (AT_PHNUM, elf.phnum),
        (AT_BASE, base),
        (AT_FLAGS, 0),
        (AT_ENTRY, bias + elf.entry),
        (AT_UID, munged(user_ns(task), "uid", task.cred.uid)),
        (AT_EUID, munged(user_ns(task), "uid", task.cred.euid)),
        (AT_GID, munged(user_ns(task), "gid", task.cred.gid)),
        (AT_EGID, munged(user_ns(task), "gid", task.cred.egid)),
        (AT_SECURE, int(bprm.secure)),
    ]
    sp = _build_stack(k, bprm, mm, [pair for pair in auxv if pair is not None])
    k.mirror.store_mm(mm)
    k.mirror.store_mm_owner(k.current)
    k.threads.start_thread(task, entry, sp)
    return 0


def _map_interpreter(k: KernelFace, mm: Mm, file: MappedFile, elf: ElfHeader) -> tuple[int, int]:
    loads = [s for s in elf.segments if s.kind == PT_LOAD]
    if not loads:
        raise KernelError(ELIBBAD)
    lowest = page_down(loads[0].vaddr)
    bias = 0
    if elf.kind == ET_DYN:
        bias = mm.free_range(page_up(max(s.vaddr + s.memsz for s in loads)) - lowest) - lowest
    _map_segments(k, mm, file, loads, bias)
    return bias + elf.entry, bias + lowest


def _make_stack(k: KernelFace, mm: Mm) -> None:
    top = k.mm.layout.stack_top
    vma = Vma(top - STACK_PAGES * PAGE_SIZE, top, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_GROWSDOWN, name="[stack]")
    vma.soft_dirty = False  # setup_arg_pages() gives it VM_STACK_FLAGS alone
    mm.insert(vma)


def _build_stack(k: KernelFace, bprm: LinuxBinprm, mm: Mm, auxv: list[tuple[int, int]]) -> int:
    """create_elf_tables(): strings at the top, then random bytes, auxv, envp, argv and argc; the stack pointer."""
    word, order = k.arch.word, k.arch.byteorder
    top = k.mm.layout.stack_top

    def put(data: bytes, position: int) -> int:
        k.usercopy.copy_to_user(position, data)
        return position

    position = top - word
    position -= len(bprm.filename) + 1
    execfn = put(bprm.filename + b"\0", position)
    env_text = b"".join(s + b"\0" for s in bprm.envp)
    arg_text = b"".join(s + b"\0" for s in bprm.argv)
    position -= len(env_text)
    mm.env_start, mm.env_end = position, position + len(env_text)
    position -= len(arg_text)
    mm.arg_start, mm.arg_end = position, position + len(arg_text)
    if len(env_text) + len(arg_text) > 6 << 20:
        raise KernelError(ENOMEM)
    put(arg_text + env_text, mm.arg_start)
    position &= ~15
    platform = 0
    if k.arch.elf_platform:
        platform_text = k.arch.elf_platform.encode() + b"\0"
        position -= len(platform_text)
        platform = put(platform_text, position)
    position = (position & ~15) - 16
    auxv.append((AT_RANDOM, put(k.random.randbytes(16), position)))
    told = next((value for since, value in k.arch.hwcap2 if k.version.at_least(since)), None)
    if told is not None:
        auxv.append((AT_HWCAP2, told))
    auxv.append((AT_EXECFN, execfn))
    if platform:
        auxv.append((AT_PLATFORM, platform))
    auxv.append((AT_NULL, 0))
    words: list[int] = [len(bprm.argv)]
    for start, strings in ((mm.arg_start, bprm.argv), (mm.env_start, bprm.envp)):
        for text in strings:
            words.append(start)
            start += len(text) + 1
        words.append(0)
    for tag, value in auxv:
        words += [tag, value]
    sp: int = (position - len(words) * word) & ~15
    data = b"".join(w.to_bytes(word, order) for w in words)
    put(data, sp)
    mm.auxv = b"".join(t.to_bytes(word, order) + v.to_bytes(word, order) for t, v in auxv)
    mm.start_stack = sp
    return sp
