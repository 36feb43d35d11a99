"""How a tracepoint with an event is declared: TRACE_EVENT of include/linux/tracepoint.h, as a table row.

`entry` lists TP_STRUCT__entry, each field beside what TP_fast_assign stores in it (tracing/record/assign.py).  `print` is
TP_printk as user space sees it in the `format` file, with a few macros of the kernel's headers left unexpanded so
that it can be read.  `since`/`until` say for which versions the row holds; a name may have several rows.

`held` is what the callers of the tracepoint hold in the real kernel, which the latency columns show; recorded from 6.1 in
process context (interrupt context comes from where the machine is).

The kernel's functions always fire a tracepoint with the arguments of its row of 6.1, and behind them those that only a later
kernel has (`fired`); a row of another version says in `args` how its own arguments come from those.
"""

from __future__ import annotations

import re
from dataclasses import replace

from arch.abi.version import KernelVersion
from arch.records import dataclass
from tracing.face import TRACE_FLAG_BH_OFF, TRACE_FLAG_IRQS_OFF
from tracing.record.assign import split_proto
from tracing.text.gfp import SHOW_GFP_FLAGS, SHOW_GFP_FLAGS_4_1

IRQS, BH = TRACE_FLAG_IRQS_OFF, TRACE_FLAG_BH_OFF  # for `held`
NEVER = "never fires"  # for `missing`


@dataclass(frozen=True)
class TraceEventDecl:
    """One tracepoint with its event."""

    system: str
    name: str
    proto: str
    entry: tuple[tuple[str, str], ...]
    print: str
    args: str | None = None  # over the arguments it is fired with; None: those of the same name
    since: str | None = None  # first kernel with it: with the event in the newest row, with that shape in an older one
    until: str | None = None  # first kernel without that shape
    fired: str = ""  # the arguments of a later kernel, behind those of `proto`: of the row of 6.1 alone
    writable: int = 0  # bytes of the first argument's memory that programs may write: DECLARE_EVENT_WRITABLE
    cap_any: bool = False  # TRACE_EVENT_FL_CAP_ANY: unprivileged tasks may use it through perf
    held: tuple[int, int] = (0, 0)  # TRACE_FLAG_* and preempt depth of the place that fires it
    missing: str = ""  # what the machine does not do of it, for docs/events.md

    def holds(self, version: KernelVersion) -> bool:
        """Is this the shape of the event in a kernel of this version?"""
        return version.within(self.since, self.until)

    def like(
        self, name: str, proto: str | None = None, *, entry: tuple[tuple[str, str], ...] | None = None,
        args: str | None = None, since: str | None = None, until: str | None = None, held: tuple[int, int] = (0, 0),
        missing: str = "",
    ) -> TraceEventDecl:  # fmt: skip
        """DEFINE_EVENT: another event of the same class; what is not given is the class's, but for versions and place."""
        return replace(
            self, name=name, proto=proto if proto is not None else self.proto,
            entry=entry if entry is not None else self.entry, args=args, since=since, until=until, held=held,
            fired="", missing=missing,
        )  # fmt: skip

    @property
    def params(self) -> list[tuple[str, str]]:
        """TP_PROTO as (C type, name) pairs."""
        return split_proto(self.proto)

    @property
    def fired_proto(self) -> str:
        """What the kernel's functions fire it with."""
        return f"{self.proto}, {self.fired}" if self.fired else self.proto


def symbols(text: str) -> str:
    """The braces of a __print_symbolic() table of consecutive numbers from 1: "A B" -> { 1, "A" }, { 2, "B" }."""
    return ", ".join(f'{{ {i}, "{name}" }}' for i, name in enumerate(text.split(), 1))


_TCP_STATES = (
    "TCP_ESTABLISHED TCP_SYN_SENT TCP_SYN_RECV TCP_FIN_WAIT1 TCP_FIN_WAIT2 TCP_TIME_WAIT TCP_CLOSE TCP_CLOSE_WAIT "
    "TCP_LAST_ACK TCP_LISTEN TCP_CLOSING TCP_NEW_SYN_RECV"
)
_DROP_REASONS = """NOT_SPECIFIED NO_SOCKET PKT_TOO_SMALL TCP_CSUM SOCKET_FILTER UDP_CSUM NETFILTER_DROP OTHERHOST
 IP_CSUM IP_INHDR IP_RPFILTER UNICAST_IN_L2_MULTICAST XFRM_POLICY IP_NOPROTO SOCKET_RCVBUFF PROTO_MEM TCP_MD5NOTFOUND
 TCP_MD5UNEXPECTED TCP_MD5FAILURE SOCKET_BACKLOG TCP_FLAGS TCP_ZEROWINDOW TCP_OLD_DATA TCP_OVERWINDOW TCP_OFOMERGE
 TCP_RFC7323_PAWS TCP_INVALID_SEQUENCE TCP_RESET TCP_INVALID_SYN TCP_CLOSE TCP_FASTOPEN TCP_OLD_ACK TCP_TOO_OLD_ACK
 TCP_ACK_UNSENT_DATA TCP_OFO_QUEUE_PRUNE TCP_OFO_DROP IP_OUTNOROUTES BPF_CGROUP_EGRESS IPV6DISABLED NEIGH_CREATEFAIL
 NEIGH_FAILED NEIGH_QUEUEFULL NEIGH_DEAD TC_EGRESS QDISC_DROP CPU_BACKLOG XDP TC_INGRESS UNHANDLED_PROTO SKB_CSUM
 SKB_GSO_SEG SKB_UCOPY_FAULT DEV_HDR DEV_READY FULL_RING NOMEM HDR_TRUNC TAP_FILTER TAP_TXFILTER ICMP_CSUM
 INVALID_PROTO IP_INADDRERRORS IP_INNOROUTES PKT_TOO_BIG TC_CHAIN_NOTFOUND MAX"""
_HRTIMER_MODES = (
    "ABS REL ABS_PINNED REL_PINNED ABS_SOFT REL_SOFT ABS_PINNED_SOFT REL_PINNED_SOFT ABS_HARD REL_HARD "
    "ABS_PINNED_HARD REL_PINNED_HARD"
)
_INODE_STATES = (
    (0, "I_DIRTY_SYNC"), (1, "I_DIRTY_DATASYNC"), (2, "I_DIRTY_PAGES"), (3, "I_NEW"), (4, "I_WILL_FREE"), (5, "I_FREEING"),
    (6, "I_CLEAR"), (7, "I_SYNC"), (11, "I_DIRTY_TIME"), (8, "I_REFERENCED"),
)  # fmt: skip
_TASK_STATES = "0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040"

MACROS: dict[str, tuple[tuple[str, ...], str]] = {
    # name: (parameters, text)
    "MAJOR": (("dev",), "((unsigned int) ((dev) >> 20))"),
    "MINOR": (("dev",), "((unsigned int) ((dev) & ((1U << 20) - 1)))"),
    "TASK_REPORT_MAX": ((), f"((({_TASK_STATES}) + 1) << 1)"),
    "TASK_REPORT_MAX_5": ((), f"((({_TASK_STATES.replace('0x000000', '0x00')}) + 1) << 1)"),
    "show_gfp_flags": (("flags",), SHOW_GFP_FLAGS),
    "show_gfp_flags_4_1": (("flags",), SHOW_GFP_FLAGS_4_1),
    "show_tcp_state_name": (
        ("val",),
        "__print_symbolic(val, " + symbols(_TCP_STATES) + ")",
    ),
    # net/tcp events print the names of the enum instead of its numbers: the kernel forgot TRACE_DEFINE_ENUM there.
    "show_tcp_state_enum": (
        ("val",),
        "__print_symbolic(val, " + ", ".join(f'{{ {name}, "{name}" }}' for name in _TCP_STATES.split()) + ")",
    ),
    "show_family_name": (("val",), '__print_symbolic(val, { 2, "AF_INET" }, { 10, "AF_INET6" })'),
    "show_inode_state": (
        ("state",),
        '__print_flags(state, "|", '
        + ", ".join(f'{{(1 << {bit}), "{name}"}}' for bit, name in _INODE_STATES)
        + " )",
    ),
    "show_inet_protocol_name": (
        ("val",),
        '__print_symbolic(val, { 6, "IPPROTO_TCP" }, { 33, "IPPROTO_DCCP" }, { 132, "IPPROTO_SCTP" }, '
        '{ 262, "IPPROTO_MPTCP" })',
    ),
    "show_drop_reason": (("val",), "__print_symbolic(val, " + symbols(_DROP_REASONS) + ")"),
    "show_softirq_name": (
        ("val",),
        '__print_symbolic(val, { 0, "HI" }, ' + symbols("TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU")
        + ")",
    ),
    "show_softirq_name_4_1": (
        ("val",),
        '__print_symbolic(val, { 0, "HI" }, '
        + symbols("TIMER NET_TX NET_RX BLOCK BLOCK_IOPOLL TASKLET SCHED HRTIMER RCU") + ")",
    ),
    "decode_clockid": (
        ("type",),
        '__print_symbolic(type, { 0, "CLOCK_REALTIME" }, { 1, "CLOCK_MONOTONIC" }, { 7, "CLOCK_BOOTTIME" }, '
        '{ 11, "CLOCK_TAI" })',
    ),
    "decode_hrtimer_mode": (
        ("mode",),
        "__print_symbolic(mode, "
        + ", ".join(f'{{ HRTIMER_MODE_{name}, "{name.replace("_", "|")}" }}' for name in _HRTIMER_MODES.split())
        + ")",
    ),
}  # fmt: skip


def expand(text: str) -> str:
    """Replace the macros, as the preprocessor does; arguments may hold balanced parentheses."""
    pattern = re.compile(r"\b(" + "|".join(MACROS) + r")\b(\()?")
    position = 0
    out = []
    while (match := pattern.search(text, position)) is not None:
        out.append(text[position : match.start()])
        params, body = MACROS[match[1]]
        position = match.end(1)
        if params:
            argument, position = balanced(text, match.end(1))
            body = argument.join(re.split(rf"\b{params[0]}\b", body))
        out.append(body)
    return "".join([*out, text[position:]])


def balanced(text: str, start: int) -> tuple[str, int]:
    """The text inside the parentheses that open at `start`, and where they end."""
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] == "(") - (text[index] == ")")
        if not depth:
            return text[start + 1 : index], index + 1
    raise ValueError(f"unbalanced: {text[start : start + 40]!r}")
