"""What all triggers have, and an event's `trigger` file.  kernel/trace/trace_events_trigger.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL
from arch.cstring import c_string, kstrto
from arch.errors import KernelError
from arch.records import dataclass
from tracing.record.event import EventFile, Filter
from tracing.record.filter import EventFilter, FilterError, create_filter, log_filter_error
from tracing.text.strings import BLANKS, UNLIMITED


class EventTrigger:
    """struct event_trigger_data."""

    post = False
    hidden = False
    kind = ""  # cmd_ops->trigger_type: two of one kind exclude each other

    def __init__(self, file: EventFile) -> None:
        self.file = file
        self.count = UNLIMITED
        self.filter: Filter | None = None
        self.filter_text: str | None = None  # as it was written, behind the `if`
        self.paused = False

    @property
    def deferred(self) -> bool:
        """update_cond_flag(): a condition, or it runs after the record, or it looks at it."""
        return self.filter is not None or self.post or self.kind == "hist"

    def run(self, record: bytes, regs: int) -> None:
        """The event fired."""
        raise NotImplementedError

    def show(self) -> str:
        """Its line in the file."""
        raise NotImplementedError

    def delete(self) -> None:
        """Take it off its event."""
        self.file.remove_trigger(self)
        self.freed()

    def freed(self) -> None:
        """It is gone: give back what it held."""

    def tail(self) -> str:
        """The count and the condition, as most triggers show them."""
        count = "unlimited" if self.count == UNLIMITED else f"count={self.count}"
        return f":{count}" + (f" if {self.filter_text}\n" if self.filter_text is not None else "\n")

    def parse_count(self, text: str | None) -> None:
        """event_trigger_parse_num().  EINVAL, ERANGE."""
        if text is None:
            return
        number = text.split(":", 1)[0]
        if not number:
            raise KernelError(EINVAL, "no count")
        self.count = kstrto(number, 0, 64, False)
        if self.count >> 63:
            self.count -= 1 << 64

    def set_filter(self, text: str | None) -> None:
        """set_trigger_filter(): `if FILTER`.  EINVAL."""
        if text is None:
            return
        word, condition = split_word(text)
        if word != "if" or condition is None:
            raise KernelError(EINVAL, "a trigger's condition begins with `if`")
        self.filter = create_trigger_filter(self.file, condition)
        self.filter_text = condition


def create_trigger_filter(file: EventFile, text: str) -> EventFilter:
    """create_event_filter() for a trigger: what is wrong with it was not always logged.  EINVAL."""
    try:
        return create_filter(file.event, text)
    except FilterError as error:
        if file.event.board.features.trigger_filter_errors:
            log_filter_error(file, error, text)
        raise


def split_word(text: str, separators: str = " \t") -> tuple[str, str | None]:
    """strsep(): up to the first separator, and what is behind it; None where there is none."""
    for index, char in enumerate(text):
        if char in separators:
            return text[:index], text[index + 1 :]
    return text, None


def separate_filter(text: str | None, required: bool) -> tuple[str | None, str | None]:
    """event_trigger_separate_filter(): (parameter, filter).  EINVAL where a parameter is missing."""
    if text is None:
        if required:
            raise KernelError(EINVAL, "the trigger needs a parameter")
        return None, None
    if not required and not text[:1].isdigit():
        return None, text
    param, rest = split_word(text)
    rest = rest.lstrip(BLANKS) if rest is not None else None
    return param, rest or None


@dataclass(frozen=True)
class Command:
    """struct event_command: what one word of a trigger file does."""

    name: str
    parse: Callable[[EventFile, str, bool, str | None], None]  # file, command, remove, what follows
    cleared: str = ""  # the kind of triggers that O_TRUNC removes


class TriggerFiles:
    """The commands, and what a trigger file reads and takes."""

    def __init__(self) -> None:
        self.commands: dict[str, Command] = {}
        self.clear_hooks: list[Callable[[EventFile], None]] = []  # what O_TRUNC does

    def add(self, *commands: Command) -> None:
        """Make commands known, in the order in which the file lists them."""
        for command in commands:
            self.commands[command.name] = command

    def write(self, file: EventFile, data: bytes) -> None:
        """One write to the file.  EINVAL, EEXIST, ..."""
        if not data:
            return
        if len(data) >= 4096:
            raise KernelError(EINVAL, "longer than a page")
        text = c_string(data).rstrip(BLANKS).lstrip(BLANKS)
        word, rest = split_word(text, ": \t")
        if rest is not None:
            rest = rest.lstrip(BLANKS) or None
        command = self.commands.get(word.removeprefix("!"))
        if command is None:
            raise KernelError(EINVAL, f"no trigger {word}")
        command.parse(file, command.name, word.startswith("!"), rest)

    def clear(self, file: EventFile) -> None:
        """Opened with O_TRUNC: histograms go, other triggers stay."""
        for hook in self.clear_hooks:
            hook(file)

    def text(self, file: EventFile) -> str:
        """The triggers, or the list of those that exist."""
        if any(not trigger.hidden for trigger in file.triggers):
            return "".join(trigger.show() for trigger in file.triggers)
        return "# Available triggers:\n# " + " ".join(self.commands) + "\n"
