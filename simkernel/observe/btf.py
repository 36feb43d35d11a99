"""The simulated kernel's own BTF: every type of its headers, every function of its text, every tracepoint it has.

Built when it is first asked for, from the same declarations that the kernel runs on.
"""

from __future__ import annotations

from arch.ctype import CType, CTypeError, FuncDecl
from bpf.btf import Btf
from bpf.btf.build import extended_btf, kernel_btf
from bpf.btf.codec import Kind, LazyBtf
from bpf.btf.dump import type_text
from bpf.btf.recorded import machine_btf
from bpf.btf.vmlinux import add_events, event_class
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import Prototype
from simkernel.observe.percpu import PerCpu
from tracing.events import declarations
from tracing.system import Tracing


def function_declarations(k: KernelFace) -> list[FuncDecl]:
    """The prototypes of the functions in kernel text, under their names in this version.

    Not of those that the compiler has changed (`.isra.0`): pahole leaves them out.
    """
    names = sorted(name for name in k.text.functions.keys() - k.text.late if "." not in name)
    return [_declaration(k, symbol) for symbol in names]


def signature(k: KernelFace, symbol: str) -> FuncDecl | None:
    """Of one of them; None for a name that is none of theirs."""
    known = symbol in k.text.functions and symbol not in k.text.late and "." not in symbol
    return _declaration(k, symbol) if known else None


def _declaration(k: KernelFace, symbol: str) -> FuncDecl:
    _, prototype, wrapped = k.text.functions[symbol]
    text = f"long {symbol}(const struct pt_regs *regs)" if wrapped else _renamed(prototype, symbol)
    try:
        return k.types.prototype(text)
    except CTypeError as error:
        raise CTypeError(f"{symbol}: {error}") from None


def _renamed(prototype: Prototype, symbol: str) -> str:
    """The prototype's text with the symbol's name instead of its own."""
    head, _, tail = prototype.text.partition("(")
    return str(head[: head.rindex(prototype.name)] + symbol + "(" + tail)


def tracepoint_parameters(k: KernelFace, tracing: Tracing) -> dict[str, list[tuple[str, CType]]]:
    """Name -> [(argument, C type)] of every tracepoint of this version."""
    out = {}
    tracing.know_all_tracepoints()
    for name, point in sorted(tracing.tracepoints.items()):
        declared = k.types.prototype(f"void f({', '.join(f'{ctype} {arg}' for ctype, arg in point.params) or 'void'})")
        out[name] = [(arg, ctype) for arg, ctype in declared.params]
    return out


class KernelBtf:
    """The kernel's BTF, made once per machine, when somebody looks."""

    def __init__(self, k: KernelFace, tracing: Tracing, percpu: PerCpu) -> None:
        self.k = k
        self.percpu = percpu
        self.tracing = tracing
        self._made: Btf | None = None

    def get(self) -> Btf:
        """The same object each time."""
        if self._made is None:
            self._made = self._recorded() or LazyBtf(self._build)
        return self._made

    def signature(self, symbol: str) -> FuncDecl | None:
        """Of a function that the real kernel has and this machine has not; None for one whose types are not ours."""
        if machine_btf(self.k.arch.name, self.k.version) is None:
            return None
        types = self.get()
        found = types.find(symbol, Kind.FUNC)
        try:
            return self.k.types.prototype(type_text(types, types[found].type, symbol)) if found else None
        except CTypeError:
            return None

    def enum(self, name: str) -> list[tuple[str, int]]:
        """Names and values, in their order; none of an enumeration that is not there."""
        types = self.get()
        found = types.find(name, Kind.ENUM)
        return types.types[found].values if found else []

    def use(self, types: Btf) -> None:
        """The types of another kernel of this version stand for it, before anybody has looked: programs can be loaded
        against them, not run."""
        self._made = types

    def _recorded(self) -> Btf | None:
        """The real kernel's, with the tracepoints that somebody has added to ours."""
        k = self.k
        recorded = machine_btf(k.arch.name, k.version)
        if recorded is None:
            return None
        events = declarations(k.version)
        added = sorted(events.keys() - {name for _, name in self.tracing.known.numbers()})
        added = [name for name in added if not recorded.find(f"btf_trace_{name}", Kind.TYPEDEF)]
        if not added:
            return recorded
        add_events(k.types, events)
        records = [f"struct trace_event_raw_{event_class(name, k.version)}" for name in added]
        points = tracepoint_parameters(k, self.tracing)
        return LazyBtf(lambda: extended_btf(recorded.data, k.types, records, {name: points[name] for name in added}))

    def _build(self) -> Btf:
        k = self.k
        add_events(k.types, declarations(k.version))  # struct trace_event_raw_*
        return kernel_btf(
            k.types, function_declarations(k), tracepoint_parameters(k, self.tracing), self.percpu.declared
        )
