"""One line of kprobe_events, uprobe_events or dynamic_events, split into words, and how its errors are told.

kernel/trace/trace_probe.c: trace_probe_log_*(), traceprobe_parse_event_name().
"""

from __future__ import annotations

import re

from arch.abi.errno import ECANCELED, EINVAL
from arch.errors import KernelError
from tracing.board import Board
from tracing.probes.args import MAX_TRACE_ARGS, ProbeArg
from tracing.probes.btf_args import WordError, expand_args, expand_dentries
from tracing.probes.errors import ProbeError
from tracing.probes.fetch_parser import FetchParser
from tracing.text.strings import is_good_name

MAX_EVENT_NAME_LEN = 64


class NotMine(KernelError):
    """-ECANCELED of a create function: the line is of another kind."""

    def __init__(self) -> None:
        super().__init__(ECANCELED, "not this kind of definition")


class Command:
    """One line split into words, and where the parser is (trace_probe_log)."""

    def __init__(self, board: Board, subsystem: str, argv: list[str]) -> None:
        self.board = board
        self.subsystem = subsystem
        self.argv = argv
        self.index = 0

    def log(self, text: str, offset: int) -> None:
        """A message of error_log, with the caret `offset` characters into the word where the parser is."""
        position = sum(len(word) + 1 for word in self.argv[: self.index])
        if self.index >= len(self.argv):
            offset = 0
        self.board.errors.add(self.subsystem, " ".join(self.argv), text, position + offset)

    def fail(self, code: str, offset: int, errno: int = EINVAL) -> ProbeError:
        """Log and give the error to raise."""
        error = ProbeError(code, offset, errno)
        self.log(error.why, offset)
        return error

    def parse_name(self, text: str, offset: int, group: str) -> tuple[str, str | None]:
        """traceprobe_parse_event_name(): (group, event or None to make one up)."""
        slash = text.find("/")
        if slash < 0:
            slash = text.find(".")
        event = text
        if slash >= 0:
            if not slash:
                raise self.fail("NO_GROUP_NAME", offset)
            if slash + 1 > MAX_EVENT_NAME_LEN:
                raise self.fail("GROUP_TOO_LONG", offset)
            group = text[:slash]
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", group):
                raise self.fail("BAD_GROUP_NAME", offset)
            event = text[slash + 1 :]
            offset += slash + 1
        if not event:
            if slash >= 0 and self.board.features.group_alone:
                return group, None
            raise self.fail("NO_EVENT_NAME", offset)
        if len(event) >= MAX_EVENT_NAME_LEN:
            raise self.fail("EVENT_TOO_LONG", offset)
        if not is_good_name(event):
            raise self.fail("BAD_EVENT_NAME", offset)
        return group, event

    def expand(self, parser: FetchParser) -> list[str]:
        """The words behind the place, with those that stand for others as these."""
        features, words = parser.features, self.argv[2:]
        if features.btf_args and parser.kernel:
            at_an_end = parser.on_entry if not parser.is_return else features.args_at_return
            try:
                words = expand_args(words, parser.signature, 2, at_an_end)
            except WordError as error:
                self.index = error.index
                self.log(error.why, error.position)
                raise
        if features.dentry_types and parser.kernel:
            expanded = expand_dentries(words, parser.layouts)
            if words == self.argv[2:]:
                self.argv[2:] = expanded  # in its place: messages show it
            words = expanded
        return words

    def parse_args(self, parser: FetchParser) -> list[ProbeArg]:
        """The words behind the place, at most 128; an error is logged at its word."""
        args: list[ProbeArg] = []
        for index, word in enumerate(self.expand(parser)[:MAX_TRACE_ARGS]):
            self.index = index + 2
            try:
                args.append(parser.parse(index, word, args))
            except ProbeError as error:
                for why in filter(None, (error.why, error.then)):
                    self.log(why, error.position)
                raise
        return args
