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
from functools import cache
from typing import Any

from arch.abi.limits import U64_MAX
from arch.architecture import Architecture, SyscallAbi
from arch.cpu import Cpu
from arch.errors import CorruptMemory, KernelError
from simkernel.kernel.body import Inlined
from simkernel.kernel.cpus import Cpus
from simkernel.kernel.hostcode import host_failure
from simkernel.kernel.kfunc import Function, Param, Prototype
from simkernel.kernel.task import CurrentTask

Enter = Callable[..., int | tuple[int, ...]]
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
    if size > word:  # 64-bit results of 32-bit machines travel beside the register: Engine.wide_result()
        return None
    return _lambda(convert_expression(ret, "r", word))


@cache
def _lambda(expression: str) -> Callable[[int], int]:
    """Most results are converted in one of a few ways."""
    return eval(f"lambda r: {expression}")  # type: ignore[no-any-return]


RAISED: dict[str, object] = {"KernelError": KernelError, "host_failure": host_failure}  # the names below
_PLAIN = """
def enter({registers}):
    clock._now += {cost}
    try:
        r = body(k{arguments})
    except KernelError as e:
        return -e.errno & {mask:#x}
    except OSError as e:
        return -host_failure(e) & {mask:#x}
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
    except OSError as e:
        return -host_failure(e) & {mask:#x}
    cpus.frames.append([send, converts(req[0]), g, name])
    return req
"""

_JUMP = """
def enter({registers}):
    clock._now += {cost}
    g = body(k{arguments})
    try:
        req = g.send(None)
        while req.__class__ is int:
            req = g.send(req)
    except StopIteration as s:
        r = s.value
        return r & {mask:#x} if r else 0
    except KernelError as e:
        return -e.errno & {mask:#x}
    clock._now += {half}
    g.close()
    return req
"""

# What a body is: one that calls nothing, one that calls others, one that ends by jumping to another
PLAIN, CALLS, JUMPS = _PLAIN, _GENERATOR, _JUMP

_LEAF = """
def leaf({names}):
    clock._now += {cost}
    try:
        r = body(k{arguments})
    except KernelError as e:
        r = -e.errno
    except OSError as e:
        r = -host_failure(e)
    r = r & {mask:#x} if r else 0
    return {result}
"""

_UNPACK = """    try:
        v = unpack(buf, regs - base)
    except (StructError, OverflowError):
        raise CorruptMemory(f"a system call's registers at {regs:#x}") from None
"""


class Flattened:
    """A body and the bodies inlined into it, innermost last, driven as if they were one generator."""

    __slots__ = ("stack",)

    def __init__(self, outer: Callable[[Any], Any], inner: Inlined) -> None:
        self.stack = [outer, inner.running.send]

    def generators(self) -> list[Any]:
        """Innermost first."""
        return [send.__self__ for send in reversed(self.stack)]

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

    def __init__(self, board: CurrentTask, arch: Architecture, abi: SyscallAbi, cpu: Cpu, cpus: Cpus) -> None:
        self.board = board  # what every body gets as its first argument
        self.arch, self.abi, self.cpu, self.cpus, self.clock = arch, abi, cpu, cpus, cpus.clock
        self.word = arch.word
        self.mask = U64_MAX if self.word == 8 else 0xFFFFFFFF
        self.aligned_pairs = self.word == 4 and abi.aligned_pairs
        self.register_arguments = len(cpu.facts.argument_registers)
        self.wide = 0  # the last body's result in full, on 32-bit machines
        self.converters: dict[int, Callable[[int], int] | None] = {}
        self.clears_upper_half = arch.traces.clears_upper_half
        self.narrow_results: set[str] = set()  # functions whose result fills half a register

    def compile(self, prototype: Prototype, body: Function, shape: str, name: str) -> Enter:
        """The `enter` of a function that takes C arguments: in registers, the rest on the stack.  `shape`: PLAIN, ..."""
        limit = self.register_arguments
        places = slots(prototype.params, self.word, self.aligned_pairs)
        names = [[f"a{i}" if i < limit else f"stack({i - limit})" for i in place] for place in places]
        arguments = self._arguments(prototype, names)
        registers = ", ".join(f"a{i}" for i in range(min(limit, self.words_of(prototype))))
        return self._make(registers, arguments, body, shape, name, {"stack": self.cpu.stack_argument})

    def wide_result(self, register: int) -> int:
        """A 64-bit result on a 32-bit machine: what the body returned, unless a probe changed the register."""
        if self.wide & 0xFFFFFFFF == register & 0xFFFFFFFF:
            return self.wide
        return register - (1 << 32) if register >> 31 else register

    def words_of(self, prototype: Prototype) -> int:
        """How many argument words a function takes."""
        places = slots(prototype.params, self.word, self.aligned_pairs)
        return places[-1][-1] + 1 if places else 0

    def _arguments(self, prototype: Prototype, names: list[list[str]]) -> str:
        out = ""
        for param, words in zip(prototype.params, names):
            value = words[0]
            if len(words) == 2:
                low, high = words if self.arch.byteorder == "little" else words[::-1]
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
                words[place[0]], words[place[1]] = (low, high) if self.arch.byteorder == "little" else (high, low)
        return tuple(words)

    def compile_leaf(self, prototype: Prototype, body: Function) -> Callable[..., int]:
        """A plain function called from another body without the CPU: same conversions, same result for the caller.

        This is what a compiler does when it inlines; `Text.call` only uses it while nobody probes the function.
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
        scope: dict[str, Any] = {"k": self.board, "body": body, "clock": self.clock, **RAISED}
        exec(_compiled(text), scope)
        return scope["leaf"]  # type: ignore[no-any-return]

    def compile_wrapper(self, prototype: Prototype, body: Function, shape: str, name: str) -> Enter:
        """The `enter` of a system-call wrapper, which takes `const struct pt_regs *`."""
        layout, mem = self.cpu.layout, self.cpu.mem
        rows = [layout.fields[field] for field in self.abi.args[: self.words_of(prototype)]]
        arguments, extra = "", {}
        if rows:
            low, high = min(r.offset for r in rows), max(r.offset + r.size for r in rows)
            size = rows[0].size
            order = "<" if self.arch.byteorder == "little" else ">"
            fmt = struct.Struct(f"{order}{(high - low) // size}{'Q' if size == 8 else 'I'}")
            values = [f"v[{(row.offset - low) // size}]" for row in rows]
            places = slots(prototype.params, self.word, self.aligned_pairs)
            extra = {"unpack": fmt.unpack_from, "buf": self.cpu.phys.buf, "base": mem.map.direct_map - low}
            arguments = self._arguments(prototype, [[values[i] for i in place] for place in places])
        return self._make("regs=0", arguments, body, shape, name, extra)

    def _make(
        self, registers: str, arguments: str, body: Function, shape: str, name: str, extra: dict[str, Any]
    ) -> Enter:
        mask = 0xFFFFFFFF if name in self.narrow_results else self.mask
        text = shape.format(
            registers=registers, arguments=arguments, mask=mask, cost=HYPERCALL_NS, half=HYPERCALL_NS >> 1
        )
        if self.word == 4:
            text = (
                text.replace("return r &", "engine.wide = r or 0\n    return r &", 1)
                if shape is PLAIN
                else text.replace("return r &", "engine.wide = r or 0\n        return r &", 1)
            )
        if "v[" in arguments:
            text = text.replace(
                f"    clock._now += {HYPERCALL_NS}\n",
                f"    clock._now += {HYPERCALL_NS}\n{_UNPACK}",
                1,
            )
        scope: dict[str, Any] = {
            "k": self.board,
            "cpus": self.cpus,
            "engine": self,
            "body": body,
            "clock": self.clock,
            **RAISED,
            "converts": self.converters.get,
            "Flattened": Flattened,
            "StructError": struct.error,
            "CorruptMemory": CorruptMemory,
            "name": name,
            **extra,
        }
        exec(_compiled(text), scope)
        return scope["enter"]  # type: ignore[no-any-return]

    def declare(self, name: str, address: int, ret: Param) -> None:
        """What the result of a function at an address is."""
        if ret.size == 4 and self.clears_upper_half:
            self.narrow_results.add(name)
        converter = result_converter(ret, self.word)
        if ret.size == 8 and self.word == 4:
            converter = self.wide_result
        if converter is not None:
            self.converters[address] = converter

    def passed(self, prototype: Prototype, args: tuple[int, ...]) -> tuple[int, ...]:
        """Arguments as they stand in registers, for who looks there."""
        if not self.clears_upper_half:
            return args
        return tuple(
            arg & 0xFFFFFFFF if param.size == 4 else arg for param, arg in zip(prototype.params, args, strict=False)
        )

    def make_resume(self) -> Callable[[int], int | tuple[int, ...]]:
        """The one `resume`, with everything bound."""
        engine, cpus, clock, converts = self, self.cpus, self.clock, self.converters.get
        mask, narrow_results = self.mask, self.narrow_results
        narrow = self.word == 4

        def negative(name: str, value: int) -> int:
            return value & (0xFFFFFFFF if name in narrow_results else mask)

        def resume(result: int) -> int | tuple[int, ...]:
            clock._now += HYPERCALL_NS >> 1
            try:
                frame = cpus.frames[-1]
            except IndexError:
                raise CorruptMemory("a return to a function that nobody has called") from None
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
                cpus.frames.pop()
                value = stop.value
                if narrow:
                    engine.wide = value or 0
                if not value:
                    return 0
                return value & mask if value > 0 else negative(frame[3], value)
            except KernelError as error:
                cpus.frames.pop()
                return negative(frame[3], -error.errno)
            except OSError as error:
                failure = host_failure(error)
                cpus.frames.pop()
                return negative(frame[3], -failure)
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
