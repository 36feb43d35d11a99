"""kprobe_events, uprobe_events and dynamic_events: events that are defined by writing a line.

kernel/trace/trace_kprobe.c, trace_uprobe.c, trace_dynevent.c.  The line grammar is split: this module knows probe points,
names and the life of events; tracing/probes/fetch.py knows the arguments.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from arch.abi.errno import EADDRNOTAVAIL, EBUSY, ECANCELED, EEXIST, EILSEQ, EINVAL, ENOENT, ENOMEM
from arch.abi.limits import UINT_MAX
from arch.errors import KernelError
from tracing.face import TRACE_FLAG_IRQS_OFF
from tracing.probes.fetch import (
    MAX_TRACE_ARGS,
    FetchContext,
    FetchParser,
    FetchParser41,
    ProbeArg,
    ProbeError,
    compile_fetch,
    is_good_name,
    kstrto,
    print_values,
    split_symbol_offset,
)
from tracing.probes.kprobes import KRETPROBE_MAXACTIVE_MAX, Kprobe, Kretprobe, KretprobeInstance
from tracing.probes.uprobes import Uprobe, UprobeConsumer
from tracing.record.event import FTRACE, TraceEvent
from tracing.record.fields import COMMON_SIZE, Field, data_loc, filter_assign_type

if TYPE_CHECKING:
    from tracing.system import Tracing

MAX_EVENT_NAME_LEN = 64
WRITE_BUFSIZE = 4096


class NotMine(KernelError):
    """-ECANCELED of a create function: the line is of another kind."""

    def __init__(self) -> None:
        super().__init__(ECANCELED, "not this kind of definition")


# ------------------------------------------------------------------------------------------------- events


class ProbeEvent(TraceEvent):
    """The event of one or several probes with the same name and arguments (struct trace_probe_event)."""

    dynamic = True

    def __init__(self, tracing: Tracing, group: str, name: str, args: list[ProbeArg], is_return: bool) -> None:
        self.args = args
        self.is_return = is_return
        word = tracing.word
        heads = ("__probe_func", "__probe_ret_ip") if is_return else ("__probe_ip",)
        self.head = COMMON_SIZE + word * len(heads)
        fields = [Field("unsigned long", head, COMMON_SIZE + i * word, word, False) for i, head in enumerate(heads)]
        for arg in args:
            fields.append(
                Field(
                    arg.ctype,
                    arg.name,
                    self.head + arg.offset,
                    arg.size,
                    arg.type.signed,
                    filter_assign_type(arg.ctype),
                    length_shown=False,
                )
            )
        super().__init__(tracing, group, name, fields, probe_print_fmt(args, is_return))
        order = "<" if tracing.byteorder == "little" else ">"
        self.heads = struct.Struct(order + ("Q" if word == 8 else "I") * len(heads))
        codes = {1: "B", 2: "H", 4: "I", 8: "Q"}
        self.body = struct.Struct(order + "".join(f"{arg.count or 1}{codes[arg.type.size]}" for arg in args))
        self.probes: list[TraceProbe] = []

    def reg(self, kind: str) -> None:
        """Arm all probes; if one fails, none."""
        done: list[TraceProbe] = []
        try:
            for probe in self.probes:
                probe.arm(kind)
                done.append(probe)
        except KernelError:
            for probe in done:
                probe.disarm(kind)
            raise

    def unreg(self, kind: str) -> None:
        for probe in self.probes:
            probe.disarm(kind)

    def pack(self, heads: tuple[int, ...], values: list[Any]) -> bytes:
        """A record: the fixed arguments packed without alignment, strings after them."""
        flat: list[int] = []
        tail = b""
        end = self.head + self.body.size
        index = 0
        for arg in self.args:
            if not arg.dynamic:
                for _ in range(arg.count or 1):
                    flat.append(values[index])
                    index += 1
                continue
            for slot in range(arg.count or 1):
                data = values[index]
                index += 1
                if data is None:
                    flat.append(data_loc(0, self.head + arg.offset + 4 * slot))
                else:
                    flat.append(data_loc(len(data), end))
                    tail += data
                    end += len(data)
        return self.heads.pack(*heads) + self.body.pack(*flat) + tail

    def values(self, record: bytes) -> list[list[Any]]:
        """Back from a record: per argument its values, strings as bytes, None for a fault."""
        flat = list(self.body.unpack_from(record, self.head))
        out: list[list[Any]] = []
        for arg in self.args:
            count = arg.count or 1
            part, flat = flat[:count], flat[count:]
            if arg.dynamic:
                part = [record[loc & 0xFFFF : (loc & 0xFFFF) + (loc >> 16)] if loc >> 16 else None for loc in part]
            out.append(part)
        return out

    def args_text(self, record: bytes) -> str:
        ctx = self.tracing.print_context
        pairs = zip(self.args, self.values(record))
        return "".join(f" {arg.name}={print_values(arg, values, ctx)}" for arg, values in pairs)


class KprobeEvent(ProbeEvent):
    """Printed as `NAME: (SYM+OFF/SIZE) a=...`, a return as `NAME: (CALLER+OFF/SIZE <- FUNC) ...`."""

    def line(self, record: bytes) -> str:
        ctx = self.tracing.print_context
        heads = self.heads.unpack_from(record, COMMON_SIZE)
        if self.is_return:
            func, ret_ip = heads
            found = self.tracing.host.symbols.lookup(func)
            where = f"{ctx.symbol_offset(ret_ip)} <- {found[0] if found else ''}"
        else:
            where = ctx.symbol_offset(heads[0])
        return f"{self.name}: ({where}){self.args_text(record)}\n"


class UprobeEvent(ProbeEvent):
    """Printed as `NAME: (0xADDR) a=...`, a return as `NAME: (0xCALLER <- 0xFUNC) ...`."""

    def line(self, record: bytes) -> str:
        heads = self.heads.unpack_from(record, COMMON_SIZE)
        where = f"0x{heads[1]:x} <- 0x{heads[0]:x}" if self.is_return else f"0x{heads[0]:x}"
        return f"{self.name}: ({where}){self.args_text(record)}\n"

    def perf_changed(self) -> None:
        """A perf event came or went: the address spaces of interest may differ."""
        for probe in self.probes:
            if isinstance(probe, TraceUprobe) and probe.uprobe is not None:
                self.tracing.uprobes.refresh(probe.uprobe)


def probe_print_fmt(args: list[ProbeArg], is_return: bool) -> str:
    """trace_probe.c:__set_print_fmt()."""
    fmt = "(%lx <- %lx)" if is_return else "(%lx)"
    values = ", REC->__probe_func, REC->__probe_ret_ip" if is_return else ", REC->__probe_ip"
    for arg in args:
        one = arg.type.fmt
        fmt += f" {arg.name}={{{','.join([one] * arg.count)}}}" if arg.count else f" {arg.name}={one}"
        for index in range(arg.count or 1):
            name = f"{arg.name}[{index}]" if arg.count else arg.name
            values += f", __get_str({name})" if arg.type.is_string else f", REC->{name}"
    return f'"{fmt}"{values}'


# ------------------------------------------------------------------------------------------------- probes


class TraceProbe:
    """One probe of an event (struct trace_probe)."""

    kind = ""
    event: ProbeEvent

    def __init__(self, tracing: Tracing, args: list[ProbeArg], is_return: bool) -> None:
        self.tracing = tracing
        self.args = args
        self.is_return = is_return
        self.nhit = 0
        self.context = FetchContext(tracing, self.kind == "kprobe")
        self.fetch = [compile_fetch(arg, self.context) for arg in args]

    def recompile(self) -> None:
        """After symbols were resolved."""
        self.fetch = [compile_fetch(arg, self.context) for arg in self.args]

    def values(self, regs: int) -> list[Any]:
        return [value for fetch in self.fetch for value in fetch(regs)]

    def arm(self, kind: str) -> None:
        raise NotImplementedError

    def disarm(self, kind: str) -> None:
        raise NotImplementedError

    def point(self) -> str:
        raise NotImplementedError

    def show(self) -> str:
        """The line of kprobe_events or uprobe_events."""
        raise NotImplementedError

    def args_show(self) -> str:
        return "".join(f" {arg.name}={arg.text}" for arg in self.args)

    def same_definition(self, other: TraceProbe) -> bool:
        return self.point() == other.point() and [a.text for a in self.args] == [a.text for a in other.args]

    def dispatch(self, regs: int, heads: tuple[int, ...], flags: int = 0) -> object:
        """A hit: to ftrace and to perf, whichever use the event."""
        event = self.event
        self.nhit += 1
        if event.armed_for_ftrace or event.filter_program is not None:
            self.to_ftrace(regs, heads, flags)
        if event.perf_users:
            self.to_perf(regs, heads, flags)
        return None

    def to_ftrace(self, regs: int, heads: tuple[int, ...], flags: int) -> None:
        event = self.event
        if event.filter_program is not None and not event.filter_program.run_regs(regs):
            return
        if event.enabled or event.triggers:
            record = event.header(0, flags) + event.pack(heads, self.values(regs))
            self.tracing.commit(event, record, regs)

    def to_perf(self, regs: int, heads: tuple[int, ...], flags: int) -> None:
        """Programs run first, on whatever CPU and task the hit is; then the perf events get a sample."""
        event = self.event
        if event.bpf_programs and not event.run_bpf(regs):
            return
        if event.perf_events:
            record = event.header(0, flags) + event.pack(heads, self.values(regs))
            self.tracing.perf_deliver(event, record, regs, heads[-1])


class TraceKprobe(TraceProbe):
    """struct trace_kprobe."""

    kind = "kprobe"

    def __init__(
        self, tracing: Tracing, args: list[ProbeArg], is_return: bool, symbol: str, offset: int, addr: int,
        maxactive: int,
    ) -> None:  # fmt: skip
        super().__init__(tracing, args, is_return)
        self.symbol = symbol
        self.offset = offset
        self.addr = addr
        self.users: set[str] = set()
        self.waits_for_module = False
        self.held_flags = 0 if tracing.features.irqs_on_in_ftrace_probes else TRACE_FLAG_IRQS_OFF
        self.rp: Kretprobe | None = None
        if is_return:
            self.rp = Kretprobe(self.returned, symbol or None, addr, maxactive, disabled=True)
            self.kp = self.rp.kp
            self.kp.offset = offset
        else:
            self.kp = Kprobe(self.hit, symbol or None, offset, addr, disabled=True)

    def hit(self, regs: int) -> object:
        return self.dispatch(regs, (self.kp.addr,), self.held_flags)

    def returned(self, instance: KretprobeInstance, regs: int) -> object:
        return self.dispatch(regs, (self.kp.addr, instance.ret_addr), self.held_flags)

    @property
    def nmissed(self) -> int:
        """What kprobe_profile shows; 6.1 adds a return probe's own misses."""
        own = self.rp.nmissed if self.rp is not None and self.tracing.features.dynamic_events else 0
        return self.kp.nmissed + own

    def register(self) -> None:
        if self.rp is not None:
            self.tracing.kprobes.register_kretprobe(self.rp)
        else:
            self.tracing.kprobes.register(self.kp)

    def unregister(self) -> None:
        self.tracing.kprobes.unregister(self.kp)

    def arm(self, kind: str) -> None:
        self.users.add(kind)
        if self.kp.registered:
            self.tracing.kprobes.enable(self.kp)

    def disarm(self, kind: str) -> None:
        self.users.discard(kind)
        if not self.users and self.kp.registered:
            self.tracing.kprobes.disable(self.kp)

    def point(self) -> str:
        if not self.symbol:
            return f"0x{self.tracing.print_context.pointer(self.addr)}"
        return f"{self.symbol}+{self.offset}" if self.offset else self.symbol

    def show(self) -> str:
        letter = "r" if self.is_return else "p"
        if self.rp is not None and self.tracing.features.maxactive and self.rp.maxactive:
            letter += str(self.rp.maxactive)
        return f"{letter}:{self.event.system}/{self.event.name} {self.point()}{self.args_show()}\n"


class TraceUprobe(TraceProbe):
    """struct trace_uprobe."""

    kind = "uprobe"

    def __init__(
        self, tracing: Tracing, args: list[ProbeArg], is_return: bool, path: str, inode: Hashable, offset: int,
        ref_ctr_offset: int,
    ) -> None:  # fmt: skip
        super().__init__(tracing, args, is_return)
        self.path = path
        self.inode = inode
        self.offset = offset
        self.ref_ctr_offset = ref_ctr_offset
        self.uprobe: Uprobe | None = None
        self.users: set[str] = set()
        handler, ret_handler = (self.count_call, self.returned) if is_return else (self.hit, None)
        self.consumer = UprobeConsumer(handler, ret_handler, self.wants)

    def wants(self, mm: Hashable) -> bool:
        """uprobe_perf_filter(): everything for ftrace and system-wide perf events, else the tasks of perf events."""
        event = self.event
        if FTRACE in self.users or not event.perf_events:
            return bool(self.users)
        return any(perf_event.wants_mm(mm) for perf_event in event.perf_events)

    def hit(self, regs: int) -> object:
        ip = self.context.layout.get(self.context.mem, regs, self.context.arch.instruction_pointer)
        self.context.base = ip - self.offset
        return self.dispatch(regs, (ip,))

    def count_call(self, regs: int) -> object:
        """A return probe's hits are its function's calls, whether they return or not."""
        self.nhit += 1
        return None

    def returned(self, func: int, regs: int) -> object:
        ip = self.context.layout.get(self.context.mem, regs, self.context.arch.instruction_pointer)
        self.context.base = func - self.offset
        self.nhit -= 1  # counted at the call
        return self.dispatch(regs, (func, ip))

    def arm(self, kind: str) -> None:
        self.users.add(kind)
        if self.uprobe is None:
            try:
                self.uprobe = self.tracing.uprobes.register(self.inode, self.offset, self.consumer, self.ref_ctr_offset)
            except KernelError:
                self.users.discard(kind)
                raise
        else:
            self.tracing.uprobes.refresh(self.uprobe)

    def disarm(self, kind: str) -> None:
        self.users.discard(kind)
        if self.uprobe is None:
            return
        if self.users:
            self.tracing.uprobes.refresh(self.uprobe)
        else:
            self.tracing.uprobes.unregister(self.uprobe, self.consumer)
            self.uprobe = None

    def point(self) -> str:
        digits = 2 * self.tracing.word
        text = f"{self.path}:0x{self.offset:0{digits}x}"
        return text + (f"(0x{self.ref_ctr_offset:x})" if self.ref_ctr_offset else "")

    def show(self) -> str:
        letter = "r" if self.is_return else "p"
        return f"{letter}:{self.event.system}/{self.event.name} {self.point()}{self.args_show()}\n"


# -------------------------------------------------------------------------------------------------- lines


class Command:
    """One line split into words, and where the parser is (trace_probe_log)."""

    def __init__(self, tracing: Tracing, subsystem: str, argv: list[str]) -> None:
        self.tracing = tracing
        self.subsystem = subsystem
        self.argv = argv
        self.index = 0

    def log(self, code_or_text: str, offset: int) -> None:
        position = sum(len(word) + 1 for word in self.argv[: self.index])
        if self.index >= len(self.argv):
            offset = 0
        self.tracing.log_error(self.subsystem, " ".join(self.argv), code_or_text, position + offset)

    def fail(self, code: str, offset: int, errno: int = EINVAL) -> ProbeError:
        """Log and give the error to raise."""
        error = ProbeError(code, offset, errno)
        self.log(error.why, offset)
        return error


def sanitize(name: str) -> str:
    return name[:1] + re.sub(r"[:.]", "_", name[1:])


class ProbeEvents:
    """All probe events of a machine, in order of creation, and the files that make them."""

    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing
        self.host = tracing.host
        self.probes: list[TraceProbe] = []

    # Files

    def text(self, kind: str | None) -> str:
        """kprobe_events ("kprobe"), uprobe_events ("uprobe"), dynamic_events (None)."""
        return "".join(probe.show() for probe in self.probes if kind in (None, probe.kind))

    def profile(self, kind: str) -> str:
        out = []
        for probe in self.probes:
            if probe.kind != kind:
                continue
            if isinstance(probe, TraceKprobe):
                out.append(f"  {probe.event.name:<44} {probe.nhit:15d} {probe.nmissed:15d}\n")
            elif isinstance(probe, TraceUprobe):
                out.append(f"  {probe.path} {probe.event.name:<44} {probe.nhit:15d}\n")
        return "".join(out)

    def release_all(self, kind: str | None) -> None:
        """Opening with O_TRUNC: all of the kind go, or none and EBUSY."""
        probes = [probe for probe in self.probes if kind in (None, probe.kind)]
        if any(probe.event.busy for probe in probes):
            raise KernelError(EBUSY, "an event is in use")
        for probe in probes:
            self.remove(probe)

    def write(self, data: bytes, kind: str | None) -> int:
        """trace_parse_run_command(): line by line; the first error stops, earlier lines stay."""
        text = data.decode("latin-1")
        done = 0
        while done < len(text):
            newline = text.find("\n", done)
            size = (newline if newline >= 0 else len(text)) - done
            if size > WRITE_BUFSIZE - 2:
                self.host.pr(4, f"Line length is too long: Should be less than {WRITE_BUFSIZE - 2}")
                raise KernelError(EINVAL, "line too long")
            line = text[done : done + size].split("#", 1)[0]
            done += size + (1 if newline >= 0 else 0)
            self.run(line.split("\0", 1)[0], kind)
        return len(data)

    def run(self, line: str, kind: str | None) -> None:
        """One definition or deletion."""
        argv = line.split()
        if not self.tracing.features.modern_probe_grammar:
            if argv:
                self.run_4_1(argv, kind or "kprobe")
            return
        if line[:1] == "-" or (kind is None and line[:1] == "!"):
            if argv:
                self.delete(argv, kind)
            return
        creators: dict[str, Callable[[list[str]], None]] = {"kprobe": self.create_kprobe, "uprobe": self.create_uprobe}
        if not argv:
            return
        for known in (kind,) if kind else ("kprobe", "uprobe"):
            try:
                creators[known](argv)
                return
            except NotMine:
                continue
        raise KernelError(EINVAL, "no such kind of definition")

    # Deleting

    def delete(self, argv: list[str], kind: str | None) -> None:
        """dyn_event_release(): by name, by group, and by the beginning of the definition."""
        head = argv[0]
        if head[0] == "-":
            if head[1:2] != ":":
                raise KernelError(EINVAL, "give the event after -:")
            name = head[2:]
        else:
            if ":" not in head:
                raise KernelError(EINVAL, "give the event after :")
            name = head.split(":", 1)[1]
        group, slash, event = name.partition("/")
        if not slash:
            group, event = "", name
        if not slash and not event:
            raise KernelError(EINVAL, "no event name")
        found = False
        for probe in list(self.probes):
            if kind in (None, probe.kind) and self.matches(probe, group if slash else None, event, argv[1:]):
                self.remove(probe)
                found = True
        if not found:
            raise KernelError(ENOENT, f"Event {name} doesn't exist.")

    def matches(self, probe: TraceProbe, group: str | None, event: str, words: list[str]) -> bool:
        if (event and probe.event.name != event) or (group is not None and probe.event.system != group):
            return False
        if not words:
            return True
        if not self.point_matches(probe, words[0]):
            return False
        rest = words[1:]
        return len(rest) <= len(probe.args) and all(
            word == f"{arg.name}={arg.text}" for word, arg in zip(rest, probe.args)
        )

    def point_matches(self, probe: TraceProbe, word: str) -> bool:
        if isinstance(probe, TraceUprobe):
            plain = f"{probe.path}:0x{probe.offset:0{2 * self.tracing.word}x}"
            return word in (plain, probe.point())
        return word == probe.point()

    def remove(self, probe: TraceProbe) -> None:
        """unregister_trace_kprobe(), unregister_trace_uprobe(): EBUSY while the event is used, unless it has siblings."""
        event = probe.event
        if len(event.probes) == 1:
            if event.busy:
                raise KernelError(EBUSY, f"{event.system}/{event.name} is in use")
            self.tracing.events.remove(event)
            self.tracing.perf.event_removed(event)
        if isinstance(probe, TraceKprobe):
            probe.unregister()
        else:
            for kind in tuple(getattr(probe, "users", ())):
                probe.disarm(kind)
        event.probes.remove(probe)
        self.probes.remove(probe)

    # Creating, 5.1 and later

    def parse_name(self, command: Command, text: str, offset: int, group: str) -> tuple[str, str | None]:
        """traceprobe_parse_event_name(): (group, event or None to make one up)."""
        slash = text.find("/")
        if slash < 0:
            slash = text.find(".")
        event = text
        if slash >= 0:
            if not slash:
                raise command.fail("NO_GROUP_NAME", offset)
            if slash + 1 > MAX_EVENT_NAME_LEN:
                raise command.fail("GROUP_TOO_LONG", offset)
            group = text[:slash]
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", group):
                raise command.fail("BAD_GROUP_NAME", offset)
            event = text[slash + 1 :]
            offset += slash + 1
        if not event:
            if slash >= 0:
                return group, None
            raise command.fail("NO_EVENT_NAME", offset)
        if len(event) >= MAX_EVENT_NAME_LEN:
            raise command.fail("EVENT_TOO_LONG", offset)
        if not is_good_name(event):
            raise command.fail("BAD_EVENT_NAME", offset)
        return group, event

    def parse_args(self, command: Command, parser: FetchParser) -> list[ProbeArg]:
        args: list[ProbeArg] = []
        for index, word in enumerate(command.argv[2 : 2 + MAX_TRACE_ARGS]):
            command.index = index + 2
            try:
                args.append(parser.parse(index, word, args))
            except ProbeError as error:
                command.log(error.why, error.position)
                raise
        return args

    def create_kprobe(self, argv: list[str]) -> None:
        """__trace_kprobe_create()."""
        head = argv[0]
        if head[0] not in "rp" or len(argv) < 2:
            raise NotMine
        is_return = head[0] == "r"
        command = Command(self.tracing, "trace_kprobe", argv)
        colon = head.find(":", 1)
        event_text = head[colon + 1 :] if colon >= 0 else None
        maxactive = self.parse_maxactive(command, head, colon, is_return)
        symbol, offset, addr = "", 0, 0
        on_entry = False
        try:
            addr = kstrto(argv[1], 0, 8 * self.tracing.word, False)
        except KernelError:
            command.index = 1
            symbol, offset, is_return, on_entry = self.parse_symbol(command, argv[1], is_return)
            if ":" not in symbol and self.host.symbols.address(symbol) is None:
                raise command.fail("BAD_PROBE_ADDR", 0, ENOENT) from None
            if ":" not in symbol and self.symbol_count(symbol) > 1:
                raise command.fail("NON_UNIQ_SYMBOL", 0, EADDRNOTAVAIL) from None
        command.index = 0
        group, event = "kprobes", None
        if event_text is not None:
            group, event = self.parse_name(command, event_text, colon + 1, group)
        if event is None:
            letter = "r" if is_return else "p"
            point = f"{symbol}_{offset}" if symbol else f"0x{self.tracing.print_context.pointer(addr)}"
            event = sanitize(f"{letter}_{point}"[: MAX_EVENT_NAME_LEN - 1])
        parser = FetchParser(self.tracing, True, is_return, on_entry)
        args = self.parse_args(command, parser)
        probe = TraceKprobe(self.tracing, args, is_return, symbol, offset, addr, maxactive)
        try:
            self.register_kprobe(command, probe, parser, group, event)
        except KernelError as error:
            command.index = 1
            if error.errno == EILSEQ:
                command.log("Probe point is not an instruction boundary", 0)
            elif error.errno == ENOENT:
                command.log("Invalid probed address or symbol", 0)
            elif error.errno not in (ENOMEM, EEXIST):
                command.log("Failed to register probe event", 0)
            raise

    def parse_maxactive(self, command: Command, head: str, colon: int, is_return: bool) -> int:
        if not head[1:2].isdigit():
            return 0
        if not is_return:
            raise command.fail("MAXACT_NO_KPROBE", 1)
        number = head[1:colon] if colon >= 0 else head[1:]
        try:
            value = kstrto(number, 0, 32, False) if len(number) < MAX_EVENT_NAME_LEN else 0
        except KernelError:
            value = 0
        if not value:
            raise command.fail("BAD_MAXACT", 1)
        if value > KRETPROBE_MAXACTIVE_MAX:
            raise command.fail("MAXACT_TOO_BIG", 1)
        return value

    def parse_symbol(self, command: Command, word: str, is_return: bool) -> tuple[str, int, bool, bool]:
        """(symbol, offset, is_return, on a function's entry)."""
        if "/" in word and ":" in word:
            raise NotMine
        percent = word.find("%")
        if percent >= 0:
            if word[percent:] != "%return":
                raise command.fail("BAD_ADDR_SUFFIX", percent)
            word, is_return = word[:percent], True
        try:
            symbol, offset = split_symbol_offset(word, 8 * self.tracing.word)
        except KernelError:
            raise command.fail("BAD_PROBE_ADDR", 0) from None
        if offset < 0 or offset > UINT_MAX:
            raise command.fail("BAD_PROBE_ADDR", 0)
        address = self.host.symbols.address(symbol)
        on_entry = address is not None and not offset
        if address is not None and offset and is_return:
            raise command.fail("BAD_RETPROBE", 0)
        return symbol, offset, is_return, on_entry

    def symbol_count(self, name: str) -> int:
        count = getattr(self.host.symbols, "count", None)
        return count(name) if count is not None else 1

    def find(self, kind: str, group: str, event: str) -> ProbeEvent | None:
        for probe in self.probes:
            if probe.kind == kind and probe.event.system == group and probe.event.name == event:
                return probe.event
        return None

    def join(self, command: Command, probe: TraceProbe, old: ProbeEvent) -> None:
        """Append to an event of the same name: same kind, same arguments, another place.  EEXIST."""
        if old.is_return != probe.is_return:
            command.index = 0
            raise command.fail("DIFF_PROBE_TYPE", 0, EEXIST)
        differs = compare_arg_types(probe.args, old.args)
        if differs:
            command.index = differs + 1
            raise command.fail("DIFF_ARG_TYPE", 0, EEXIST)
        if any(known.same_definition(probe) for known in old.probes):
            command.index = 0
            raise command.fail("SAME_PROBE", 0, EEXIST)
        probe.event = old

    def new_event(self, command: Command, event: ProbeEvent) -> None:
        if self.tracing.events.get(event.system, event.name) is not None:
            command.index = 0
            raise command.fail("EVENT_EXIST", 0, EEXIST)
        self.tracing.events.add(event)

    def register_kprobe(self, command: Command, probe: TraceKprobe, parser: FetchParser, group: str, name: str) -> None:
        """register_trace_kprobe(), append_trace_kprobe()."""
        old = self.find("kprobe", group, name)
        if old is not None:
            self.join(command, probe, old)
        else:
            probe.event = KprobeEvent(self.tracing, group, name, probe.args, probe.is_return)
            self.new_event(command, probe.event)
        try:
            parser.resolve_symbols(probe.args)
            probe.recompile()
            probe.register()
        except KernelError as error:
            if error.errno == ENOENT and (not probe.symbol or ":" in probe.symbol):
                probe.waits_for_module = True
                self.host.pr(4, "This probe might be able to register after target module is loaded. Continue.")
            else:
                if old is None:
                    self.tracing.events.remove(probe.event)
                raise
        probe.event.probes.append(probe)
        self.probes.append(probe)
        self.catch_up(probe)

    def catch_up(self, probe: TraceProbe) -> None:
        """A sibling of an event in use is armed at once."""
        event = probe.event
        if event.armed_for_ftrace:
            probe.arm(FTRACE)
        if event.perf_users:
            probe.arm("perf")

    def create_uprobe(self, argv: list[str]) -> None:
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
        command = Command(self.tracing, "trace_uprobe", argv)
        command.index = 1
        inode = self.resolve_path(command, path)
        offset, ref_ctr, is_return = self.parse_place(command, place, len(path) + 1, is_return)
        command.index = 0
        group, event = "uprobes", None
        if event_text is not None:
            group, event = self.parse_name(command, event_text, 2, group)
        if event is None:
            tail = re.split(r"[.\-_]", path.rsplit("/", 1)[-1], maxsplit=1)[0]
            event = f"p_{tail}_0x{offset:x}"[: MAX_EVENT_NAME_LEN - 1]
        parser = FetchParser(self.tracing, False, is_return)
        args = self.parse_args(command, parser)
        probe = TraceUprobe(self.tracing, args, is_return, path, inode, offset, ref_ctr)
        self.register_uprobe(command, probe, group, event)

    def resolve_path(self, command: Command, path: str) -> Hashable:
        spaces = self.tracing.uprobes._spaces()
        try:
            return spaces.resolve_path(path)
        except KernelError as error:
            code = "NO_REGULAR_FILE" if error.errno == EINVAL else "FILE_NOT_FOUND"
            raise command.fail(code, 0, error.errno) from None

    def parse_place(self, command: Command, place: str, at: int, is_return: bool) -> tuple[int, int, bool]:
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
                ref_ctr = kstrto(place[brace + 1 : close], 0, 8 * self.tracing.word, False)
            except KernelError as error:
                raise command.fail("BAD_REFCNT", at + brace + 1, error.errno) from None
            place = place[:brace]
        percent = place.find("%")
        if percent >= 0:
            if place[percent:] != "%return":
                raise command.fail("BAD_ADDR_SUFFIX", at + percent)
            place, is_return = place[:percent], True
        try:
            return kstrto(place, 0, 8 * self.tracing.word, False), ref_ctr, is_return
        except KernelError as error:
            raise command.fail("BAD_UPROBE_OFFS", at, error.errno) from None

    def register_uprobe(self, command: Command, probe: TraceUprobe, group: str, name: str) -> None:
        """register_trace_uprobe()."""
        for known in self.probes:
            if isinstance(known, TraceUprobe) and (known.inode, known.offset) == (probe.inode, probe.offset):
                if known.ref_ctr_offset != probe.ref_ctr_offset:
                    self.host.pr(4, "Reference counter offset mismatch.")
                    raise KernelError(EINVAL, "reference counter offset mismatch")
        old = self.find("uprobe", group, name)
        if old is not None:
            self.join(command, probe, old)
        else:
            probe.event = UprobeEvent(self.tracing, group, name, probe.args, probe.is_return)
            self.new_event(command, probe.event)
        probe.event.probes.append(probe)
        self.probes.append(probe)
        self.catch_up(probe)

    # Perf's own probes: an event without a name in the directories

    def local_kprobe(self, symbol: str, addr: int, offset: int, is_return: bool) -> KprobeEvent:
        """create_local_trace_kprobe(): for perf_event_open's kprobe type."""
        if addr:
            symbol = ""
        probe = TraceKprobe(self.tracing, [], is_return, symbol, offset, addr, 0)
        event = KprobeEvent(self.tracing, "perf_kprobes", symbol or "DUMMY_EVENT", [], is_return)
        probe.event = event
        event.probes.append(probe)
        probe.register()
        return event

    def local_uprobe(self, path: str, offset: int, ref_ctr_offset: int, is_return: bool) -> UprobeEvent:
        """create_local_trace_uprobe()."""
        inode = self.tracing.uprobes._spaces().resolve_path(path)
        probe = TraceUprobe(self.tracing, [], is_return, path, inode, offset, ref_ctr_offset)
        event = UprobeEvent(self.tracing, "perf_uprobes", "DUMMY_EVENT", [], is_return)
        probe.event = event
        event.probes.append(probe)
        return event

    def destroy_local(self, event: ProbeEvent) -> None:
        for probe in event.probes:
            if isinstance(probe, TraceKprobe):
                probe.unregister()

    # 4.1

    def run_4_1(self, argv: list[str], kind: str) -> None:
        """create_trace_kprobe(), create_trace_uprobe() of 4.1: a new definition replaces the old one of that name."""
        head = argv[0]
        if head[0] not in "pr-":
            raise self.refuse_4_1("Probe definition must be started with 'p', 'r' or '-'.")
        group, event = f"{kind}s", ""
        if head[1:2] == ":":
            event = head[2:]
            if "/" in event:
                group, event = event.split("/", 1)
                if not group:
                    raise self.refuse_4_1("Group name is not specified")
            if not event:
                raise self.refuse_4_1("Event name is not specified")
        if head[0] == "-":
            if not event:
                raise self.refuse_4_1("Delete command needs an event name.")
            old = self.find(kind, group, event)
            if old is None:
                raise self.refuse_4_1(f"Event {group}/{event} doesn't exist.", ENOENT)
            for probe in list(old.probes):
                self.remove(probe)
            return
        if len(argv) < 2:
            raise self.refuse_4_1("Probe point is not specified.")
        if kind == "kprobe":
            self.create_kprobe_4_1(argv, group, event, head[0] == "r")
        else:
            self.create_uprobe_4_1(argv, group, event, head[0] == "r")

    def refuse_4_1(self, message: str, errno: int = EINVAL) -> KernelError:
        self.host.pr(6, message)
        return KernelError(errno, message)

    def args_4_1(self, argv: list[str], parser: FetchParser) -> list[ProbeArg]:
        args: list[ProbeArg] = []
        for index, word in enumerate(argv[2 : 2 + MAX_TRACE_ARGS]):
            try:
                args.append(parser.parse(index, word, args))
            except ProbeError as error:
                name = word.partition("=")[0] if "=" in word else f"arg{index + 1}"
                messages = {
                    "BAD_ARG_NAME": f"Invalid argument[{index}] name: {name}",
                    "NO_ARG_NAME": f"Invalid argument[{index}] name: {name}",
                    "USED_ARG_NAME": f"Argument[{index}] name '{name}' conflicts with another field.",
                }
                message = messages.get(error.code, f"Parse error at argument[{index}]. ({-error.errno})")
                raise self.refuse_4_1(message, error.errno) from None
            except KernelError as error:
                self.host.pr(6, error.why or f"Parse error at argument[{index}]. ({-error.errno})")
                raise
        return args

    def create_kprobe_4_1(self, argv: list[str], group: str, event: str, is_return: bool) -> None:
        symbol, offset, addr = "", 0, 0
        point = argv[1]
        if point[0].isdigit():
            if is_return:
                raise self.refuse_4_1("Return probe point must be a symbol.")
            try:
                addr = kstrto(point, 0, 8 * self.tracing.word, False)
            except KernelError as error:
                raise self.refuse_4_1("Failed to parse address.", error.errno) from None
        else:
            symbol, plus, rest = point.partition("+")
            try:
                offset = kstrto(rest, 0, 8 * self.tracing.word, False) if plus else 0
            except KernelError as error:
                raise self.refuse_4_1("Failed to parse symbol.", error.errno) from None
            if offset and is_return:
                raise self.refuse_4_1("Return probe must be used without offset.")
        if not event:
            letter = "r" if is_return else "p"
            event = f"{letter}_{symbol}_{offset}" if symbol else f"{letter}_0x{addr:0{2 * self.tracing.word}x}"
            event = event[: MAX_EVENT_NAME_LEN - 1]
        if not is_good_name(event) or not is_good_name(group):
            raise self.refuse_4_1(f"Failed to allocate trace_probe.({-EINVAL})")
        parser = FetchParser41(self.tracing, True, is_return)
        args = self.args_4_1(argv, parser)
        probe = TraceKprobe(self.tracing, args, is_return, symbol, offset, addr, 0)
        self.replace_4_1("kprobe", group, event)
        probe.event = KprobeEvent(self.tracing, group, event, args, is_return)
        self.tracing.events.add(probe.event)
        try:
            parser.resolve_symbols(args)
            probe.recompile()
            probe.register()
        except KernelError as error:
            if error.errno == ENOENT and ":" in symbol:
                self.host.pr(4, "This probe might be able to register aftertarget module is loaded. Continue.")
            else:
                self.tracing.events.remove(probe.event)
                if error.errno == EILSEQ:
                    address = (self.host.symbols.address(symbol) or 0) + offset
                    self.host.pr(4, f"Probing address(0x{address:016x}) is not an instruction boundary.")
                    raise KernelError(EINVAL, error.why) from None
                self.host.pr(4, f"Could not insert probe at {symbol}+{offset}: {-error.errno}")
                raise
        probe.event.probes.append(probe)
        self.probes.append(probe)

    def create_uprobe_4_1(self, argv: list[str], group: str, event: str, is_return: bool) -> None:
        path, colon, place = argv[1].partition(":")
        if not colon or not place[:1].isdigit():
            raise self.refuse_4_1("probe point must be have a filename.")
        inode = self.tracing.uprobes._spaces().resolve_path(path)
        offset = kstrto(place, 0, 8 * self.tracing.word, False)
        if not event:
            tail = re.split(r"[.\-_]", path.rsplit("/", 1)[-1], maxsplit=1)[0]
            event = f"p_{tail}_0x{offset:x}"
        if not is_good_name(event) or not is_good_name(group):
            raise self.refuse_4_1(f"Failed to allocate trace_uprobe.({-EINVAL})")
        parser = FetchParser41(self.tracing, False, is_return)
        probe = TraceUprobe(self.tracing, self.args_4_1(argv, parser), is_return, path, inode, offset, 0)
        self.replace_4_1("uprobe", group, event)
        probe.event = UprobeEvent(self.tracing, group, event, probe.args, is_return)
        self.tracing.events.add(probe.event)
        probe.event.probes.append(probe)
        self.probes.append(probe)

    def replace_4_1(self, kind: str, group: str, event: str) -> None:
        old = self.find(kind, group, event)
        if old is not None:
            for probe in list(old.probes):
                self.remove(probe)


def compare_arg_types(new: list[ProbeArg], old: list[ProbeArg]) -> int:
    """trace_probe_compare_arg_type(): 0, or the number (from 1) of the first argument that differs."""
    if len(new) != len(old):
        return min(len(new), len(old)) + 1
    for index, (a, b) in enumerate(zip(new, old)):
        if (a.type.name, a.count, a.name) != (b.type.name, b.count, b.name):
            return index + 1
    return 0
