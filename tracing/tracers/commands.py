"""What set_ftrace_filter hangs on functions: `vfs_write:traceoff:3`.  kernel/trace/trace_functions.c, trace_events.c, trace.c.

Commands of one kind, with or without a count, are one set of functions (struct ftrace_probe_ops), as in the kernel: that
is what a removal has to name.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL, ENODEV
from arch.cstring import kstrto
from arch.errors import KernelError
from arch.records import dataclass, field
from tracing.buffer.trace import TraceArray
from tracing.record.event import EventFile
from tracing.record.glob import build_glob
from tracing.record.registry import EventRegistry
from tracing.text.strings import UNLIMITED
from tracing.tracers.functions import Functions


@dataclass(eq=False)
class Target:
    """One function of one command: what is left of its count, and the event it switches."""

    count: int = UNLIMITED
    file: EventFile | None = None

    def spend(self) -> bool:
        """Use up one; an unlimited one always has."""
        if not self.count:
            return False
        if self.count > 0:
            self.count -= 1
        return True


@dataclass(eq=False)
class CommandSet:
    """The functions with one command."""

    name: str
    counted: bool
    targets: dict[str, Target] = field(default_factory=dict)

    def lines(self, order: list[str]) -> list[str]:
        """As set_ftrace_filter lists them."""
        out = []
        for function in order:
            target = self.targets.get(function)
            if target is None:
                continue
            count = "unlimited" if target.count == UNLIMITED else f"count={target.count}"
            event = f":{target.file.event.system}:{target.file.event.name}" if target.file is not None else ""
            out.append(f"{function}:{self.name}{event}:{count}\n")
        return out


class ModuleWaits:
    """`FUNCTION:mod:MODULE` of set_ftrace_filter or set_ftrace_notrace: there are no modules, so all are kept for later ones."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self.waiting: list[tuple[str, str]] = []  # (function, module), newest first

    def text(self) -> list[str]:
        """The lines behind the functions."""
        return [f"{function}:mod:{module}\n" for function, module in self.waiting]

    def run(self, word: str, names: set[str]) -> None:
        """ftrace_mod_callback(), and no other command.  EINVAL."""
        function, _, rest = word.partition(":")
        command, _, module = rest.partition(":")
        if command != "mod":
            raise KernelError(EINVAL, "commands are for set_ftrace_filter")
        if not function.startswith("!"):
            if module.startswith("!"):  # functions that are not of that module: all
                names.update(self.functions.match(function or "*"))
                return
            self.waiting.insert(0, (function, module))
            return
        left = [
            (known, of) for known, of in self.waiting if of != module or (function[1:] not in ("*", known))
        ]  # fmt: skip
        if left == self.waiting:
            raise KernelError(EINVAL, "not there")
        self.waiting = left


class FunctionCommands:
    """The commands of one trace array."""

    def __init__(
        self, array: TraceArray, events: EventRegistry, functions: Functions, changed: Callable[[], None]
    ) -> None:  # fmt: skip
        self.array = array
        self.events = events
        self.functions = functions
        self.changed = changed
        self.sets: list[CommandSet] = []  # newest first
        self.modules = ModuleWaits(functions)
        self.forbidden_modules = ModuleWaits(functions)  # of set_ftrace_notrace

    @property
    def names(self) -> set[str]:
        """All functions with a command."""
        return {name for known in self.sets for name in known.targets}

    def text(self, functions: bool) -> str:
        """The lines of set_ftrace_filter behind the functions, if there are any."""
        modules = self.modules.text()
        lines: list[str] = []
        if self.sets:
            order = self.functions.names()
            for known in self.sets:
                lines += known.lines(order)
        return "".join(
            modules + lines[bool(modules) and functions :]
        )  # behind both, the kernel leaves the first one out

    def run(self, word: str, names: set[str]) -> None:
        """`FUNCTION:COMMAND[:ARGUMENTS]`; `names` is the set of functions that is being written.  EINVAL, ENODEV."""
        function, _, rest = word.partition(":")
        command, colon, param = rest.partition(":")
        if command == "mod":
            self.modules.run(word, names)
        elif command in ("traceon", "traceoff", "stacktrace", "snapshot"):
            self.simple(function, command, param if colon else None)
        elif command in ("dump", "cpudump"):
            self.simple(function, command, "1" if command == "dump" else "")
        elif command in ("enable_event", "disable_event"):
            self.switch(function, command, param if colon else None)
        else:
            raise KernelError(EINVAL, f"no command {command}")

    def simple(self, function: str, command: str, param: str | None) -> None:
        """ftrace_trace_probe_callback()."""
        counted = param is not None
        if function.startswith("!"):
            self.unregister(function[1:], command, counted)
            return
        count = UNLIMITED
        if param:
            number = param.split(":", 1)[0]
            if number:
                count = kstrto(number, 0, 64, False)
        if command == "snapshot":
            self.array.allocate_snapshot()
        self.register(function, command, counted, lambda: Target(count))

    def switch(self, function: str, command: str, param: str | None) -> None:
        """event_enable_func().  EINVAL."""
        system, _, rest = (param or "").partition(":")
        name, colon, number = rest.partition(":")
        event = self.events.get(system, name)
        if event is None:
            raise KernelError(EINVAL, "give <system>:<event>")
        if function.startswith("!"):
            self.unregister(function[1:], command, bool(colon))
            return
        count = UNLIMITED
        if colon:
            number = number.split(":", 1)[0]
            if not number:
                raise KernelError(EINVAL, "no count")
            count = kstrto(number, 0, 64, False)
        target = Target(count, event.file(self.array))
        assert target.file is not None
        target.file.soft_enable(1)
        event.in_use += 1
        try:
            self.register(function, command, bool(colon), lambda: target)
        except KernelError:
            target.file.soft_enable(-1)
            event.in_use -= 1
            raise

    def register(self, pattern: str, command: str, counted: bool, make: Callable[[], Target]) -> None:
        """register_ftrace_function_probe(): at least one function has to be new.  EINVAL."""
        known = self.find(command, counted)
        targets = known.targets if known is not None else {}
        new = [name for name in self.functions.match(pattern) if name not in targets]
        if not new:
            raise KernelError(EINVAL, f"no function {pattern}")
        if known is None:
            known = CommandSet(command, counted)
            self.sets.insert(0, known)
        for name in new:
            known.targets[name] = make()
        self.changed()

    def find(self, command: str, counted: bool) -> CommandSet | None:
        """The set of that command, with or without counts."""
        return next((known for known in self.sets if (known.name, known.counted) == (command, counted)), None)

    def unregister(self, pattern: str, command: str, counted: bool) -> None:
        """unregister_ftrace_function_probe_func().  ENODEV, EINVAL."""
        known = self.find(command, counted)
        if known is None:
            raise KernelError(ENODEV, f"no function has {command}")
        names = list(known.targets)
        if pattern not in ("", "*"):
            _, matches = build_glob(pattern)
            names = [name for name in names if matches(name.encode("latin-1"), len(name) + 1)]
        if not names:
            raise KernelError(EINVAL, f"no function {pattern} has {command}")
        gone = [known.targets.pop(name) for name in names]
        if not known.targets:
            self.sets.remove(known)
        for target in dict.fromkeys(gone):
            if target.file is not None and target not in known.targets.values():
                target.file.soft_enable(-1)
                target.file.event.in_use -= 1
        self.changed()

    def count(self, name: str) -> int:
        """How many commands hang on a function: each is an ftrace_ops of its own."""
        return sum(name in known.targets for known in self.sets)

    def hit(self, name: str, stack: Callable[[], None]) -> None:
        """A function with commands was entered; the newest command first, as add_ftrace_ops() puts it."""
        for known in list(self.sets):
            target = known.targets.get(name)
            if target is not None:
                self.act(known.name, target, stack)

    def act(self, command: str, target: Target, stack: Callable[[], None]) -> None:
        """What one command does; `stack` writes the kernel's stack."""
        array = self.array
        if command in ("traceon", "traceoff"):
            on = command == "traceon"
            if array.buffer.recording != on and target.spend():
                array.buffer.recording = on
        elif command == "stacktrace":
            if array.buffer.recording and target.spend():
                stack()
        elif command == "snapshot":
            if target.spend():
                array.take_snapshot()
        elif command in ("dump", "cpudump"):
            if target.spend():
                dump(array)
        elif target.file is not None:
            on = command == "enable_event"
            if target.count >= 0 and on != target.file.soft_disabled:
                return
            if target.spend():
                target.file.soft_disabled = not on


def dump(array: TraceArray) -> None:
    """ftrace_dump(): the trace into the kernel's log, consumed, and recording stops."""
    host = array.host
    host.pr(0, "Dumping ftrace buffer:")
    empty = True
    while (event := array.buffer.consume()) is not None:
        if empty:
            host.pr(0, "---------------------------------")
        empty = False
        for line in array.dumped(event).splitlines():
            host.pr(0, line)
    host.pr(0, "   (ftrace buffer empty)" if empty else "---------------------------------")
    array.buffer.recording = False
