"""The hist trigger: new ones, pause, continue, clear, names that several events share.  trace_events_hist.c."""

from __future__ import annotations

from arch.abi.errno import EBUSY, EEXIST, EINVAL, ENOENT, EPERM
from arch.errors import KernelError
from tracing.record.event import EventFile
from tracing.record.registry import EventRegistry
from tracing.record.stack import Reader
from tracing.text.strings import BLANKS
from tracing.triggers.hist import errors as why
from tracing.triggers.hist.attrs import parse_attrs
from tracing.triggers.hist.data import HistData, strip_offset_names
from tracing.triggers.hist.machine import HistMachine
from tracing.triggers.hist.show import hist_text, line_text
from tracing.triggers.simple import parse_switch
from tracing.triggers.synthetic import SynthEvent
from tracing.triggers.trigger import Command, EventTrigger, TriggerFiles


class HistTrigger(EventTrigger):
    """One histogram on one event; a shared name shares the histogram."""

    kind = "hist"

    def __init__(self, file: EventFile, hist: HistData) -> None:
        super().__init__(file)
        self.hist = hist
        self.name = hist.attrs.name  # with its `name=`
        self.first: HistTrigger | None = None  # of the same name, whose histogram this one uses

    def run(self, record: bytes, regs: int) -> None:
        """A record is counted."""
        hist = self.hist
        stack = self.file.event.stack(regs, Reader.HIST) if hist.wants_stack else ()
        hist.hit(record, self.file.array.now() if hist.enable_timestamps else 0, stack)

    def show(self) -> str:
        """Its line."""
        return line_text(self.hist, self.name, self.filter_text, self.paused)

    def matches(self, other: HistTrigger, named: HistTrigger | None, ignore_filter: bool) -> bool:
        """hist_trigger_match(): is `other` what this line describes?"""
        if named is not None and named is not other and named is not other.first:
            return False
        if named is None and other.name is not None:
            return False
        mine, theirs = self.hist, other.hist
        if (mine.n_vals, len(mine.fields), mine.sort_keys) != (theirs.n_vals, len(theirs.fields), theirs.sort_keys):
            return False
        if not ignore_filter and self.filter_text != other.filter_text:
            return False
        for a, b in zip(mine.fields, theirs.fields):
            if a.flags != b.flags or (a.offset, a.size, a.signed, a.var_name) != (
                b.offset,
                b.size,
                b.signed,
                b.var_name,
            ):
                return False
            if (a.field is None) != (b.field is None):
                return False
            if a.field is not None and b.field is not None:
                known, test = a.field, b.field
                if (known.name, known.type, known.size, known.signed) != (test.name, test.type, test.size, test.signed):
                    return False
        return len(mine.actions) == len(theirs.actions) and all(
            a.same(b) for a, b in zip(mine.actions, theirs.actions)
        )  # fmt: skip


class HistTriggers:
    """The command `hist`, and the files `hist`."""

    def __init__(self, machine: HistMachine, events: EventRegistry, files: TriggerFiles) -> None:
        self.machine = machine
        self.named: list[HistTrigger] = []
        machine.parse = self.parse

        def switch(file: EventFile, name: str, remove: bool, rest: str | None) -> None:
            parse_switch(events, file, name, remove, rest)

        files.add(Command("enable_hist", switch), Command("disable_hist", switch), Command("hist", self.command))
        files.clear_hooks.append(self.clear_file)

    def command(self, file: EventFile, name: str, remove: bool, rest: str | None) -> None:
        """A line that begins with `hist` or `!hist`."""
        self.parse(file, "!hist" if remove else "hist", remove, rest)

    def on(self, file: EventFile) -> list[HistTrigger]:
        """The histograms of an event."""
        return [trigger for trigger in file.triggers if isinstance(trigger, HistTrigger)]

    def find_named(self, name: str | None) -> HistTrigger | None:
        """find_named_trigger(): the one that owns the histogram of that name."""
        return (
            next((known for known in self.named if known.first is None and known.name == name), None) if name else None
        )

    def text(self, file: EventFile) -> str:
        """The file `hist`."""
        return "\n\n".join(hist_text(trigger.hist, trigger.show()) for trigger in self.on(file))

    def parse(self, file: EventFile, glob: str, remove: bool, rest: str | None) -> None:
        """event_hist_trigger_parse().  Many errors, most of them logged."""
        log = self.machine.log
        if glob:
            log.begin(file, rest)
        if rest is None:
            raise KernelError(EINVAL, "a histogram needs keys")
        text, condition = split_condition(rest)
        attrs = parse_attrs(log, file, strip_offset_names(text))
        hist = HistData(self.machine, attrs, file, remove)
        trigger = HistTrigger(file, hist)
        try:
            trigger.set_filter(condition)
            if remove:
                self.remove(trigger)
                hist.destroy()
            elif self.update_only(trigger):
                hist.destroy()
            else:
                self.register(trigger)
        except KernelError:
            self.machine.remove_vars(hist)
            hist.destroy()
            raise
        if glob:
            log.end()

    # A new one

    def register(self, trigger: HistTrigger) -> None:
        """hist_register_trigger(), hist_trigger_enable().  EINVAL, EEXIST, ENOENT, EPERM."""
        hist, machine, file = trigger.hist, self.machine, trigger.file
        attrs, log = hist.attrs, machine.log
        hist.create_actions()
        if hist.uses_vars():
            machine.save_vars(hist)
        named = self.find_named(attrs.name)
        if named is not None and not trigger.matches(named, named, True):
            raise log.fail(file, why.NAMED_MISMATCH, attrs.name)
        if attrs.name is None or named is not None:
            for known in self.on(file):
                if trigger.matches(known, named, False):
                    raise log.fail(file, why.TRIGGER_EEXIST, None, EEXIST)
        if attrs.cont or attrs.clear:
            raise log.fail(file, why.TRIGGER_ENOENT_CLEAR, None, ENOENT)
        trigger.paused = attrs.pause
        if hist.enable_timestamps:
            try:
                file.array.set_clock(attrs.clock)
            except KernelError as error:
                raise log.fail(file, why.SET_CLOCK_FAIL, attrs.clock, error.errno) from error
        if named is not None:
            machine.remove_vars(hist)
            hist.destroy()
            trigger.hist, trigger.first = named.hist, named
        if trigger.name is not None:
            self.named.insert(0, trigger)
        try:
            file.add_trigger(trigger, last=True)
        except KernelError as error:  # the event cannot be on: `ret--`
            file.triggers.remove(trigger)
            raise KernelError(EPERM, error.why) from error
        machine.triggers.setdefault(file, []).append(trigger)
        if isinstance(file.event, SynthEvent):
            file.event.uses += 1

    def update_only(self, trigger: HistTrigger) -> bool:
        """existing_hist_update_only(): pause, cont and clear of one that is there."""
        attrs = trigger.hist.attrs
        if not attrs.pause and not attrs.cont and not attrs.clear:
            return False
        named = self.find_named(attrs.name)
        if attrs.name is not None and (named is None or not trigger.matches(named, named, True)):
            return False
        for known in self.on(trigger.file):
            if trigger.matches(known, named, False):
                if attrs.pause:
                    known.paused = True
                elif attrs.cont:
                    known.paused = False
                else:
                    known.hist.table.clear()
                return True
        return False

    # Going

    def remove(self, trigger: HistTrigger) -> None:
        """`!hist:...`; one that is not there is no error.  EBUSY while its variables are referred to."""
        named = self.find_named(trigger.hist.attrs.name)
        for known in self.on(trigger.file):
            if trigger.matches(known, named, False):
                if self.machine.referred(known.hist):
                    raise KernelError(EBUSY, "its variables are used")
                self.drop(known)
                return

    def drop(self, trigger: HistTrigger) -> None:
        """hist_unregister_trigger(), event_hist_trigger_free()."""
        file, machine = trigger.file, self.machine
        file.remove_trigger(trigger)
        machine.triggers[file].remove(trigger)
        if isinstance(file.event, SynthEvent):
            file.event.uses -= 1
        if trigger in self.named:
            self.named.remove(trigger)
        heirs = [known for known in self.named if known.hist is trigger.hist]
        for heir in heirs:
            heir.first = None if heir is heirs[-1] else heirs[-1]
        if not heirs:
            machine.remove_vars(trigger.hist)
            trigger.hist.destroy()

    def clear_file(self, file: EventFile) -> None:
        """hist_unreg_all(): the trigger file was opened with O_TRUNC; nothing happens while variables are referred to."""
        triggers = self.on(file)
        if any(self.machine.referred(trigger.hist) for trigger in triggers):
            return
        for trigger in triggers:
            if trigger in file.triggers:
                self.drop(trigger)
        for other in list(file.triggers):
            if isinstance(other, EventTrigger) and other.kind == "hist_enable":
                other.delete()


def split_condition(text: str) -> tuple[str, str | None]:
    """The line and its `if ...`; an `if` stands between blanks.  EINVAL."""
    at = 0
    while True:
        at = text.find("if", at)
        if at < 0:
            return text, None
        if at == 0:
            raise KernelError(EINVAL, "no histogram before `if`")
        if text[at - 1] not in " \t":
            at += 1
            continue
        if at >= len(text) - 3:
            raise KernelError(EINVAL, "no condition after `if`")
        if text[at + 2] not in " \t":
            at += 1
            continue
        return text[: at - 1].strip(BLANKS), text[at:].strip(BLANKS)
