"""Lines of uprobe_events: `p:NAME PATH:OFFSET(REF) a=%di`.  kernel/trace/trace_uprobe.c, 5.1 and later."""

from __future__ import annotations

import re
from collections.abc import Hashable

from arch.abi.errno import EINVAL
from arch.cstring import kstrto
from arch.errors import KernelError
from tracing.probes.command import MAX_EVENT_NAME_LEN, Command, NotMine
from tracing.probes.fetch_parser import FetchParser
from tracing.probes.table import ProbeTable
from tracing.probes.trace_uprobe import TraceUprobe


def create_uprobe(table: ProbeTable, argv: list[str]) -> None:
    """__trace_uprobe_create()."""
    head = argv[0]
    if head[0] not in "rp" or len(argv) < 2:
        raise NotMine
    is_return = head[0] == "r"
    event_text = head[2:] if head[1:2] == ":" else None
    if "/" not in argv[1]:
        raise NotMine
    path, colon, place = argv[1].rpartition(":")
    if not colon or not place[:1].isdigit():
        raise NotMine
    command = Command(table.board, "trace_uprobe", argv)
    command.index = 1
    inode = resolve_path(table, command, path)
    offset, ref_ctr, is_return = parse_place(table, command, place, len(path) + 1, is_return)
    command.index = 0
    group, event = "uprobes", None
    if event_text is not None:
        group, event = command.parse_name(event_text, 2, group)
    if event is None:
        tail = re.split(r"[.\-_]", path.rsplit("/", 1)[-1], maxsplit=1)[0]
        event = f"p_{tail}_0x{offset:x}"[: MAX_EVENT_NAME_LEN - 1]
    parser = FetchParser(table.board, False, is_return)
    args = command.parse_args(parser)
    probe = TraceUprobe(table.recorder, table.uprobes, args, is_return, path, inode, offset, ref_ctr)
    table.register_uprobe(command, probe, group, event)


def resolve_path(table: ProbeTable, command: Command, path: str) -> Hashable:
    """The inode of the path; ENOENT, EINVAL, each with its message."""
    try:
        return table.uprobes.user_spaces().resolve_path(path)
    except KernelError as error:
        code = "NO_REGULAR_FILE" if error.errno == EINVAL else "FILE_NOT_FOUND"
        raise command.fail(code, 0, error.errno) from None


def parse_place(table: ProbeTable, command: Command, place: str, at: int, is_return: bool) -> tuple[int, int, bool]:
    """OFFSET[%return][(REF)]: (offset, reference counter offset, is_return)."""
    ref_ctr = 0
    brace = place.find("(")
    if brace >= 0:
        close = place.find(")", brace)
        if close < 0:
            raise command.fail("REFCNT_OPEN_BRACE", at + len(place))
        if place[close + 1 :]:
            raise command.fail("BAD_REFCNT_SUFFIX", at + close + 1)
        try:
            ref_ctr = kstrto(place[brace + 1 : close], 0, 8 * table.board.word, False)
        except KernelError as error:
            raise command.fail("BAD_REFCNT", at + brace + 1, error.errno) from None
        place = place[:brace]
    percent = place.find("%")
    if percent >= 0:
        if place[percent:] != "%return":
            raise command.fail("BAD_ADDR_SUFFIX", at + percent)
        place, is_return = place[:percent], True
    try:
        return kstrto(place, 0, 8 * table.board.word, False), ref_ctr, is_return
    except KernelError as error:
        raise command.fail("BAD_UPROBE_OFFS", at, error.errno) from None
