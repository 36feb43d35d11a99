"""From text to fields: names with modifiers, numbers, references to variables, expressions.  trace_events_hist.c:parse_expr()."""

from __future__ import annotations

from arch.abi.errno import EDOM, EINVAL, ENOMEM
from arch.cstring import kstrto
from arch.errors import KernelError
from tracing.board import Board
from tracing.record.event import EventFile
from tracing.record.fields import (
    FILTER_COMM,
    FILTER_CPU,
    FILTER_DYN_STRING,
    FILTER_PTR_STRING,
    FILTER_STACKTRACE,
    FILTER_STATIC_STRING,
    Field,
)
from tracing.record.filter import MAX_FILTER_STR_VAL
from tracing.triggers.hist import errors as why
from tracing.triggers.hist.attrs import VARS_MAX, Attrs
from tracing.triggers.hist.errors import HistLog
from tracing.triggers.hist.fields import (
    HIST_STACKTRACE_DEPTH,
    NONE,
    OPERATORS,
    VALUE_MASK,
    Fl,
    HistField,
    Hit,
    Owner,
    Value,
    divide_by_constant,
    expression_text,
    log2_of,
    reader_of,
)

TIMES = Fl.TIMESTAMP | Fl.TIMESTAMP_USECS


class HistBase(Owner):
    """The histogram that is being made, as far as reading its fields needs it."""

    board: Board
    file: EventFile
    log: HistLog
    attrs: Attrs
    var_defs: list[tuple[str, str]]
    var_refs: list[HistField]
    enable_timestamps: bool

    def find_event_var(self, system: str | None, event: str | None, name: str) -> HistField | None:
        """find_event_var(): a variable of any histogram."""
        raise NotImplementedError


def root_operator(text: str) -> tuple[str, int]:
    """contains_operator(): ("" or the operator that is applied last, where it stands); `u` for unary minus."""
    minus, plus = text.rfind("-"), text.rfind("+")
    if minus == 0:
        return "u", 0
    if minus > 0 or plus >= 0:
        return ("+", plus) if plus > minus else ("-", minus)
    times, by = text.rfind("*"), text.rfind("/")
    if times < 0 and by < 0:
        return "", -1
    return ("*", times) if times > by else ("/", by)


def create_field(hist: HistBase, field: Field | None, flags: Fl, var_name: str | None = None) -> HistField | None:
    """create_hist_field(); None for a field that has no value."""
    made = HistField(hist, flags, field, var_name=var_name)
    if Fl.STACKTRACE in flags:
        return stack_field(hist, made, field)
    if flags & (Fl.EXPR | Fl.ALIAS) and not flags & (Fl.HITCOUNT | Fl.CONST):
        return made
    if Fl.HITCOUNT in flags:
        made.size, made.type, made.value = 8, "u64", lambda hit: 1
    elif Fl.CONST in flags:
        made.size, made.type, made.value = 8, "u64", lambda hit: made.constant
    elif flags & (Fl.LOG2 | Fl.BUCKET):
        operand = create_field(hist, field, flags & ~(Fl.LOG2 | Fl.BUCKET))
        if operand is None:
            return None
        made.operands, made.size, made.type = (operand,), operand.size, operand.type
        if Fl.LOG2 in flags:
            made.value = lambda hit: log2_of(operand.number(hit))
        else:
            made.value = lambda hit: operand.number(hit) // made.buckets * made.buckets
    elif Fl.TIMESTAMP in flags:
        made.size, made.type = 8, "u64"
        attrs, array = hist.attrs, hist.file.array
        made.value = lambda hit: (hit.ts + 500) // 1000 if attrs.ts_in_usecs and array.clock_in_ns else hit.ts
    elif Fl.CPU in flags:
        made.size, made.type, made.value = 4, "unsigned int", lambda hit: hit.cpu
    elif Fl.COMM in flags:
        host = hist.board.host
        made.size, made.type, made.value = (
            MAX_FILTER_STR_VAL,
            "char[]",
            lambda hit: host.current_comm().encode("latin-1"),
        )
        made.flags |= Fl.STRING
    elif field is not None:
        return plain_field(hist, made, field)
    return made


def stack_field(hist: HistBase, made: HistField, field: Field | None) -> HistField:
    """Where the event fired, or a field of it that is a stack."""
    word, order = hist.board.word, hist.board.byteorder
    made.size, made.type = word * HIST_STACKTRACE_DEPTH, "unsigned long[]"
    if field is None:
        made.value = lambda hit: hit.stack
        return made
    offset = field.offset

    def recorded(hit: Hit) -> Value:
        loc = int.from_bytes(hit.record[offset : offset + 4], order)
        data = hit.record[loc & 0xFFFF :][: loc >> 16]
        return tuple(int.from_bytes(data[start : start + word], order) for start in range(0, len(data), word))

    made.value = recorded
    return made


def plain_field(hist: HistBase, made: HistField, field: Field) -> HistField | None:
    """A field of the record."""
    if is_stack(field) and hist.board.features.stack_fields:
        made.flags |= Fl.STACKTRACE
        made.signed = field.signed  # unlike one by its modifier
        return stack_field(hist, made, field)
    made.type, made.size, made.signed = field.type, field.size, field.signed
    if field.filter_type in (FILTER_STATIC_STRING, FILTER_DYN_STRING):
        made.flags |= Fl.STRING
        made.size = field.size if field.filter_type == FILTER_STATIC_STRING else MAX_FILTER_STR_VAL
        made.signed = False
    elif field.is_string and field.filter_type != FILTER_PTR_STRING:  # the task's name: no field of the record
        made.flags |= Fl.STRING
        made.size, made.value = MAX_FILTER_STR_VAL, lambda hit: b""
        return made
    made.value = reader_of(field, hist.board.byteorder)
    return made if made.value is not None else None


def is_stack(field: Field) -> bool:
    """A field of a synthetic event that holds one."""
    return field.is_data_loc and "long[" in field.type


# References to variables


def is_var_ref(text: str) -> bool:
    """`$name`."""
    return len(text) >= 2 and text[0] == "$"


def create_var_ref(hist: HistBase, var: HistField, system: str | None, event: str | None) -> HistField | None:
    """create_var_ref(): one for each variable; None when there are too many."""
    for known in hist.var_refs:
        if known.var_index == var.var_index and known.var_owner is var.var_owner:
            return known
    if len(hist.var_refs) >= VARS_MAX:
        return None
    ref = HistField(var.owner, Fl.VAR_REF)
    init_var_ref(ref, var, system, event)
    index = ref.ref_index = len(hist.var_refs)
    ref.value = lambda hit: hit.refs[index]
    hist.var_refs.append(ref)
    return ref


def init_var_ref(ref: HistField, var: HistField, system: str | None, event: str | None) -> None:
    """What a reference has of its variable."""
    ref.var_index, ref.var_owner = var.var_index, var.var_owner
    ref.size, ref.signed, ref.type = var.size, var.signed, var.type
    ref.flags |= var.flags & (TIMES | Fl.STACKTRACE)
    ref.system, ref.event_name = system, event
    ref.name = var.var_name or var.name


def local_field(hist: HistBase, system: str | None, event: str | None, name: str) -> str | None:
    """local_field_var_ref(): the field that a variable of this very line stands for."""
    if system and event and (system, event) != (hist.file.event.system, hist.file.event.name):
        return None
    if bool(system) != bool(event) or not is_var_ref(name):
        return None
    for defined, expression in hist.var_defs:
        if defined == name[1:] and not root_operator(expression)[0] and not is_var_ref(expression):
            return expression
    return None


def parse_var_ref(hist: HistBase, system: str | None, event: str | None, name: str) -> HistField | None:
    """A variable of this or another histogram; an unknown one is logged."""
    if not is_var_ref(name):
        return None
    var = hist.find_event_var(system, event, name[1:])
    ref = create_var_ref(hist, var, system, event) if var is not None else None
    if ref is None:
        hist.log.add(hist.file, why.VAR_NOT_FOUND, name[1:])
    return ref


# One name


def parse_field(hist: HistBase, text: str, flags: Fl) -> tuple[Field | None, Fl, int]:
    """parse_field(): (field of the record, flags with the modifier's, buckets).  EINVAL."""
    name, dot, modifier = text.partition(".")
    buckets = 0
    if dot:
        flags, buckets = parse_modifier(hist, name, modifier, flags)
    if name == "common_timestamp":
        hist.enable_timestamps = True
        if Fl.TIMESTAMP_USECS in flags:
            hist.attrs.ts_in_usecs = True
        return None, flags | Fl.TIMESTAMP, buckets
    features = hist.board.features
    for word, flag, known in (
        ("common_cpu", Fl.CPU, True), ("common_stacktrace", Fl.STACKTRACE, features.stack_fields),
        ("hitcount", Fl.HITCOUNT, features.hist_hitcount), ("common_comm", Fl.COMM, features.hist_comm),
    ):  # fmt: skip
        if name == word and known:
            return None, flags | flag, buckets
    field = hist.file.event.find_field(name)
    if field is not None and field.filter_type == FILTER_CPU:
        return field, flags | Fl.CPU, buckets
    if field is not None and field.filter_type == FILTER_STACKTRACE:
        return None, flags | Fl.STACKTRACE, buckets
    if field is not None and field.filter_type == FILTER_COMM and features.hist_comm:
        return field, flags | Fl.COMM, buckets
    if field is None or not field.size:
        raise hist.log.fail(hist.file, why.NO_SUCH_FIELD, name)
    return field, flags, buckets


PLAIN_MODIFIERS = {
    "hex": Fl.HEX, "sym": Fl.SYM, "symXoffset": Fl.SYM_OFFSET, "syscall": Fl.SYSCALL, "log2": Fl.LOG2,
    "usecs": Fl.TIMESTAMP_USECS,
}  # fmt: skip


def parse_modifier(hist: HistBase, name: str, modifier: str, flags: Fl) -> tuple[Fl, int]:
    """What stands behind the dot.  EINVAL."""
    if modifier in PLAIN_MODIFIERS:
        return flags | PLAIN_MODIFIERS[modifier], 0
    if modifier == "execname" and name == "common_pid":
        return flags | Fl.EXECNAME, 0
    if modifier.startswith("bucket"):
        modifier = modifier.removeprefix("bucket").removeprefix("s")
        if modifier.startswith("="):
            modifier = modifier[1:]
            try:
                buckets = kstrto(modifier, 0, 64, False)
            except KernelError:
                buckets = 0
            if buckets:
                return flags | Fl.BUCKET, buckets
    elif modifier.startswith("stacktrace") and hist.board.features.stack_fields:
        return flags | Fl.STACKTRACE, 0
    elif modifier.startswith("percent") and not flags & (Fl.VAR | Fl.KEY):
        return flags | Fl.PERCENT, 0
    elif modifier.startswith("graph") and not flags & (Fl.VAR | Fl.KEY):
        return flags | Fl.GRAPH, 0
    raise hist.log.fail(hist.file, why.BAD_FIELD_MODIFIER, modifier)


def parse_atom(hist: HistBase, text: str, flags: Fl, var_name: str | None = None) -> HistField:
    """A number, `$variable`, `$system.event.variable`, or a field with its modifier.  EINVAL, ENOMEM."""
    if text[:1].isdigit():
        return parse_constant(hist, text, flags, var_name)
    system: str | None = None
    event: str | None = None
    ref = text
    if text.count(".") >= 2:
        system, event, text = text.split(".", 2)
        ref = text
    local = local_field(hist, system, event, ref)
    if local is not None:
        text = local
    else:
        found = parse_var_ref(hist, system, event, ref)
        if found is not None:
            return create_alias(hist, found, var_name) if var_name is not None else found
    field, flags, buckets = parse_field(hist, text, flags)
    if Fl.STACKTRACE in flags and field is not None and not is_stack(field):
        raise hist.log.fail(hist.file, why.BAD_FIELD_MODIFIER, text)
    made = create_field(hist, field, flags, var_name)
    if made is None:
        raise KernelError(ENOMEM, f"{text} has no value")
    made.buckets = buckets
    return made


def create_alias(hist: HistBase, ref: HistField, var_name: str) -> HistField:
    """A variable that is another one."""
    alias = HistField(hist, Fl.ALIAS | Fl.VAR, var_name=var_name, operands=(ref,), value=ref.value)
    init_var_ref(alias, ref, ref.system, ref.event_name)
    alias.var_name = var_name
    alias.ref_index = ref.ref_index
    return alias


def parse_constant(hist: HistBase, text: str, flags: Fl, var_name: str | None) -> HistField:
    """A number.  EINVAL."""
    try:
        constant = kstrto(text, 0, 64, False)
    except KernelError:
        raise hist.log.fail(hist.file, why.EXPECT_NUMBER, text) from None
    made = create_field(hist, None, flags | Fl.CONST, var_name)
    assert made is not None
    made.constant = constant
    return made


# Expressions


class Depth:
    """How many operators were met."""

    def __init__(self) -> None:
        self.count = 0


def parse_expression(hist: HistBase, text: str, flags: Fl, var_name: str | None, depth: Depth) -> HistField:
    """parse_expr(): left to right, * and / before + and -.  EINVAL, EDOM."""
    if depth.count > 3:
        raise hist.log.fail(hist.file, why.TOO_MANY_SUBEXPR, text)
    operator, at = root_operator(text)
    if not operator:
        return parse_atom(hist, text, flags, var_name)
    if operator == "u":
        return parse_unary(hist, text, flags, var_name, depth)
    depth.count += 1
    left, right = text[:at], text[at + 1 :]
    if not left or not right:
        raise KernelError(EINVAL, "an operand is missing")
    first = parse_expression(hist, left, NONE, None, depth)
    if Fl.STRING in first.flags:
        raise hist.log.fail(hist.file, why.INVALID_STR_OPERAND, cut_at_operator(left))
    second = parse_expression(hist, right, NONE, None, depth)
    if Fl.STRING in second.flags:
        raise hist.log.fail(hist.file, why.INVALID_STR_OPERAND, cut_at_operator(right))
    return binary(hist, operator, first, second, right, flags, var_name)


def cut_at_operator(text: str) -> str:
    """The text as parsing it has left it: cut at its operator."""
    operator, at = root_operator(text)
    return text[:at] if operator not in ("", "u") else text


def cut_at_operators(text: str) -> str:
    """What parsing has left of a variable's text, and what the variable means behind it in the same line: its first operand."""
    while (cut := cut_at_operator(text)) != text:
        text = cut
    return text


def binary(
    hist: HistBase, operator: str, first: HistField, second: HistField, right: str, flags: Fl, var_name: str | None
) -> HistField:
    """Two operands made one."""
    first_var, second_var = variable_of(first), variable_of(second)
    first_flags = first_var.flags if first_var is not None else first.flags
    second_flags = second_var.flags if second_var is not None else second.flags
    if (first_flags ^ second_flags) & Fl.TIMESTAMP_USECS:
        raise hist.log.fail(hist.file, why.TIMESTAMP_MISMATCH, None)
    constants = bool(first_flags & second_flags & Fl.CONST)
    flags |= Fl.CONST if constants else Fl.EXPR
    flags |= first.flags & TIMES
    made = create_field(hist, None, flags, var_name)
    assert made is not None
    first.read_once = second.read_once = True
    made.operands = (first, second)
    apply = OPERATORS[operator]
    if operator == "/" and Fl.CONST in second_flags:
        divisor = second_var.constant if second_var is not None else second.constant
        if not divisor:
            raise hist.log.fail(hist.file, why.DIVISION_BY_ZERO, cut_at_operator(right), EDOM)
        second.constant = divisor
        by = divide_by_constant(divisor)
        made.value = lambda hit: by(first.number(hit))
    else:
        made.value = lambda hit: apply(first.number(hit), second.number(hit))
    if constants:
        a = (first_var or first).constant
        b = (second_var or second).constant
        made.constant = divide_by_constant(b)(a) if operator == "/" else apply(a, b)
        made.operands = ()
        made.value = lambda hit: made.constant
        made.name = expression_text(made)
        return made
    made.size, made.signed, made.type, made.operator = first.size, first.signed, first.type, operator
    made.name = expression_text(made)
    return made


def variable_of(operand: HistField) -> HistField | None:
    """The variable that an operand refers to.  EINVAL."""
    if not operand.flags & (Fl.VAR_REF | Fl.ALIAS):
        return None
    owner = operand.var_owner
    found = owner.find_own_var(operand.name or "") if owner is not None else None
    if found is None:
        raise KernelError(EINVAL, "no such variable")
    return found


def parse_unary(hist: HistBase, text: str, flags: Fl, var_name: str | None, depth: Depth) -> HistField:
    """`-(...)`.  EINVAL."""
    depth.count += 1
    if depth.count > 3:
        raise hist.log.fail(hist.file, why.TOO_MANY_SUBEXPR, text)
    text = text[1:]
    if "(" not in text:
        raise KernelError(EINVAL, "unary minus needs parentheses")
    text = text[1:]
    close = text.rfind(")")
    if close < 0:
        raise KernelError(EINVAL, "no closing parenthesis")
    if text[close + 1 :]:
        raise hist.log.fail(hist.file, why.UNARY_MINUS_SUBEXPR, text)
    text = text[:close]
    operand = parse_expression(hist, text, NONE, None, depth)
    if Fl.STRING in operand.flags:
        raise hist.log.fail(hist.file, why.INVALID_STR_OPERAND, cut_at_operator(text))
    made = HistField(hist, flags | Fl.EXPR | (operand.flags & TIMES), var_name=var_name)
    made.operands, made.operator = (operand,), "u"
    made.size, made.signed, made.type = operand.size, operand.signed, operand.type
    made.value = lambda hit: -operand.number(hit) & VALUE_MASK
    made.name = expression_text(made)
    return made
