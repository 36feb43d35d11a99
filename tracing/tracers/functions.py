"""All functions that can be traced, and sets of them as set_ftrace_filter and its like choose them.  kernel/trace/ftrace.c."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from arch.abi.errno import EINVAL
from arch.cstring import kstrto
from arch.errors import KernelError
from tracing.board import Board
from tracing.probes.kprobes import Kprobes
from tracing.record.glob import build_glob
from tracing.text.strings import BLANKS, simple_strtoul
from tracing.tracers.recorded import INVALID_PREFIX, blacklist, functions_of, refused_functions, shared_names

WORD_MAX = 4096  # FTRACE_BUFF_MAX: a symbol's length, and more


class Functions:
    """available_filter_functions."""

    def __init__(self, board: Board, kprobes: Kprobes) -> None:
        self.host = board.host
        self.place_is_a_number = board.features.place_is_a_number
        self.kprobes = kprobes
        self.enabled = True
        self.watchers: list[Callable[[], None]] = []  # tracers, which have to look again what they may trace
        self.users: list[
            Callable[[str], Sequence[str]]
        ] = []  # which functions of theirs are called at the entry of one

    def own(self) -> dict[str, int]:
        """Name -> address of the functions that the machine calls and that can be traced, in order of address."""
        kprobes, host = self.kprobes, self.host
        named = host.symbols.lookup
        return {
            symbol.name: symbol.address
            for symbol in host.symbols
            if symbol.kind in "tT"
            and (found := named(symbol.address)) is not None
            and found[0] == symbol.name  # not another name of one
            and symbol.size
            and host.is_kernel_text(symbol.address)
            and not kprobes.blacklisted(symbol.address)
            and not self.refused(symbol.name)
        }

    def traceable(self) -> dict[str, int]:
        """The same, while functions may be traced at all."""
        return self.own() if self.enabled else {}

    def enable(self, on: bool) -> None:
        """ftrace_enable_sysctl(): kernel.ftrace_enabled."""
        self.enabled = on
        for changed in list(self.watchers):
            changed()

    @cached_property
    def listed(self) -> frozenset[str]:
        """Those of the real kernel of this CPU and version, as far as one was asked."""
        return frozenset(functions_of(self.host.arch.name, self.host.version))

    def names(self) -> list[str]:
        """All of them: the real kernel's in its order, one that several share as often, and this machine's own behind them."""
        listed = self.listed
        return [
            *functions_of(self.host.arch.name, self.host.version),
            *(name for name in self.own() if name not in listed),
        ]

    def silent(self, name: str) -> bool:
        """A function of the real kernel that this machine never calls."""
        return name in self.listed and self.host.symbols.address(name) is None

    def shared(self, name: str) -> bool:
        """A name that several symbols have: which one is meant nobody knows."""
        return name in shared_names(self.host.arch.name, self.host.version)

    def refused(self, name: str) -> bool:
        """Part of the kernel's text, but not for probes of events: written in assembly, part of tracing itself, or blacklisted."""
        return name in refused_functions(self.host.arch.name, self.host.version)

    def black(self) -> Mapping[str, int]:
        """Functions that no kprobe may be in, and how often the list has them."""
        return blacklist(self.host.arch.name, self.host.version)

    def place(self, text: str) -> int:
        """0 for what is no place."""
        if not self.place_is_a_number:
            return simple_strtoul(text)[0]
        try:
            return kstrto(text, 0, 64, False)
        except KernelError:
            return 0

    def match(self, pattern: str) -> list[str]:
        """By name or glob; a number is a place in the list, from 1.  add_rec_by_index()."""
        names = self.names()
        if is_place(pattern):
            index = self.place(pattern) - 1
            return names[index : index + 1] if index >= 0 else []
        _, matches = build_glob(pattern)
        return [
            name
            for name in names
            if matches(name.encode("latin-1"), len(name) + 1) and not name.startswith(INVALID_PREFIX)
        ]


def is_place(pattern: str) -> bool:
    """A word that begins with a digit is no name.  filter_parse_regex(): MATCH_INDEX."""
    return pattern[:1].isdecimal() and pattern.isascii()


class FunctionSet:
    """The functions that one file chooses; empty for all (or none, as the file has it)."""

    def __init__(self, functions: Functions, nothing: str, changed: Callable[[], None]) -> None:
        self.functions = functions
        self.nothing = nothing  # what the file reads when it is empty
        self.changed = changed
        self.names: set[str] = set()

    def add(self, names: set[str], word: str) -> None:
        """One word: a name or a glob, `!` takes away.  EINVAL when it matches no function."""
        found = self.functions.match(word.removeprefix("!"))
        if not found:
            raise KernelError(EINVAL, f"no function {word}")
        if word.startswith("!"):
            names.difference_update(found)
        else:
            names.update(found)

    def replace(self, names: set[str]) -> None:
        """A writer is done."""
        self.names = names
        self.changed()

    def lines(self) -> Iterable[str]:
        """The file, function by function in order of address."""
        names = self.names
        return (f"{name}\n" for name in self.functions.names() if name in names) if names else ()

    def text(self) -> str:
        """The file."""
        return "".join(self.lines()) or self.nothing


class GraphSet(FunctionSet):
    """set_graph_function and set_graph_notrace.  ftrace_graph_set_hash()."""

    def add(self, names: set[str], word: str) -> None:
        """As above, but places are no functions, and EINVAL, too, for what is to be taken away and was not there."""
        if is_place(word.removeprefix("!")):
            raise KernelError(EINVAL, "a place in the list")
        before = set(names)
        super().add(names, word)
        if word.startswith("!") and names == before:
            raise KernelError(EINVAL, f"no function {word}")


class Words:
    """trace_get_user(): a write brings one word; a word without a blank behind it may go on in the next write."""

    def __init__(self) -> None:
        self.partial = ""
        self.failed = False  # a word was too long: nothing more is heard

    def take(self, data: bytes) -> tuple[int, str | None]:
        """(bytes taken, the word if it is complete).  EINVAL for one that is too long."""
        text = data.decode("latin-1")
        at = 0
        if not self.partial:
            while at < len(text) and text[at] in BLANKS:
                at += 1
            if at == len(text):
                return len(data), None
            if text[at] == "\0":
                return at + 1, None
        end = at
        while end < len(text) and text[end] not in BLANKS and text[end] != "\0":
            end += 1
        self.partial += text[at:end]
        if len(self.partial) >= WORD_MAX:
            self.partial, self.failed = self.partial[: WORD_MAX - 1], True
            raise KernelError(EINVAL, "the word is too long")
        if end == len(text):
            return len(data), None
        word, self.partial = self.partial, ""
        return end + 1, None if self.failed else word or None

    def rest(self) -> str | None:
        """What came without a blank behind it, at the end."""
        word, self.partial = self.partial, ""
        return None if self.failed else word or None
