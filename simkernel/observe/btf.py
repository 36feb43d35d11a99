"""The simulated kernel's own BTF: every type of its headers, every function of its text, every tracepoint it has.

Built when it is first asked for, from the same declarations that the kernel runs on.
"""

from __future__ import annotations

from typing import Any

from arch.ctype import CTypeError, FuncDecl
from bpf.btf import Btf
from bpf.btf.build import kernel_btf
from bpf.btf.codec import LazyBtf
from bpf.btf.vmlinux import add_events
from tracing.events import declarations


def function_declarations(k: Any) -> list[FuncDecl]:
    """The prototypes of the functions in kernel text, under their names in this version."""
    out = []
    for symbol in sorted(k.text.functions):
        prototype = k.text.functions[symbol][1]
        wrapped = k.text.functions[symbol][2]
        text = f"long {symbol}(const struct pt_regs *regs)" if wrapped else _renamed(prototype, symbol)
        try:
            out.append(k.types.prototype(text))
        except CTypeError as error:
            raise CTypeError(f"{symbol}: {error}") from None
    return out


def _renamed(prototype: Any, symbol: str) -> str:
    """The prototype's text with the symbol's name instead of its own."""
    head, _, tail = prototype.text.partition("(")
    return str(head[: head.rindex(prototype.name)] + symbol + "(" + tail)


def tracepoint_parameters(k: Any) -> dict[str, list[tuple[str, Any]]]:
    """Name -> [(argument, C type)] of every tracepoint of this version."""
    out = {}
    for name, point in sorted(k.observer.tracing.tracepoints.items()):
        declared = k.types.prototype(f"void f({', '.join(f'{ctype} {arg}' for ctype, arg in point.params) or 'void'})")
        out[name] = [(arg, ctype) for arg, ctype in declared.params]
    return out


def vmlinux(k: Any) -> Btf:
    """The kernel's BTF, made once per machine."""
    found = getattr(k, "vmlinux_btf", None)
    if found is None:
        found = k.vmlinux_btf = LazyBtf(lambda: _build(k))
    assert isinstance(found, Btf)
    return found


def _build(k: Any) -> Btf:
    add_events(k.types, declarations(k.types.version))  # struct trace_event_raw_*
    return kernel_btf(k.types, function_declarations(k), tracepoint_parameters(k))
