"""One histogram: made from its line, fed with records.  struct hist_trigger_data of trace_events_hist.c."""

from __future__ import annotations

import re
from collections.abc import Iterable

from arch.abi.errno import EBUSY, EEXIST, EINVAL, ENOENT, ENOMEM
from arch.errors import KernelError
from tracing.record.event import EventFile
from tracing.record.fields import FILTER_DYN_STRING, FILTER_STATIC_STRING
from tracing.record.filter import MAX_FILTER_STR_VAL
from tracing.triggers.hist import errors as why
from tracing.triggers.hist.actions import Action, Track, parse_action
from tracing.triggers.hist.attrs import VARS_MAX, Attrs
from tracing.triggers.hist.fields import HIST_STACKTRACE_DEPTH, NONE, VALUE_MASK, Fl, HistField, Hit, Value, field_name
from tracing.triggers.hist.machine import HistMachine
from tracing.triggers.hist.parse import (
    Depth,
    HistBase,
    create_field,
    create_var_ref,
    cut_at_operators,
    parse_atom,
    parse_expression,
    stack_field,
)
from tracing.triggers.hist.table import Entry, Table
from tracing.triggers.synthetic import FIELDS_MAX, SynthEvent

KEYS_MAX, VALS_MAX, SORT_KEYS_MAX = 3, 3, 2
ELT_SIZE = 128  # bytes of a struct tracing_map_elt with its fields, beside the key; all are made at once
EXECNAME_TYPE = "char[]"


class HistData(HistBase):
    """Fields, table and actions."""

    def __init__(self, machine: HistMachine, attrs: Attrs, file: EventFile, remove: bool) -> None:
        """create_hist_data().  EINVAL and others, logged."""
        self.machine = machine
        self.board = file.event.board
        self.host = self.board.host
        self.log = machine.log
        self.attrs = attrs
        self.file = file
        self.remove = remove
        self.fields: list[HistField] = []
        self.n_vals = self.n_vars = self.key_size = 0
        self.var_refs: list[HistField] = []
        self.var_defs: list[tuple[str, str]] = []
        self.enable_timestamps = False
        self.next_var = 0
        self.field_vars: list[tuple[HistField, HistField]] = []  # (variable, value)
        self.save_vars: list[tuple[HistField, HistField]] = []
        self.field_var_hists: list[tuple[EventFile, str]] = []  # histograms made for fields of the matched event
        self.sort_keys: list[tuple[int, bool]] = [(0, False)]  # (field, descending)
        self.actions: list[Action] = [
            parse_action(self.log, machine.events, file, text) for text in attrs.actions
        ]  # fmt: skip
        self.parse_var_defs()
        self.create_vals()
        for place, (name, expression) in enumerate(self.var_defs):
            self.create_var_field(name, expression)
            self.var_defs[place] = (name, cut_at_operators(expression))
        self.create_keys()
        self.var_defs = []
        self.create_sort_keys()
        self.table = Table(attrs.map_bits, self.board.features.sorts_pairs)
        self.kept = (ELT_SIZE + self.key_size) << attrs.map_bits
        self.board.host.mem.charge(self.kept)
        for field in self.fields:
            if field.is_var:
                field.var_index, field.var_owner = self.add_var(), self

    # Fields

    @property
    def vals(self) -> list[HistField]:
        """Values and variables."""
        return self.fields[: self.n_vals]

    @property
    def keys(self) -> list[HistField]:
        """The keys."""
        return self.fields[self.n_vals :]

    def add_var(self) -> int:
        """tracing_map_add_var().  EINVAL."""
        if self.next_var >= VARS_MAX:
            raise KernelError(EINVAL, "too many variables")
        self.next_var += 1
        return self.next_var - 1

    def parse_var_defs(self) -> None:
        """`a=expr,b=expr`.  EINVAL."""
        for assignment in self.attrs.assignments:
            for piece in assignment.split(","):
                name, equals, expression = piece.partition("=")
                if not equals:
                    raise self.log.fail(self.file, why.MALFORMED_ASSIGNMENT, name)
                if len(self.var_defs) == VARS_MAX:
                    raise self.log.fail(self.file, why.TOO_MANY_VARS, name)
                self.var_defs.append((name, expression))

    def create_vals(self) -> None:
        """hitcount, and what `vals=` says.  EINVAL."""
        hitcount = create_field(self, None, Fl.HITCOUNT)
        assert hitcount is not None
        self.fields.append(hitcount)
        self.n_vals = 1
        if self.attrs.vals is not None:
            self.add_vals(self.attrs.vals.split(","))
        if self.attrs.nohitcount and self.n_vals == 1:
            raise self.log.fail(self.file, why.NEED_NOHC_VAL, None, ENOENT)

    def add_vals(self, names: list[str]) -> None:
        """Those of `vals=`.  EINVAL."""
        taken = plain = 0
        for name in names:
            if taken >= VALS_MAX or self.n_vals >= VALS_MAX:
                break
            taken += 1
            if name == "hitcount" and not (plain and self.board.features.hist_hitcount):
                plain += 1
                continue
            self.add_val(name, None, NONE)
        rest = ",".join(names[taken:])
        if names[taken:] and rest != "hitcount":
            raise KernelError(EINVAL, "too many values")

    def add_val(self, text: str, var_name: str | None, flags: Fl) -> HistField:
        """__create_val_field().  EINVAL."""
        field = parse_expression(self, text, flags, var_name, Depth())
        if field.is_var:
            bad = Fl.GRAPH | Fl.PERCENT | Fl.BUCKET | Fl.LOG2
        else:
            bad = Fl.BUCKET | Fl.LOG2 | Fl.SYM | Fl.SYM_OFFSET | Fl.SYSCALL | Fl.STACKTRACE
        if field.flags & bad:
            raise self.log.fail(self.file, why.BAD_FIELD_MODIFIER, text)
        self.fields.append(field)
        self.n_vals += 1
        return field

    def create_var_field(self, name: str, expression: str) -> None:
        """A variable of this histogram.  EINVAL."""
        if self.find_var(name) is not None and not self.remove:
            raise self.log.fail(self.file, why.DUPLICATE_VAR, name)
        self.n_vars += 1
        field = self.add_val(expression, name, Fl.VAR)
        if Fl.EXECNAME in field.flags:
            field.flags = Fl.STRING | Fl.VAR | Fl.EXECNAME
            field.size, field.signed, field.type = MAX_FILTER_STR_VAL, False, EXECNAME_TYPE
            field.value = lambda hit: hit.comm.encode("latin-1")

    def create_keys(self) -> None:
        """What `keys=` says.  EINVAL."""
        assert self.attrs.keys is not None
        names = self.attrs.keys.split(",")
        for name in names[:KEYS_MAX]:
            self.create_key(name)
        if names[KEYS_MAX:]:
            raise KernelError(EINVAL, "too many keys")

    def create_key(self, text: str) -> None:
        """create_key_field().  EINVAL."""
        if text == "stacktrace" and not self.board.features.stack_fields:
            field = stack_field(self, HistField(self, Fl.KEY | Fl.STACKTRACE), None)
        else:
            field = parse_expression(self, text, Fl.KEY, None, Depth())
            if field.uses_vars():
                raise self.log.fail(self.file, why.INVALID_REF_KEY, text)
        field.size = -(-field.size // 8) * 8
        field.offset = self.key_size
        self.fields.append(field)
        self.key_size += field.size
        if self.key_size > MAX_FILTER_STR_VAL + self.board.word * HIST_STACKTRACE_DEPTH:
            raise KernelError(EINVAL, "the keys are too long")

    def create_sort_keys(self) -> None:
        """What `sort=` says: at most two, `hitcount` or a key or value.  EINVAL."""
        text, fail = self.attrs.sort, self.log.fail
        if text is None:
            return
        self.sort_keys = []
        names = text.split(",")
        for index, name in enumerate(names[:SORT_KEYS_MAX]):
            if not name:
                raise fail(self.file, why.EMPTY_SORT_FIELD, "sort=")
            if index == SORT_KEYS_MAX - 1 and names[SORT_KEYS_MAX:]:
                raise fail(self.file, why.TOO_MANY_SORT_FIELDS, "sort=")
            plain, dot, modifier = name.partition(".")
            if not plain:
                raise fail(self.file, why.EMPTY_SORT_FIELD, "sort=")
            number = 0 if plain == "hitcount" else self.sort_field(plain)
            if dot and modifier not in ("descending", "ascending"):
                raise fail(self.file, why.INVALID_SORT_MODIFIER, modifier)
            self.sort_keys.append((number, modifier == "descending"))

    def sort_field(self, name: str) -> int:
        """The number of a value or key, variables not counted.  EINVAL."""
        shown = [field for field in self.fields if not field.is_var]
        for number, field in enumerate(shown[1:], 1):
            if field_name(field) == name:
                return number
        raise self.log.fail(self.file, why.INVALID_SORT_FIELD, name)

    # Variables

    def find_own_var(self, name: str) -> HistField | None:
        """find_var_field()."""
        return next((field for field in self.fields if field.is_var and field.var_name == name), None)

    def find_var(self, name: str) -> HistField | None:
        """Of this histogram or another on the same event."""
        return self.find_own_var(name) or self.machine.find_file_var(self.file, name)

    def find_event_var(self, system: str | None, event: str | None, name: str) -> HistField | None:
        """A variable of any histogram: of the events that onmatch() names first."""
        machine, array = self.machine, self.file.array
        if not system or not event:
            found = None
            for action in self.actions:
                if action.handler != "onmatch":
                    continue
                file = machine.find_var_file(array, action.match_system, action.match_event, name)
                var = machine.find_file_var(file, name) if file is not None else None
                if var is not None and found is not None:
                    self.log.add(self.file, why.VAR_NOT_UNIQUE, name)
                    return None
                found = var or found
            if found is not None:
                return found
        file = machine.find_var_file(array, system, event, name)
        return machine.find_file_var(file, name) if file is not None else None

    def create_var(self, name: str, size: int, ctype: str) -> HistField:
        """A variable that no field of the line defines.  EINVAL."""
        if self.find_var(name) is not None and not self.remove:
            raise KernelError(EINVAL, f"{name} is defined already")
        return HistField(
            self, Fl.VAR, size=size, type=ctype, var_name=name, var_index=self.add_var(), var_owner=self
        )  # fmt: skip

    def create_field_var(self, name: str) -> tuple[HistField, HistField]:
        """A field of the record as a variable: (variable, value).  EINVAL."""
        if len(self.field_vars) >= FIELDS_MAX:
            raise self.log.fail(self.file, why.TOO_MANY_FIELD_VARS, name)
        try:
            value = parse_atom(self, name, Fl.VAR)
        except KernelError as error:
            raise self.log.fail(self.file, why.FIELD_VAR_PARSE_FAIL, name, error.errno) from error
        try:
            var = self.create_var(name, value.size, value.type)
        except KernelError as error:
            raise self.log.fail(self.file, why.VAR_CREATE_FIND_FAIL, name, error.errno) from error
        var.signed = False
        var.flags |= value.flags & Fl.STACKTRACE
        return var, value

    def uses_vars(self) -> bool:
        """has_hist_vars(), or it refers to some."""
        return bool(self.var_refs) or any(field.uses_vars() for field in self.fields)

    # Actions

    def create_actions(self) -> None:
        """Find the events and variables that actions name.  EINVAL, EBUSY, EEXIST."""
        for action in self.actions:
            if action.handler != "onmatch":
                self.create_tracking(action)
            if action.kind == "trace":
                self.create_trace(action)
            elif action.kind == "snapshot":
                self.create_snapshot(action)
            elif action.kind == "save":
                self.create_save(action)

    def create_tracking(self, action: Action) -> None:
        """track_data_create()."""
        text = action.var_text
        if not text.startswith("$"):
            raise self.log.fail(self.file, why.ONX_NOT_VAR, text)
        var = self.find_own_var(text[1:])
        if var is None:
            raise self.log.fail(self.file, why.ONX_VAR_NOT_FOUND, text[1:])
        action.var_ref = create_var_ref(self, var, None, None)
        if action.var_ref is None:
            raise KernelError(ENOMEM, "too many references")
        try:
            action.track_var = self.create_var("__max" if action.handler == "onmax" else "__change", 8, "u64")
        except KernelError as error:
            raise self.log.fail(self.file, why.ONX_VAR_CREATE_FAIL, None, error.errno) from error

    def create_snapshot(self, action: Action) -> None:
        """tracing_snapshot_cond_enable(): nobody else takes snapshots of this array then.  EBUSY."""
        array = self.file.array
        array.allocate_snapshot()
        if array.condition is not None:
            raise KernelError(EBUSY, "another histogram takes the snapshots")
        array.condition = Track(action, self)

    def create_save(self, action: Action) -> None:
        """The fields that save() names.  EEXIST for a second save()."""
        if self.save_vars:
            raise self.log.fail(self.file, why.TOO_MANY_SAVE_ACTIONS, None, EEXIST)
        for param in action.params:
            try:
                self.save_vars.append(self.create_field_var(param))
            except KernelError as error:
                raise self.log.fail(self.file, why.FIELD_VAR_CREATE_FAIL, param, error.errno) from error

    def create_trace(self, action: Action) -> None:
        """trace_action_create(): parameters and fields of the synthetic event have to fit.  EINVAL."""
        name = (action.synth_name if action.use_trace else action.name) or ""
        synth = self.machine.synth.find(name)
        if synth is None:
            raise self.log.fail(self.file, why.SYNTH_EVENT_NOT_FOUND, name)
        for index, param in enumerate(action.params):
            system: str | None = None
            event: str | None = None
            word = param
            if "." in param:
                parts = param.split(".", 2)
                if len(parts) < 3:
                    raise KernelError(EINVAL, "give <system>.<event>.<variable>")
                system, event, word = parts
            var = self.action_var(action, system, event, word)
            if var is None:
                raise KernelError(EINVAL, f"no {word}")
            if not fits(synth, var, index):
                raise self.log.fail(self.file, why.SYNTH_TYPE_MISMATCH, word)
            ref = create_var_ref(self, var, system, event)
            if ref is None:
                raise KernelError(ENOMEM, "too many references")
            action.ref_indexes.append(ref.ref_index)
        if len(action.params) != len(synth.parts):
            raise self.log.fail(self.file, why.SYNTH_COUNT_MISMATCH, synth.name)
        synth.uses += 1
        action.synth = synth

    def action_var(self, action: Action, system: str | None, event: str | None, word: str) -> HistField | None:
        """The variable that a parameter of trace() stands for; one is made for a field."""
        own = system is None or (system, event) == (self.file.event.system, self.file.event.name)
        matched = (action.match_system, action.match_event) if action.handler == "onmatch" else (None, None)
        if word.startswith("$"):
            found = self.find_own_var(word[1:]) if own else None
            if found is None:
                if system is None:
                    system, event = matched
                found = self.find_event_var(system, event, word[1:])
            if found is None:
                self.log.add(self.file, why.PARAM_NOT_FOUND, word[1:])
            return found
        if own:
            try:
                pair = self.create_field_var(word)
            except KernelError:
                pass
            else:
                self.field_vars.append(pair)
                return pair[0]
        if system is None:
            system, event = matched
        if not event or system is None:
            return None
        return self.field_of_other(system, event, word)

    def field_of_other(self, system: str, event: str, name: str) -> HistField | None:
        """create_field_var_hist(): a histogram on the matched event that keeps one of its fields."""
        if len(self.field_var_hists) >= FIELDS_MAX:
            self.log.add(self.file, why.TOO_MANY_FIELD_VARS, name)
            return None
        found = self.machine.events.get_any(system, event)
        if found is None:
            self.log.add(self.file, why.EVENT_FILE_NOT_FOUND, name)
            return None
        file = found.file(self.file.array)
        other = next((hist for hist in self.machine.hists_on(file) if self.same_keys(hist)), None)
        if other is None:
            self.log.add(self.file, why.HIST_NOT_FOUND, name)
            return None
        known = self.find_event_var(system, event, f"synthetic_{name}")
        if known is not None:
            return known
        assert isinstance(other, HistData)
        keys = ",".join(key.field.name if key.field is not None else "" for key in other.keys)
        command = f"keys={keys}:synthetic_{name}={name}"
        condition = self.machine.filter_of(other)
        if condition is not None:
            command += f" if {condition}"
        try:
            self.machine.parse(file, "", False, command)
        except KernelError:
            self.log.add(self.file, why.HIST_CREATE_FAIL, name)
            return None
        self.field_var_hists.append((file, command))
        var = self.find_event_var(system, event, f"synthetic_{name}")
        if var is None:
            self.log.add(self.file, why.SYNTH_VAR_NOT_FOUND, name)
        return var

    def same_keys(self, other: HistBase) -> bool:
        """compatible_keys()."""
        if not isinstance(other, HistData) or len(other.keys) != len(self.keys):
            return False
        return all(
            (mine.type, mine.size, mine.signed) == (theirs.type, theirs.size, theirs.signed)
            for mine, theirs in zip(self.keys, other.keys)
        )

    def destroy(self) -> None:
        """destroy_hist_data(), and the histograms that were made for this one."""
        for file, command in self.field_var_hists:
            self.machine.parse(file, "!hist", True, command)
        self.field_var_hists = []
        self.board.host.mem.charge(-self.kept)
        self.kept = 0
        array = self.file.array
        for action in self.actions:
            if action.synth is not None:
                action.synth.uses -= 1
                action.synth = None
        if isinstance(array.condition, Track) and array.condition.hist is self:
            array.condition = None

    # Records

    def hit(self, record: bytes, ts: int, stack: Iterable[int]) -> None:
        """event_hist_trigger()."""
        host = self.host
        hit = Hit(record, ts, host.cpu_id(), "", [0] * len(self.var_refs), tuple(stack))
        key = self.key_of(hit)
        if not self.resolve(hit, key, own=False):
            return
        pid = host.current_pid()
        entry = self.table.insert(key, host.current_comm() if pid else "<idle>")
        if entry is None:
            return
        hit.comm = entry.comm
        self.update(hit, entry)
        if self.resolve(hit, key, own=True):
            for action in self.actions:
                self.act(action, hit, entry, key)

    @property
    def wants_stack(self) -> bool:
        """One of them is where the event fired."""
        return any(Fl.STACKTRACE in field.flags and field.field is None for field in self.fields)

    def key_of(self, hit: Hit) -> bytes:
        """The compound key: numbers as 64 bits, strings and stacks in their room."""
        order, word = self.board.byteorder, self.board.word
        key = bytearray(self.key_size)
        for field in self.keys:
            start, size = field.offset, field.size
            value = field.get(hit)
            if isinstance(value, tuple):
                data = b"".join(address.to_bytes(word, order) for address in value[:HIST_STACKTRACE_DEPTH])
            else:
                data = value if isinstance(value, bytes) else self.number_key(value)
                if isinstance(value, bytes):
                    data = data[: self.string_room(field, hit)]
            key[start : start + len(data[:size])] = data[:size]
        return bytes(key)

    def number_key(self, value: Value) -> bytes:
        """A number in a key."""
        return (value & VALUE_MASK if isinstance(value, int) else 0).to_bytes(8, self.board.byteorder)

    def string_room(self, key: HistField, hit: Hit) -> int:
        """add_to_key(): as much of a string as its field in the record has, and the key's room without the NUL."""
        field, room = key.field, key.size
        if field is not None and field.filter_type == FILTER_DYN_STRING:
            room = int.from_bytes(hit.record[field.offset : field.offset + 4], self.board.byteorder) >> 16
        elif field is not None and field.filter_type == FILTER_STATIC_STRING:
            room = field.size
        return min(room, key.size - 1)

    def resolve(self, hit: Hit, key: bytes, own: bool) -> bool:
        """resolve_var_refs(): the values of variables of this or of other histograms; False if one is not set."""
        for index, ref in enumerate(self.var_refs):
            owner = ref.var_owner
            if not isinstance(owner, HistData):
                return False
            if own != (owner is self):
                continue
            entry = owner.table.lookup(key[: owner.key_size].ljust(owner.key_size, b"\0"))
            if entry is None or ref.var_index not in entry.is_set:
                return False
            hit.refs[index] = entry.var(ref.var_index)
            if not own and ref.read_once:
                entry.is_set.discard(ref.var_index)
        return True

    def update(self, hit: Hit, entry: Entry) -> None:
        """hist_trigger_elt_update()."""
        for index, field in enumerate(self.vals):
            value = field.get(hit)
            if field.is_var:
                entry.set_var(field.var_index, value)
            elif isinstance(value, int):
                entry.add(index, value)
        for var, value_field in self.field_vars:
            entry.set_var(var.var_index, value_field.get(hit))

    def act(self, action: Action, hit: Hit, entry: Entry, key: bytes) -> None:
        """What an action does when its record comes: onmatch at once, the others when the variable says so."""
        if action.handler == "onmatch":
            self.fire(action, hit)
            return
        assert action.var_ref is not None and action.track_var is not None
        value = hit.refs[action.var_ref.ref_index]
        tracked = entry.var(action.track_var.var_index)
        if not isinstance(value, int) or not isinstance(tracked, int) or not action.exceeds(tracked, value):
            return
        entry.set_var(action.track_var.var_index, value)
        if action.kind == "save":
            for var, value_field in self.save_vars:
                entry.set_var(var.var_index, value_field.get(hit))
        elif action.kind == "snapshot":
            self.snapshot(action, entry, key)
        else:
            self.fire(action, hit)

    def fire(self, action: Action, hit: Hit) -> None:
        """action_trace()."""
        if isinstance(action.synth, SynthEvent):
            action.synth.fire([hit.refs[index] for index in action.ref_indexes])

    def snapshot(self, action: Action, entry: Entry, key: bytes) -> None:
        """cond_snapshot_update()."""
        array = self.file.array
        track = array.condition
        if not isinstance(track, Track) or track.hist is not self or action.track_var is None:
            return
        value = entry.var(action.track_var.var_index)
        if isinstance(value, int) and track.action.exceeds(track.value, value):
            track.value, track.key, track.comm, track.updated = value, key, entry.comm, True
            array.swap()


def fits(synth: SynthEvent, var: HistField, index: int) -> bool:
    """check_synth_field(): may this variable be that field?"""
    if index >= len(synth.parts):
        return False
    part = synth.parts[index]
    if "char[" in var.type and part.is_string and part.is_dynamic:
        return True
    if (Fl.STACKTRACE in var.flags) != part.is_stack:
        return False
    if part.is_stack or part.type == var.type:
        return True
    return part.size == var.size and (part.is_string or part.signed == var.signed)


def strip_offset_names(text: str) -> str:
    """`.sym-offset` would be read as a subtraction."""
    return re.sub(r"\.sym-offset", ".symXoffset", text)
