"""How a histogram prints: its line in `trigger`, and the file `hist`.  trace_events_hist.c:event_hist_trigger_print(), hist_show()."""

from __future__ import annotations

from arch.memory import ByteOrder
from tracing.record.fields import Field
from tracing.triggers.hist.actions import Action, Track
from tracing.triggers.hist.data import HistData
from tracing.triggers.hist.fields import HIST_STACKTRACE_DEPTH, VALUE_MASK, Fl, HistField, field_name
from tracing.triggers.hist.table import Compare, Entry

BAR_SIZE = 20
DIV0 = 0xFFFFFFFF
AS_NUMBERS = Fl.HEX | Fl.SYM | Fl.SYM_OFFSET | Fl.EXECNAME | Fl.SYSCALL  # what a key is shown by before it is a stack


# The line of the file `trigger`


def field_text(hist: HistData, field: HistField) -> str:
    """hist_field_print()."""
    name = field_name(field)
    text = f"{field.var_name}=" if field.var_name else ""
    if Fl.CPU in field.flags:
        text += "common_cpu" + (name if hist.board.features.hist_cpu_twice else "")
    elif Fl.COMM in field.flags:
        text += "common_comm"
    elif Fl.CONST in field.flags:
        text += str(field.constant)
    else:
        text += ("$" if field.flags & (Fl.VAR_REF | Fl.ALIAS) else "") + name
    if not field.flags & (Fl.VAR_REF | Fl.EXPR) and field.modifier:
        text += f".{field.modifier}"
    return text + (f"={field.buckets}" if field.buckets else "")


def line_text(hist: HistData, name: str | None, condition: str | None, paused: bool) -> str:
    """event_hist_trigger_print()."""
    keys = ",".join(stack_name(hist, key) if Fl.STACKTRACE in key.flags else field_text(hist, key) for key in hist.keys)
    first = [] if hist.attrs.nohitcount else ["hitcount"]
    vals = ",".join(first + [field_text(hist, val) for val in hist.vals[1:] if not val.is_var])
    text = "hist:" + (f"{name}:" if name else "") + f"keys={keys}:vals={vals}"
    variables = [field_text(hist, val) for val in hist.vals if val.is_var]
    if variables:
        text += ":" + ",".join(variables)
    text += ":sort=" + ",".join(sort_text(hist, number, down) for number, down in hist.sort_keys)
    text += f":size={1 << hist.table.bits}"
    if hist.enable_timestamps:
        text += f":clock={hist.attrs.clock}"
    if hist.attrs.nohitcount:
        text += ":nohitcount"
    text += "".join(action_text(hist, action) for action in hist.actions)
    if condition is not None:
        text += f" if {condition}"
    return text + (" [paused]\n" if paused else " [active]\n")


def stack_name(hist: HistData, key: HistField) -> str:
    """A stack among the keys."""
    if key.field is not None:
        return f"{key.field.name}.stacktrace"
    return "common_stacktrace" if hist.board.features.stack_fields else "stacktrace"


def sort_text(hist: HistData, number: int, descending: bool) -> str:
    """One sort key."""
    shown = [field for field in hist.fields if not field.is_var]
    return ("hitcount" if not number else field_text(hist, shown[number])) + (".descending" if descending else "")


def action_text(hist: HistData, action: Action) -> str:
    """print_actions_spec()."""
    if action.handler == "onmatch":
        head = f":onmatch({action.match_system}.{action.match_event})"
    else:
        head = f":{action.handler}({action.var_text})"
    if action.kind == "save":
        inside = ",".join(var.var_name or "" for var, _ in hist.save_vars)
    elif action.kind == "trace":
        inside = ",".join(([action.synth_name or ""] if action.use_trace else []) + action.params)
    else:
        inside = ""
    return f"{head}.{action.name}({inside})"


# The file `hist`


def hist_text(hist: HistData, line: str) -> str:
    """hist_trigger_show(): one histogram."""
    entries = hist.table.sorted([comparer(hist, number, down) for number, down in hist.sort_keys])
    out = [f"# event histogram\n#\n# trigger info: {line}#\n\n"]
    stats = statistics(hist, entries)
    out += [entry_text(hist, entry, stats) for entry in entries]
    out.append(snapshot_text(hist))
    table = hist.table
    out.append(f"\nTotals:\n    Hits: {table.hits}\n    Entries: {len(entries)}\n    Dropped: {table.drops}\n")
    return "".join(out)


def comparer(hist: HistData, number: int, descending: bool) -> Compare:
    """The comparison of one sort key."""
    sign = -1 if descending else 1
    shown = [(index, field) for index, field in enumerate(hist.fields) if not field.is_var]
    index, field = shown[number]
    if index < hist.n_vals:
        return lambda a, b: sign * order(a.sums.get(index, 0), b.sums.get(index, 0))
    start, end, byteorder = field.offset, field.offset + field.size, hist.board.byteorder
    if Fl.STACKTRACE in field.flags:
        return lambda a, b: 0
    source = field.field
    if source is not None and Fl.CPU not in field.flags and source.is_string:

        def text(entry: Entry) -> bytes:
            return entry.key[start:end].split(b"\0", 1)[0]

        return lambda a, b: sign * order(text(a), text(b))
    return lambda a, b: (
        sign * order(key_number(a, start, byteorder, source, field), key_number(b, start, byteorder, source, field))
    )


def key_number(entry: Entry, start: int, byteorder: ByteOrder, source: Field | None, key: HistField) -> int:
    """A number of the key, cut to the width of its field."""
    value = int.from_bytes(entry.key[start : start + 8], byteorder)
    size, signed = (source.size, source.signed) if source is not None else (8, key.signed)
    value &= (1 << 8 * size) - 1
    return value - (1 << 8 * size) if signed and value >> (8 * size - 1) else value


def order(a: int | bytes, b: int | bytes) -> int:
    """-1, 0 or 1."""
    if isinstance(a, bytes) and isinstance(b, bytes):
        return (a > b) - (a < b)
    assert isinstance(a, int) and isinstance(b, int)
    return (a > b) - (a < b)


def statistics(hist: HistData, entries: list[Entry]) -> dict[int, tuple[int, int]]:
    """For values shown as a percentage or a bar: (total, largest)."""
    stats = {}
    for index, field in enumerate(hist.vals):
        if field.flags & (Fl.PERCENT | Fl.GRAPH):
            values = [entry.sums.get(index, 0) for entry in entries]
            stats[index] = (sum(values) & VALUE_MASK, max(values, default=0))
    return stats


def percentage(value: int, total: int) -> int:
    """__get_percentage(), in hundredths."""
    if total:
        if value < VALUE_MASK // 10000:
            return value * 10000 // total & DIV0
        total //= 10000
        if total:
            return value // total & DIV0
    return DIV0 if value else 0


def entry_text(hist: HistData, entry: Entry, stats: dict[int, tuple[int, int]]) -> str:
    """hist_trigger_entry_print()."""
    text = key_text(hist, entry.key, entry.comm)
    if not hist.attrs.nohitcount:
        text += f" hitcount: {entry.sums.get(0, 0):10d}"
    for index, field in enumerate(hist.vals[1:], 1):
        if not field.flags & (Fl.VAR | Fl.EXPR):
            text += " " + value_text(field, entry.sums.get(index, 0), stats.get(index, (0, 0)))
    for action in hist.actions:
        if action.handler != "onmatch" and action.kind != "snapshot":
            text += track_text(hist, entry, action)
    return text + "\n"


def value_text(field: HistField, value: int, stats: tuple[int, int]) -> str:
    """hist_trigger_print_val()."""
    name, (total, largest) = field_name(field), stats
    if Fl.PERCENT in field.flags:
        part = percentage(value, total)
        return f" {name} (%):[ERROR]" if part == DIV0 else f" {name} (%): {part // 100:3d}.{part % 100:02d}"
    if Fl.GRAPH in field.flags:
        part = percentage(value, largest)
        if part == DIV0:
            return f" {name}: {'[ERROR]':>20}"
        return f" {name}: {('#' * min(part * BAR_SIZE // 10000, BAR_SIZE)).ljust(BAR_SIZE)}"
    return f" {name}: {value:10x}" if Fl.HEX in field.flags else f" {name}: {value:10d}"


def track_text(hist: HistData, entry: Entry, action: Action) -> str:
    """track_data_print()."""
    assert action.track_var is not None
    word = "max" if action.handler == "onmax" else "changed"
    tracked = entry.var(action.track_var.var_index)
    text = f"\n\t{word}: {tracked if isinstance(tracked, int) else 0:10d}"
    for var, value_field in hist.save_vars:
        value = entry.var(var.var_index)
        if Fl.STRING in value_field.flags:
            shown = value.decode("latin-1") if isinstance(value, bytes) else ""
            text += f"  {var.var_name}: {shown:<32}"
        else:
            text += f"  {var.var_name}: {value if isinstance(value, int) else 0:10d}"
    return text


def snapshot_text(hist: HistData) -> str:
    """track_data_snapshot_print()."""
    track = hist.file.array.condition
    if not isinstance(track, Track) or not track.updated:
        return ""
    action = next((action for action in hist.actions if action.kind == "snapshot"), None)
    if action is None:
        return ""
    return (
        "\nSnapshot taken (see tracing/snapshot).  Details:\n"
        f"\ttriggering value {{ {action.handler}({action.var_text}) }}: {track.value:10d}"
        f"\ttriggered by event with key: {key_text(hist, track.key, track.comm)}\n"
    )


def key_text(hist: HistData, key: bytes, comm: str) -> str:
    """hist_trigger_print_key()."""
    pieces = [one_key(hist, field, key, comm) for field in hist.keys]
    multiline = any(Fl.STACKTRACE in field.flags and not field.flags & AS_NUMBERS for field in hist.keys)
    return "{ " + ", ".join(pieces) + ("}" if multiline else " }")


def one_key(hist: HistData, field: HistField, key: bytes, comm: str) -> str:
    """One of the keys, as its modifier says."""
    board, flags, name = hist.board, field.flags, field_name(field)
    data = key[field.offset : field.offset + field.size]
    value = int.from_bytes(data[:8], board.byteorder)
    if Fl.HEX in flags:
        return f"{name}: {value:x}"
    if Fl.SYM in flags:
        return f"{name}: [{value:x}] {board.addresses.symbol_name(value):<45}"
    if Fl.SYM_OFFSET in flags:
        return f"{name}: [{value:x}] {board.addresses.symbol_offset(value):<55}"
    if Fl.EXECNAME in flags:
        return f"{name}: {comm:<16}[{value:10d}]"
    if Fl.SYSCALL in flags:
        return f"{name}: {hist.machine.syscall_name(value) or 'unknown_syscall':<30}[{value:3d}]"
    if Fl.STACKTRACE in flags:
        return stack_name(hist, field) + ("" if field.field else ":\n") + stack_text(hist, data)
    if Fl.LOG2 in flags:
        return f"{name}: ~ 2^{value:<2d}"
    if Fl.BUCKET in flags:
        return f"{name}: ~ {value}-{(value + field.buckets - 1) & VALUE_MASK}"
    if Fl.STRING in flags:
        return f"{name}: {data.split(bytes(1), 1)[0].decode('latin-1'):<50}"
    return f"{name}: {value:10d}"


def stack_text(hist: HistData, data: bytes) -> str:
    """hist_trigger_stacktrace_print()."""
    word, out = hist.board.word, []
    for start in range(0, HIST_STACKTRACE_DEPTH * word, word):
        address = int.from_bytes(data[start : start + word], hist.board.byteorder)
        if not address:
            break
        out.append(" " * 9 + hist.board.addresses.symbol_offset(address) + "\n")
    return "".join(out)
