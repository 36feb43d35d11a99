"""What a kernel makes of instructions of user code that its CPU does not do: the signal, its si_code and si_addr.

arch/*/kernel/traps.c.  Addresses and lengths in bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.signal import ILL_ILLOPC, TRAP_BRKPT
from arch.abi.version import KernelVersion
from arch.records import dataclass

Get = Callable[[str], int]  # a field of the saved pt_regs
Read = Callable[[int, int], bytes]  # (address, size): user memory; Fault


@dataclass(frozen=True)
class Refusal:
    """A signal, and by how much the saved program counter goes on; si_addr is where it stood."""

    sig: int
    code: int
    length: int = 0


@dataclass(frozen=True)
class Unhandled:
    """A signal for an exception that its task does not take: what a kernel's line about it may say."""

    version: KernelVersion
    comm: str
    pid: int
    cpu: int
    trap: int  # the exception's number
    ip: int
    sp: int
    error: int
    address: int  # of a page fault
    place: str  # " in name[...]", or nothing where no file is
    opcodes: Callable[[int, int], bytes | None]  # (address, size): user memory; None: it is not there
    sig: int
    code: int  # si_code
    at: int  # si_addr
    get: Get
    machine: tuple[str, str]  # show_regs_print_info(): the task and the kernel, the hardware


@dataclass(frozen=True)
class Complaint:
    """What goes into the kernel log, and the kernel's function that says so."""

    function: str
    lines: tuple[str, ...]
    registers: tuple[str, ...] = ()  # behind the first line, at the level of messages that name none


@dataclass(frozen=True)
class Exceptions:
    """One CPU's column."""

    undefined: int = ILL_ILLOPC  # si_code of an instruction that is none, or is the kernel's
    breakpoint: int = TRAP_BRKPT  # SI_KERNEL: without an address
    fault_mask: int = -1  # the bits of a page fault's address that si_addr has
    alignment_of_data: bool = False  # BUS_ADRALN tells the address of the data, not of the instruction
    # Trap numbers that come as the role "protection" and mean SIGBUS.
    absent_segments: tuple[int, ...] = ()
    software: int | None = (
        None  # from this number on a trap is one that the program may not make: protection, with the number in the error
    )
    software_length: int = 0  # bytes of the instruction that tries
    hole: tuple[int, int] | None = None  # addresses that are none: an access is no page fault, but a protection one
    complain: Callable[[Unhandled], Complaint | None] | None = None  # None: the log has nothing of it
    complains_of_bus: bool = False  # of pages that a file does not have, too
    # (get, read, address of the instruction, somebody traces the task): where the trap's number does not tell; None: it does
    judge: Callable[[Get, Read, int, bool], Refusal | None] | None = None
