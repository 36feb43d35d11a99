"""The part of an architecture's facts that only arch/ itself uses: emulator, kernel text, unwinding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from arch.fpstate import FpImage
from arch.native import EmulatorFacts
from arch.records import dataclass, field
from arch.vdso import VdsoFacts

Resolve = Callable[[str], int]


@dataclass(frozen=True)
class Stub:
    """Hand-made text: `build(address, resolve)` gives the code for placement at `address`.

    `resolve(name)` is the address of another symbol.  The length must not depend on either.
    """

    name: str
    build: Callable[[int, Resolve], bytes]
    roles: Mapping[str, int] = field(default_factory=dict)  # role -> offset of its entry in the code


@dataclass(frozen=True)
class TextFacts:
    """Kernel text of one architecture."""

    function: Callable[[int], bytes]  # index -> code of a kernel function
    # The same of one whose body ends by calling another function with the same result: it jumps there.  None: it calls.
    jumping_function: Callable[[int], bytes] | None = field(default=None, kw_only=True)
    stubs: Callable[[Mapping[str, str], Mapping[str, str]], list[Stub]]  # (stub names, handler names by role)
    switch_symbol: str
    fork_symbol: str
    kretprobe_symbol: str
    padding: bytes  # between functions
    # Where a function has no frame of its own: (first offset, end offset, sp at entry minus sp here); negative offsets
    # count from the function's end.
    frameless: tuple[tuple[int, int, int], ...]
    frame_size: int  # bytes between sp at a function's entry and sp at its hypercall
    hypercall_at: (
        int  # offset in a function of its first hypercall: until then arguments are where its caller has put them
    )
    returns_at: int  # offset in a function where what it calls returns to
    # new stack: words from low to high; "pc" is where the task starts, "fn" and "arg" a kernel thread's function
    switch_frame: tuple[str | int, ...]
    capstone_arch: str  # names, for capstone is read when something is to be disassembled
    capstone_modes: tuple[str, ...]
    vdso: bytes = b""  # code that returns from signals, where libc brings none
    shared: VdsoFacts | None = None  # the library that programs find by AT_SYSINFO_EHDR
    nop: bytes = b""


@dataclass(frozen=True)
class FrameFacts:
    """Frame chains, for stack walks.  Offsets from the frame pointer, in bytes."""

    next_frame: int
    return_address: int
    return_in_next: bool = False  # the return address lies at next frame + return_address (s390x back chain)
    user_next_frame: int | None = None  # where user code differs
    user_return_address: int | None = None
    any_user_frame: bool = False  # user frames are followed wherever they lie, aligned and further up or not


@dataclass(frozen=True)
class SegmentFacts:
    """Descriptors of user mode in the global table, by number, and the emulator's register of the local one."""

    first_tls: int
    code: tuple[int, ...]
    data: tuple[int, ...]
    table_register: int
    # Selectors that are no fields of struct pt_regs -> the register with the base, for who has that; i386 has all in pt_regs.
    bases: Mapping[str, str | None] = field(default_factory=dict)
    thread_pointer: bool = False  # clone(2) takes a struct user_desc for it


@dataclass(frozen=True)
class Support:
    """What arch/cpu.py, arch/text.py and arch/unwind.py read."""

    emulator: EmulatorFacts
    text: TextFacts
    frames: FrameFacts
    kernel_constants: tuple[tuple[str, int], ...] = ()  # registers set by Cpu.start, besides pc and sp
    user_constants: tuple[tuple[str, int], ...] = ()
    prepare: Callable[[Any], None] | None = None  # called with the Cpu once: descriptor tables and the like
    tls_register: str = ""
    tls_high_register: str = ""  # where the upper 32 bits of the thread pointer are, if not in the same register
    segments: SegmentFacts | None = None  # where programs have descriptors of their own (x86)
    forbid_counter: Callable[[Any, bool], None] | None = None  # whether reading the time stamp counter traps (x86)
    fp: FpImage | None = None
    user_mode_fields: Mapping[str, int] = field(default_factory=dict)  # pt_regs fields of a new user program
