"""Lines of kprobe_events: `p:NAME SYM+OFF a=%di`, `r4:NAME SYM $retval`.  kernel/trace/trace_kprobe.c, 5.1 and later."""

from __future__ import annotations

import re

from arch.abi.errno import EADDRNOTAVAIL, EEXIST, EILSEQ, EINVAL, ENOENT, ENOMEM
from arch.abi.limits import UINT_MAX
from arch.cstring import kstrto
from arch.errors import KernelError
from tracing.probes.btf_args import of_function
from tracing.probes.command import MAX_EVENT_NAME_LEN, Command, NotMine
from tracing.probes.fetch_parser import FetchParser, split_symbol_offset
from tracing.probes.kprobes import KRETPROBE_MAXACTIVE_MAX
from tracing.probes.table import ProbeTable
from tracing.probes.trace_kprobe import TraceKprobe


def sanitize(name: str) -> str:
    """sanitize_event_name(): no dots, colons and asterisks."""
    return name[:1] + re.sub(r"[:.*]", "_", name[1:])


def create_kprobe(table: ProbeTable, argv: list[str]) -> None:
    """__trace_kprobe_create()."""
    head = argv[0]
    if head[0] not in "rp" or len(argv) < 2:
        raise NotMine
    is_return = head[0] == "r"
    command = Command(table.board, "trace_kprobe", argv)
    colon = head.find(":", 1)
    event_text = head[colon + 1 :] if colon >= 0 else None
    maxactive = parse_maxactive(command, head, colon, is_return)
    symbol, offset, addr = "", 0, 0
    on_entry = False
    try:
        addr = kstrto(argv[1], 0, 8 * table.board.word, False)
    except KernelError:
        command.index = 1
        symbol, offset, is_return, on_entry = parse_symbol(table, command, argv[1], is_return)
        check_symbol(table, command, symbol)
    command.index = 0
    group, event = "kprobes", None
    if event_text is not None:
        group, event = command.parse_name(event_text, colon + 1, group)
    if event is None:
        letter = "r" if is_return else "p"
        point = f"{symbol}_{offset}" if symbol else f"0x{table.board.addresses.pointer(addr)}"
        event = sanitize(f"{letter}_{point}"[: MAX_EVENT_NAME_LEN - 1])
    signature = of_function(table.board, symbol) if on_entry or is_return else None
    parser = FetchParser(table.board, True, is_return, on_entry, signature)
    args = command.parse_args(parser)
    probe = TraceKprobe(table.recorder, table.kprobes, args, is_return, symbol, offset, addr, maxactive)
    try:
        table.register_kprobe(command, probe, parser, group, event)
    except KernelError as error:
        command.index = 1
        if error.errno == EILSEQ:
            command.log("Probe point is not an instruction boundary", 0)
        elif error.errno == ENOENT:
            command.log("Invalid probed address or symbol", 0)
        elif error.errno not in (ENOMEM, EEXIST):
            command.log("Failed to register probe event", 0)
        raise


def check_symbol(table: ProbeTable, command: Command, symbol: str) -> None:
    """number_of_same_symbols(): a name that no symbol of the kernel has, or several."""
    by_parser = table.board.features.symbol_checked_by_parser
    if table.shared(symbol):
        raise command.fail("NON_UNIQ_SYMBOL", 0, EINVAL if by_parser else EADDRNOTAVAIL) from None
    if ":" not in symbol and table.host.symbols.address(symbol) is None and not table.known(symbol):
        raise command.fail("BAD_PROBE_ADDR", 0, EINVAL if by_parser else ENOENT) from None


def parse_maxactive(command: Command, head: str, colon: int, is_return: bool) -> int:
    """rN, fN: how many calls may be under way, at most 4096; 0 where it is not given."""
    if not head[1:2].isdigit():
        return 0
    if not is_return:
        raise command.fail("BAD_MAXACT_TYPE" if command.board.features.fprobe_events else "MAXACT_NO_KPROBE", 1)
    number = head[1:colon] if colon >= 0 else head[1:]
    try:
        value = kstrto(number, 0, 32, False) if len(number) < MAX_EVENT_NAME_LEN else 0
    except KernelError:
        value = 0
    if not value:
        raise command.fail("BAD_MAXACT", 1)
    if value > KRETPROBE_MAXACTIVE_MAX:
        raise command.fail("MAXACT_TOO_BIG", 1)
    return value


def parse_symbol(table: ProbeTable, command: Command, word: str, is_return: bool) -> tuple[str, int, bool, bool]:
    """(symbol, offset, is_return, on a function's entry)."""
    if "/" in word and ":" in word:
        raise NotMine
    percent = word.find("%")
    if percent >= 0:
        if word[percent:] != "%return":
            raise command.fail("BAD_ADDR_SUFFIX", percent)
        word, is_return = word[:percent], True
    try:
        symbol, offset = split_symbol_offset(word, 8 * table.board.word)
    except KernelError:
        raise command.fail("BAD_PROBE_ADDR", 0) from None
    if offset < 0 or offset > UINT_MAX:
        raise command.fail("BAD_PROBE_ADDR", 0)
    address = table.host.symbols.address(symbol)
    on_entry = address is not None and not offset
    if address is not None and offset and is_return:
        raise command.fail("BAD_RETPROBE", 0)
    return symbol, offset, is_return, on_entry
