"""The lines of kprobe_events and uprobe_events before 5.1: other names, other messages (in the kernel log, not error_log).

v4.1 kernel/trace/trace_kprobe.c:create_trace_kprobe(), trace_uprobe.c:create_trace_uprobe().
"""

from __future__ import annotations

import re

from arch.abi.errno import EILSEQ, EINVAL, ENOENT
from arch.cstring import kstrto
from arch.errors import KernelError
from tracing.probes.args import MAX_TRACE_ARGS, ProbeArg
from tracing.probes.command import MAX_EVENT_NAME_LEN
from tracing.probes.errors import ProbeError
from tracing.probes.fetch_parser import FetchParser, FetchParser41
from tracing.probes.table import ProbeTable
from tracing.probes.trace_kprobe import KprobeEvent, TraceKprobe
from tracing.probes.trace_uprobe import TraceUprobe, UprobeEvent
from tracing.text.strings import is_good_name


def run(table: ProbeTable, argv: list[str], kind: str) -> None:
    """create_trace_kprobe(), create_trace_uprobe() of 4.1: a new definition replaces the old one of that name."""
    head = argv[0]
    if head[0] not in "pr-":
        raise refuse(table, "Probe definition must be started with 'p', 'r' or '-'.")
    group, event = f"{kind}s", ""
    if head[1:2] == ":":
        event = head[2:]
        if "/" in event:
            group, event = event.split("/", 1)
            if not group:
                raise refuse(table, "Group name is not specified")
        if not event:
            raise refuse(table, "Event name is not specified")
    if head[0] == "-":
        if not event:
            raise refuse(table, "Delete command needs an event name.")
        old = table.find(kind, group, event)
        if old is None:
            raise refuse(table, f"Event {group}/{event} doesn't exist.", ENOENT)
        for probe in list(old.probes):
            table.remove(probe)
        return
    if len(argv) < 2:
        raise refuse(table, "Probe point is not specified.")
    if kind == "kprobe":
        create_kprobe(table, argv, group, event, head[0] == "r")
    else:
        create_uprobe(table, argv, group, event, head[0] == "r")


def refuse(table: ProbeTable, message: str, errno: int = EINVAL) -> KernelError:
    """Say it in the kernel log, and give the error to raise."""
    table.host.pr(6, message)
    return KernelError(errno, message)


def parse_args(table: ProbeTable, argv: list[str], parser: FetchParser) -> list[ProbeArg]:
    """The words behind the place; messages go to the kernel log."""
    args: list[ProbeArg] = []
    for index, word in enumerate(argv[2 : 2 + MAX_TRACE_ARGS]):
        try:
            args.append(parser.parse(index, word, args))
        except ProbeError as error:
            name = word.partition("=")[0] if "=" in word else f"arg{index + 1}"
            messages = {
                "BAD_ARG_NAME": f"Invalid argument[{index}] name: {name}",
                "NO_ARG_NAME": f"Invalid argument[{index}] name: {name}",
                "USED_ARG_NAME": f"Argument[{index}] name '{name}' conflicts with another field.",
            }
            message = messages.get(error.code, f"Parse error at argument[{index}]. ({-error.errno})")
            raise refuse(table, message, error.errno) from None
        except KernelError as error:
            table.host.pr(6, error.why or f"Parse error at argument[{index}]. ({-error.errno})")
            raise
    return args


def create_kprobe(table: ProbeTable, argv: list[str], group: str, event: str, is_return: bool) -> None:
    """create_trace_kprobe(): EINVAL, ENOENT, and what registering says."""
    symbol, offset, addr = "", 0, 0
    point = argv[1]
    if point[0].isdigit():
        if is_return:
            raise refuse(table, "Return probe point must be a symbol.")
        try:
            addr = kstrto(point, 0, 8 * table.board.word, False)
        except KernelError as error:
            raise refuse(table, "Failed to parse address.", error.errno) from None
    else:
        symbol, plus, rest = point.partition("+")
        try:
            offset = kstrto(rest, 0, 8 * table.board.word, False) if plus else 0
        except KernelError as error:
            raise refuse(table, "Failed to parse symbol.", error.errno) from None
        if offset and is_return:
            raise refuse(table, "Return probe must be used without offset.")
    if not event:
        letter = "r" if is_return else "p"
        event = f"{letter}_{symbol}_{offset}" if symbol else f"{letter}_0x{addr:0{2 * table.board.word}x}"
        event = event[: MAX_EVENT_NAME_LEN - 1]
    if not is_good_name(event) or not is_good_name(group):
        raise refuse(table, f"Failed to allocate trace_probe.({-EINVAL})")
    parser = FetchParser41(table.board, True, is_return)
    args = parse_args(table, argv, parser)
    probe = TraceKprobe(table.recorder, table.kprobes, args, is_return, symbol, offset, addr, 0)
    forget(table, "kprobe", group, event)
    probe.event = KprobeEvent(table.recorder, group, event, args, is_return)
    table.events.add(probe.event)
    try:
        parser.resolve_symbols(args)
        probe.recompile()
        probe.register()
    except KernelError as error:
        if error.errno == ENOENT and ":" in symbol:
            table.host.pr(4, "This probe might be able to register aftertarget module is loaded. Continue.")
        else:
            table.events.remove(probe.event)
            if error.errno == EILSEQ:
                address = (table.host.symbols.address(symbol) or 0) + offset
                table.host.pr(4, f"Probing address(0x{address:016x}) is not an instruction boundary.")
                raise KernelError(EINVAL, error.why) from None
            table.host.pr(4, f"Could not insert probe at {symbol}+{offset}: {-error.errno}")
            raise
    probe.event.probes.append(probe)
    table.probes.append(probe)


def create_uprobe(table: ProbeTable, argv: list[str], group: str, event: str, is_return: bool) -> None:
    """create_trace_uprobe(): EINVAL, ENOENT."""
    path, colon, place = argv[1].partition(":")
    if not colon or not place[:1].isdigit():
        raise refuse(table, "probe point must be have a filename.")
    inode = table.uprobes.user_spaces().resolve_path(path)
    offset = kstrto(place, 0, 8 * table.board.word, False)
    if not event:
        tail = re.split(r"[.\-_]", path.rsplit("/", 1)[-1], maxsplit=1)[0]
        event = f"p_{tail}_0x{offset:x}"
    if not is_good_name(event) or not is_good_name(group):
        raise refuse(table, f"Failed to allocate trace_uprobe.({-EINVAL})")
    parser = FetchParser41(table.board, False, is_return)
    probe = TraceUprobe(
        table.recorder, table.uprobes, parse_args(table, argv, parser), is_return, path, inode, offset, 0
    )
    forget(table, "uprobe", group, event)
    probe.event = UprobeEvent(table.recorder, group, event, probe.args, is_return)
    table.events.add(probe.event)
    probe.event.probes.append(probe)
    table.probes.append(probe)


def forget(table: ProbeTable, kind: str, group: str, event: str) -> None:
    """A definition of the same name goes.  EBUSY."""
    old = table.find(kind, group, event)
    if old is not None:
        for probe in list(old.probes):
            table.remove(probe)
