"""What a verifier is asked, and what it answers.

bpf(2) fills a `VerifyRequest` from the raw attributes of BPF_PROG_LOAD; `bpf/testing/cases.py` fills it from a case file.
The classic verifier (before 4.9) and the modern one take the same request and give the same kind of `Verdict`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from arch.abi.errno import errno_name
from arch.abi.version import NEWEST, KernelVersion
from arch.htmltext import frame, pre
from arch.records import dataclass, field
from bpf.btf import Btf
from bpf.isa.insn import Insn
from bpf.layout import KernelLayout
from bpf.maps.info import KptrField, MapInfo

__all__ = ["ALL_CAPS", "KptrField", "MapInfo", "Verdict", "VerifyRequest"]

ALL_CAPS = frozenset({"sys_admin", "bpf", "perfmon", "net_admin", "sys_boot"})

# Where an instruction stands in the search of check_cfg(), the same in both verifiers: its state, and the edges followed.
DISCOVERED, EXPLORED = 0x10, 0x20
FALLTHROUGH, BRANCH = 1, 2


# (instruction, for each call frame: registers and slots that are read further on, the explored state and this path's as the log
# prints them)
OnPrune = Callable[[int, list[tuple[list[str], str, str]]], object]


class RoomForAux(Protocol):
    """Gives the address of a program's struct bpf_prog_aux, which is made when it is asked for."""

    def __call__(self) -> int: ...
    def free(self) -> None: ...


@dataclass
class VerifyRequest:
    """One BPF_PROG_LOAD, as far as verification goes."""

    insns: list[Insn]
    prog_type: int
    expected_attach_type: int = 0
    prog_flags: int = 0
    gpl_compatible: bool = True
    log_level: int = 0
    log_size: int | None = None  # bytes of the user's buffer with its NUL; None: no limit
    log_buf: int | None = None  # its address; None: not known, taken as good where there is a level
    version: KernelVersion = NEWEST
    caps: frozenset[str] | set[str] = ALL_CAPS
    resolve_map: Callable[[int], MapInfo] | None = None  # fd -> map; KernelError(EBADF or EINVAL)
    fd_array: Sequence[int] | None = None  # for BPF_PSEUDO_MAP_IDX and kernel functions of modules
    byteorder: str = "little"
    word_size: int = 8  # of a kernel pointer, in bytes
    # BTF
    prog_btf: Btf | None = None  # of the program
    func_info: Sequence[tuple[int, int]] = ()  # (instruction, type id)
    line_info: Sequence[tuple[int, int, int, int]] = ()  # (instruction, file name, line text, line << 10 | column)
    core_relos: Sequence[tuple[int, int, int, int]] = ()  # (instruction byte offset, type id, access string, kind)
    vmlinux_btf: Btf | None = None
    attach_btf_id: int = 0
    attach_btf: Btf | None = None  # BTF attach_btf_id belongs to; None: vmlinux_btf
    attach_prog: Any = None  # program whose function is replaced or traced (BPF_PROG_TYPE_EXT, fentry of a program)
    # the machine
    ctx_size: int | None = None  # size of struct pt_regs for kprobe programs; None: x86_64's
    layout: KernelLayout | None = None  # of the kernel's structures; None: of 6.1 on x86_64
    user_regs_size: int | None = None  # of the registers in struct bpf_perf_event_data; None: as ctx_size
    kernel_symbol: Callable[[str], int | None] | None = None  # kallsyms, for BPF_PSEUDO_BTF_ID variables
    prog_aux: RoomForAux | None = None  # makes room for the program's struct bpf_prog_aux
    jit_requested: bool = True
    jit_blinding: bool = False
    jit_needs_zext: bool = False
    strict_alignment: bool = False  # the architecture has no efficient unaligned access
    net_ip_align: int = 0
    is_offloaded: bool = False
    nr_cpus: int = 1  # processors that can be there
    config: frozenset[str] = frozenset()  # kernel options that Debian's kernel lacks
    name: str = ""
    seed: int = 0  # of BPF_F_TEST_RND_HI32
    on_prune: OnPrune | None = None  # told of every path that is cut because an explored state covers it

    def free_aux(self) -> None:
        """The program is gone, or was refused."""
        if self.prog_aux is not None:
            self.prog_aux.free()


@dataclass
class Verdict:
    """What became of a program."""

    ret: int  # 0 or -errno
    log: str = ""
    log_valid: bool = True  # False: refused before the log was begun, nothing is written to the user's buffer
    log_true_size: int = 0  # bytes that a buffer for all of it needs, with the NUL
    insns: list[Insn] = field(default_factory=list)  # the program as rewritten, if accepted
    used_maps: list[MapInfo] = field(default_factory=list)
    insn_processed: int = 0
    stats: dict[str, int] = field(default_factory=dict)
    # what run time needs to know about an accepted program
    subprog_starts: tuple[int, ...] = (0,)  # of the rewritten program
    stack_depths: tuple[int, ...] = ()
    tail_calls: tuple[bool, ...] = ()  # of each function: it reaches a tail call through a function it calls
    func_info: Sequence[tuple[int, int]] = ()  # adjusted to the rewritten program
    line_info: Sequence[tuple[int, int, int, int]] = ()
    map_calls: dict[int, str] = field(default_factory=dict)  # calls that became those of a map's own function, its name
    int_calls: frozenset[int] = frozenset()  # those of them whose function returns an int
    sleepable: bool = False
    throws: bool = False
    exception_callback: int = 0  # where the function begins that gets what is thrown; 0: none
    attach_info: dict[str, Any] = field(default_factory=dict)  # e.g. address and prototype of an fentry target

    def _repr_html_(self) -> str:
        """Yes or no, and the end of the log."""
        title = "accepted" if self.accepted else f"rejected, {errno_name(-self.ret)}"
        return frame(title, pre(self.log.rstrip("\n").split("\n")), f"{self.insn_processed:,} instructions processed")

    @property
    def accepted(self) -> bool:
        """The program would load."""
        return self.ret == 0
