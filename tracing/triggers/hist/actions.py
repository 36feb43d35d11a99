"""onmatch(), onmax() and onchange() with trace(), save() and snapshot(): the text of an action taken apart.

trace_events_hist.c:parse_actions().  What an action does with a record is data.py's.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from arch.records import dataclass, field
from tracing.record.event import EventFile
from tracing.record.registry import EventRegistry
from tracing.triggers.hist import errors as why
from tracing.triggers.hist.errors import HistLog
from tracing.triggers.hist.fields import HistField
from tracing.triggers.synthetic import FIELDS_MAX, SynthEvent
from tracing.triggers.trigger import split_word


@dataclass(eq=False)
class Action:
    """struct action_data."""

    handler: str  # onmatch, onmax, onchange
    kind: str = ""  # save, trace, snapshot
    name: str = ""  # as it was written
    params: list[str] = field(default_factory=list)
    use_trace: bool = False  # trace(EVENT, ...), not EVENT(...)
    synth_name: str | None = None
    synth: SynthEvent | None = None
    ref_indexes: list[int] = field(default_factory=list)
    match_system: str = ""  # of onmatch
    match_event: str = ""
    var_text: str = ""  # of onmax and onchange
    var_ref: HistField | None = None
    track_var: HistField | None = None

    def exceeds(self, tracked: int, value: int) -> bool:
        """check_track_val_max(), check_track_val_changed()."""
        return value > tracked if self.handler == "onmax" else value != tracked

    def same(self, other: Action) -> bool:
        """actions_match(), for one of them."""
        mine = self.synth_name if self.use_trace else self.name
        others = other.synth_name if other.use_trace else other.name
        return (
            (self.handler, self.kind, self.params, mine) == (other.handler, other.kind, other.params, others)
            and (self.match_system, self.match_event) == (other.match_system, other.match_event)
            and self.var_text == other.var_text
        )


@dataclass
class Track:
    """struct track_data: what took the last snapshot."""

    action: Action
    hist: object
    value: int = 0
    updated: bool = False
    key: bytes = b""
    comm: str = ""


def parse_action(log: HistLog, events: EventRegistry, file: EventFile, text: str) -> Action:
    """One action.  EINVAL."""
    handler, _, rest = text.partition("(")
    action = Action(handler)
    inside, after = split_word(rest, ")")
    if handler == "onmatch":
        if after is None:
            raise log.fail(file, why.NO_CLOSING_PAREN, inside)
        system, event = split_word(inside, ".")
        if event is None:
            raise log.fail(file, why.SUBSYS_NOT_FOUND, system)
        if events.get_any(system, event) is None:
            raise log.fail(file, why.INVALID_SUBSYS_EVENT, event)
        action.match_system, action.match_event = system, event
    else:
        if after is None:
            raise KernelError(EINVAL, "no closing parenthesis")
        action.var_text = inside
    parse_what(log, file, after, action)
    return action


def parse_what(log: HistLog, file: EventFile, text: str, action: Action) -> None:
    """action_parse(): what stands behind the handler's dot.  EINVAL."""
    _, rest = split_word(text, ".")
    if rest is None:
        raise log.fail(file, why.ACTION_NOT_FOUND, None)
    name, rest = split_word(rest, "(")
    if rest is None:
        raise log.fail(file, why.ACTION_NOT_FOUND, None)
    params, closed = split_word(rest, ")")
    if name.startswith("save"):
        action.kind = "save"
        parse_params(log, file, params, action)
    elif name.startswith("snapshot"):
        action.kind = "snapshot"
        if closed is None:
            raise log.fail(file, why.NO_CLOSING_PAREN, params)
    else:
        action.kind = "trace"
        action.use_trace = name.startswith("trace")
        parse_params(log, file, params, action)
    if action.kind != "trace" and action.handler == "onmatch":
        raise log.fail(file, why.ACTION_MISMATCH, name)
    action.name = name


def parse_params(log: HistLog, file: EventFile, text: str, action: Action) -> None:
    """parse_action_params().  EINVAL."""
    first = True
    for param in text.split(","):
        if len(action.params) >= FIELDS_MAX:
            raise log.fail(file, why.TOO_MANY_PARAMS, None)
        param = param.strip()
        if len(param) < 2:
            raise log.fail(file, why.INVALID_PARAM, param)
        if first and action.use_trace:
            action.synth_name = param
        else:
            action.params.append(param)
        first = False
