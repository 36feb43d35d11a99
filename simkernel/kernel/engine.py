"""Bodies on the CPU: what happens when kernel text reaches its hypercall.

The text of every kernel function (arch/text.py) comes here twice: `enter(index, a0..a5)` at its first instructions and
`resume(result)` when a function that its body called has returned.  Both answer with an int, the function's result, or
with a tuple (target, arg0, ...): a call that the CPU makes now.  A body that is a generator lives in the frame list of
its task between the two; nothing of the host's stack is kept, so a task can stop in any depth.

This is the hot path: each function gets an `enter` compiled from its prototype, with the conversions of its arguments
written out, and nothing is looked up that could have been bound.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arch.abi.limits import U64_MAX
from arch.errors import KernelError
from simkernel.kernel.kfunc import Param, Prototype

if TYPE_CHECKING:
    from simkernel.kernel.kernel import Kernel

Enter = Callable[..., Any]
HYPERCALL_NS = 20  # cost model: one kernel function costs this much of virtual time, one resumption half of it

# A frame of a running body: [send, result conversion of the pending call, generator, function name]
SEND, CONVERT, GENERATOR, NAME = range(4)


def convert_expression(param: Param, value: str, word: int) -> str:
    """Python text that makes an int of a C type from an unsigned 64-bit register value."""
    size = word if param.size is None else param.size
    if param.pointer or not param.signed:
        return value if size == 8 else f"({value} & {(1 << 8 * size) - 1:#x})"
    bit = 1 << (8 * size - 1)
    if size == 8:
        return f"({value} if {value} < {bit:#x} else {value} - {1 << 64:#x})"
    return f"((({value} & {2 * bit - 1:#x}) ^ {bit:#x}) - {bit:#x})"


def slots(params: tuple[Param, ...], word: int, aligned_pairs: bool) -> list[tuple[int, ...]]:
    """Argument words of each parameter: one, or two for 64 bits on a 32-bit machine (in an even pair on ARM)."""
    out: list[tuple[int, ...]] = []
    at = 0
    for param in params:
        if word == 4 and param.size == 8 and not param.pointer:
            at += at & 1 if aligned_pairs else 0
            out.append((at, at + 1))
            at += 2
        else:
            out.append((at,))
            at += 1
    return out


def result_converter(ret: Param, word: int) -> Callable[[int], int] | None:
    """How a caller sees a result register; None when it is taken as it is."""
    size = word if ret.size is None else ret.size
    if size == 0 or (size == 8 and (ret.pointer or not ret.signed)):
        return None
    if size > word:  # 64-bit results of 32-bit machines travel beside the register: Kernel.wide_result()
        return None
    return eval(f"lambda r: {convert_expression(ret, 'r', word)}")  # type: ignore[no-any-return]


_PLAIN = """
def enter({registers}):
    clock._now += {cost}
    try:
        r = body(k{arguments})
    except KernelError as e:
        return -e.errno & {mask:#x}
    return r & {mask:#x} if r else 0
"""

_GENERATOR = """
def enter({registers}):
    clock._now += {cost}
    g = body(k{arguments})
    send = g.send
    try:
        req = send(None)
        while req.__class__ is not tuple:
            if req.__class__ is int:
                req = send(req)
            else:
                send = Flattened(send, req).send
                req = send(None)
    except StopIteration as s:
        r = s.value
        return r & {mask:#x} if r else 0
    except KernelError as e:
        return -e.errno & {mask:#x}
    k.frames.append([send, converts(req[0]), g, name])
    return req
"""

_LEAF = """
def leaf({names}):
    clock._now += {cost}
    try:
        r = body(k{arguments})
    except KernelError as e:
        r = -e.errno
    r = r & {mask:#x} if r else 0
    return {result}
"""

_UNPACK = "unpack(buf, regs - base)"


class Inlined:
    """A request to run another body inside the caller's frame: a function that this version does not have."""

    __slots__ = ("running",)

    def __init__(self, running: Any) -> None:
        self.running = running


class Flattened:
    """A body and the bodies inlined into it, innermost last, driven as if they were one generator."""

    __slots__ = ("stack",)

    def __init__(self, outer: Callable[[Any], Any], inner: Inlined) -> None:
        self.stack = [outer, inner.running.send]

    def send(self, value: Any) -> Any:
        """Go on in the innermost; its result goes to the next one out."""
        stack = self.stack
        while True:
            try:
                request = stack[-1](value)
            except StopIteration as stop:
                if len(stack) == 1:
                    raise
                stack.pop()
                value = stop.value or 0
                continue
            except KernelError as error:
                if len(stack) == 1:
                    raise
                stack.pop()
                value = -error.errno
                continue
            if request.__class__ is not Inlined:
                return request
            stack.append(request.running.send)
            value = None


class Engine:
    """Compiles the `enter` of every function, and resumes bodies."""

    def __init__(self, k: Kernel) -> None:
        self.k = k
        self.word: int = k.arch.word
        self.mask = U64_MAX if self.word == 8 else 0xFFFFFFFF
        self.aligned_pairs: bool = self.word == 4 and k.abi.aligned_pairs
        self.register_arguments = len(k.cpu.facts.argument_registers)
        self.converters: dict[int, Callable[[int], int] | None] = {}

    def compile(self, prototype: Prototype, body: Any, generator: bool, name: str) -> Enter:
        """The `enter` of a function that takes C arguments: in registers, the rest on the stack."""
        limit = self.register_arguments
        places = slots(prototype.params, self.word, self.aligned_pairs)
        names = [[f"a{i}" if i < limit else f"stack({i - limit})" for i in place] for place in places]
        arguments = self._arguments(prototype, names)
        registers = ", ".join(f"a{i}" for i in range(min(limit, self.words_of(prototype))))
        return self._make(registers, arguments, body, generator, name, {"stack": self.k.cpu.stack_argument})

    def words_of(self, prototype: Prototype) -> int:
        """How many argument words a function takes."""
        places = slots(prototype.params, self.word, self.aligned_pairs)
        return places[-1][-1] + 1 if places else 0

    def _arguments(self, prototype: Prototype, names: list[list[str]]) -> str:
        out = ""
        for param, words in zip(prototype.params, names):
            value = words[0]
            if len(words) == 2:
                low, high = words if self.k.arch.byteorder == "little" else words[::-1]
                value = f"({low} & 0xFFFFFFFF | ({high} & 0xFFFFFFFF) << 32)"
            out += f", {convert_expression(param, value, self.word)}"
        return out

    def split(self, prototype: Prototype, args: tuple[int, ...]) -> tuple[int, ...]:
        """Arguments as words: 64-bit ones of a 32-bit machine become two."""
        places = slots(prototype.params, self.word, self.aligned_pairs)
        words = [0] * self.words_of(prototype)
        for place, value in zip(places, args):
            if len(place) == 1:
                words[place[0]] = value
            else:
                low, high = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF
                words[place[0]], words[place[1]] = (low, high) if self.k.arch.byteorder == "little" else (high, low)
        return tuple(words)

    def compile_leaf(self, prototype: Prototype, body: Any) -> Callable[..., int]:
        """A plain function called from another body without the CPU: same conversions, same result for the caller.

        This is what a compiler does when it inlines; `Kernel.call` only uses it while nobody probes the function.
        """
        names = [f"a{i}" for i in range(len(prototype.params))]
        masked = "".join(
            f", {convert_expression(param, f'({n} & {U64_MAX if param.size == 8 else self.mask:#x})', self.word)}"
            for n, param in zip(names, prototype.params)
        )
        text = _LEAF.format(
            names=", ".join(names), arguments=masked, result=convert_expression(prototype.ret, "r", self.word),
            mask=U64_MAX if prototype.ret.size == 8 else self.mask, cost=HYPERCALL_NS,
        )  # fmt: skip
        if prototype.ret.size == 0:
            text = text.replace(f"return {convert_expression(prototype.ret, 'r', self.word)}", "return 0")
        scope: dict[str, Any] = {"k": self.k, "body": body, "clock": self.k.clock, "KernelError": KernelError}
        exec(_compiled(text), scope)
        return scope["leaf"]  # type: ignore[no-any-return]

    def compile_wrapper(self, prototype: Prototype, body: Any, generator: bool, name: str) -> Enter:
        """The `enter` of a system-call wrapper, which takes `const struct pt_regs *`."""
        k = self.k
        layout = k.cpu.layout
        rows = [layout.fields[field] for field in k.abi.args[: self.words_of(prototype)]]
        arguments, extra = "", {}
        if rows:
            low, high = min(r.offset for r in rows), max(r.offset + r.size for r in rows)
            size = rows[0].size
            order = "<" if k.arch.byteorder == "little" else ">"
            fmt = struct.Struct(f"{order}{(high - low) // size}{'Q' if size == 8 else 'I'}")
            values = [f"v[{(row.offset - low) // size}]" for row in rows]
            places = slots(prototype.params, self.word, self.aligned_pairs)
            extra = {"unpack": fmt.unpack_from, "buf": k.physical.buf, "base": k.mem.map.direct_map - low}
            arguments = self._arguments(prototype, [[values[i] for i in place] for place in places])
        return self._make("regs=0", arguments, body, generator, name, extra)

    def _make(
        self, registers: str, arguments: str, body: Any, generator: bool, name: str, extra: dict[str, Any]
    ) -> Enter:
        mask = self.mask
        text = (_GENERATOR if generator else _PLAIN).format(
            registers=registers, arguments=arguments, mask=mask, cost=HYPERCALL_NS
        )
        if self.word == 4:
            text = (
                text.replace("return r &", "k.wide = r or 0\n    return r &", 1)
                if not generator
                else text.replace("return r &", "k.wide = r or 0\n        return r &", 1)
            )
        if "v[" in arguments:
            text = text.replace(
                f"    clock._now += {HYPERCALL_NS}\n",
                f"    clock._now += {HYPERCALL_NS}\n    v = {_UNPACK}\n",
                1,
            )
        scope: dict[str, Any] = {
            "k": self.k,
            "body": body,
            "clock": self.k.clock,
            "KernelError": KernelError,
            "converts": self.converters.get,
            "Flattened": Flattened,
            "name": name,
            **extra,
        }
        exec(_compiled(text), scope)
        return scope["enter"]  # type: ignore[no-any-return]

    def make_resume(self) -> Callable[[int], Any]:
        """The one `resume`, with everything bound."""
        k, clock, converts = self.k, self.k.clock, self.converters.get
        mask = self.mask
        narrow = self.word == 4

        def resume(result: int) -> Any:
            clock._now += HYPERCALL_NS >> 1
            frame = k.frames[-1]
            convert = frame[1]
            try:
                request = frame[0](result if convert is None else convert(result))
                while request.__class__ is not tuple:
                    if request.__class__ is int:
                        request = frame[0](request)
                    else:
                        frame[0] = Flattened(frame[0], request).send
                        request = frame[0](None)
            except StopIteration as stop:
                k.frames.pop()
                value = stop.value
                if narrow:
                    k.wide = value or 0
                return value & mask if value else 0
            except KernelError as error:
                k.frames.pop()
                return -error.errno & mask
            frame[1] = converts(request[0])
            return request

        return resume


_code_cache: dict[str, Any] = {}


def _compiled(text: str) -> Any:
    """Functions with the same conversions share one code object: boot compiles a few dozen, not hundreds."""
    code = _code_cache.get(text)
    if code is None:
        code = _code_cache[text] = compile(text, "<enter>", "exec")
    return code
