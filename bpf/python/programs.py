"""The kinds of programs: decorator, section that libbpf knows, and what `ctx` and the parameters are."""

from __future__ import annotations

from arch.records import dataclass
from bpf.python.types import INTS, Array, Type


@dataclass(frozen=True)
class Program:
    """One kind.  `context`: "pt_regs" (parameters are the function's arguments, or its result), "typed" and "words"
    (parameters lie one behind the other; kernel pointers may be followed, or not), "record" (members are the event's
    fields), "usdt" (parameters are a static probe's arguments), else the name of a struct of bpf.h.
    """

    section: str
    arguments: int  # texts of the decorator
    context: str
    result: bool = False  # the one parameter is what the function returned


PROGRAMS = {
    "kprobe": Program("kprobe/{}", 1, "pt_regs"),
    "kretprobe": Program("kretprobe/{}", 1, "pt_regs", result=True),
    "uprobe": Program("uprobe/{}", 1, "pt_regs"),
    "uretprobe": Program("uretprobe/{}", 1, "pt_regs", result=True),
    "usdt": Program("usdt/{}", 1, "usdt"),
    "tracepoint": Program("tp/{}/{}", 2, "record"),
    "raw_tracepoint": Program("raw_tp/{}", 1, "words"),
    "tp_btf": Program("tp_btf/{}", 1, "typed"),
    "fentry": Program("fentry/{}", 1, "typed"),
    "fexit": Program("fexit/{}", 1, "typed"),
    "xdp": Program("xdp", 0, "xdp_md"),
    "section": Program("{}", 1, "pt_regs"),
}

_U32 = INTS["u32"]
CONTEXT_STRUCTS: dict[str, tuple[tuple[str, Type], ...]] = {
    "xdp_md": tuple(
        (name, _U32)
        for name in ("data", "data_end", "data_meta", "ingress_ifindex", "rx_queue_index", "egress_ifindex")
    ),
    "sys_enter": (("ent", INTS["u64"]), ("id", INTS["s64"]), ("args", Array(INTS["u64"], 6))),
    "sys_exit": (("ent", INTS["u64"]), ("id", INTS["s64"]), ("ret", INTS["s64"])),
}
PACKET = frozenset({"data", "data_end", "data_meta"})  # members of xdp_md that are pointers, kept in 32 bits
