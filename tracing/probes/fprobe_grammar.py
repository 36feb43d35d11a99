"""Lines of dynamic_events for functions and tracepoints: `f:NAME FUNC%return $retval`, `t:NAME TRACEPOINT next->pid`.  trace_fprobe.c, 6.5."""

from __future__ import annotations

import re

from arch.abi.errno import EINVAL, ENOENT
from arch.errors import KernelError
from tracing.probes.args import Op
from tracing.probes.btf_args import of_function, of_tracepoint
from tracing.probes.command import MAX_EVENT_NAME_LEN, Command, NotMine
from tracing.probes.fetch_parser import FetchParser
from tracing.probes.kprobe_grammar import parse_maxactive, sanitize
from tracing.probes.table import ProbeTable
from tracing.probes.trace_fprobe import TraceFprobe, TraceTprobe

RETVAL = re.compile(r"\$retval(?![A-Za-z0-9_])")


class FprobeParser(FetchParser):
    """Arguments at a function's ends: no registers."""

    with_registers = False


class TracepointParser(FprobeParser):
    """Arguments of a tracepoint."""

    def argument(self, index: int) -> Op:
        """They come with the hit."""
        return Op("edata", index)


def create_fprobe(table: ProbeTable, argv: list[str]) -> None:
    """trace_fprobe_create_internal()."""
    head = argv[0]
    if head[0] not in "ft" or len(argv) < 2 or not table.board.features.fprobe_events:
        raise NotMine
    at_tracepoint = head[0] == "t"
    command = Command(table.board, "trace_fprobe", argv)
    colon = head.find(":", 1)
    if table.board.features.fprobes_by_graph and head[1:2] not in ("", ":"):
        raise command.fail("BAD_MAXACT", 1)
    command.index = 1
    symbol, is_return = parse_symbol(command, argv, at_tracepoint)
    command.index = 0
    maxactive = parse_maxactive(command, head, colon, is_return)
    group, event = "tracepoints" if at_tracepoint else "fprobes", None
    if colon >= 0:
        group, event = command.parse_name(head[colon + 1 :], colon + 1, group)
    if at_tracepoint:
        create_at_tracepoint(table, command, symbol, group, event)
        return
    event = event or sanitize(f"{symbol}__{'exit' if is_return else 'entry'}"[: MAX_EVENT_NAME_LEN - 1])
    names = (
        [] if re.match(r"\d", symbol) and not re.fullmatch(r"0[xX][0-9a-fA-F]+|\d+", symbol) else table.match(symbol)
    )
    if not names and table.board.features.fprobes_by_graph:
        command.index = 1
        raise command.fail("BAD_PROBE_ADDR", 0)
    parser = FprobeParser(table.board, True, is_return, not is_return, of_function(table.board, symbol))
    args = command.parse_args(parser)
    probe = TraceFprobe(table.recorder, table.kprobes, args, is_return, symbol, names, maxactive)
    register(table, command, probe, parser, group, event)


def create_at_tracepoint(table: ProbeTable, command: Command, symbol: str, group: str, event: str | None) -> None:
    """An event at a tracepoint."""
    event = event or ("_" if symbol[0].isdecimal() else "") + symbol
    point = table.tracepoint(symbol)
    if point is None and not table.board.features.tracepoints_to_come:
        command.index = 1
        raise command.fail("NO_TRACEPOINT", 0, ENOENT)
    known = None if point is None else of_tracepoint(table.board, point.params)
    parser = TracepointParser(table.board, True, False, True, known)
    args = command.parse_args(parser)
    probe = TraceTprobe(table.recorder, args, symbol, point)
    register(table, command, probe, parser, group, event)


def register(
    table: ProbeTable, command: Command, probe: TraceFprobe | TraceTprobe, parser: FetchParser, group: str, event: str
) -> None:
    """register_trace_fprobe_event(), and what is said when that fails."""
    try:
        table.register_fprobe(command, probe, parser, group, event)
    except KernelError as error:
        if error.errno == EINVAL:
            command.index = 1
            command.log("Failed to register probe event", 0)
        if table.board.features.fprobes_by_graph:
            raise KernelError(EINVAL, error.why) from None
        raise


def parse_symbol(command: Command, argv: list[str], at_tracepoint: bool) -> tuple[str, bool]:
    """parse_symbol_and_return(): (function or tracepoint, at its return); an argument with $retval means the return, too."""
    word = argv[1]
    symbol, percent, suffix = word.partition("%")
    if percent:
        if at_tracepoint or suffix != "return":
            raise command.fail("BAD_ADDR_SUFFIX", len(symbol))
        return symbol, True
    if at_tracepoint:
        odd = re.search(r"[^A-Za-z0-9_]", symbol)
        if odd is not None:
            raise command.fail("BAD_TP_NAME", odd.start())
    for index, argument in enumerate(argv[2:], 2):
        found = RETVAL.search(argument)
        if found is not None:
            if at_tracepoint:
                command.index = index
                raise command.fail("RETVAL_ON_PROBE", found.start())
            return symbol, True
    return symbol, False
