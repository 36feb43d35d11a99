"""BPF trampolines on kernel functions: fentry, fmod_ret and fexit programs.  kernel/bpf/trampoline.c.

One trampoline for each function, however many programs it calls: at the entry those of fentry, then those of fmod_ret
until one answers something, in which case the function itself is not run; at the end those of fexit, with the arguments
of the entry and the result.  It is made of a probe at the entry and, if fexit programs need it, one of the return.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from arch.errors import KernelError
from arch.native.handler import NativeCode, NativeHandler
from arch.records import dataclass
from bpf.core.program import BpfProg
from bpf.core.trampoline import FENTRY, FEXIT, FSESSION, MODIFY_RETURN, Chain, Runs
from bpf.face import Detach
from bpf.uapi import MAX_BPF_FUNC_ARGS
from tracing.probes.kprobes import TRAMPOLINE, Kprobe, Kprobes, Kretprobe, KretprobeInstance

Arguments = Callable[[int], tuple[int, ...]]
# (the programs, address of the function) -> its compiled entry or end, if there can be one
CompileEntry = Callable[[list[NativeCode | None], int], NativeHandler | None]
Override = Callable[[int, int], None]  # (pt_regs, value): the probed function returns that at once


@dataclass(frozen=True, slots=True)
class Begun:
    """A call under way that sessions know of."""

    args: tuple[int, ...]
    words: list[tuple[BpfProg, int, int]]  # program, cookie, its word


class KernelTrampoline:
    """The trampoline of one kernel function."""

    def __init__(
        self,
        kprobes: Kprobes,
        symbol: str,
        read: Arguments,
        runs: Runs[BpfProg],
        override: Override,
        compile_entry: CompileEntry,
        compile_exit: CompileEntry,
        noted: int,
    ) -> None:
        self.kprobes, self.read, self.runs, self.override = kprobes, read, runs, override
        self.compile_entry, self.compile_exit = compile_entry, compile_exit
        self.chain: Chain[BpfProg] = Chain()
        self.entry = Kprobe(self._entered, symbol)
        self.exit = Kretprobe(self._returned, symbol, entry_handler=self._note, maxactive=4096)
        self.session = Kretprobe(self._left, symbol, entry_handler=self._begun, maxactive=4096)
        self.entry.kind = self.exit.kp.kind = self.session.kp.kind = TRAMPOLINE
        self.exit.noted = noted
        self.groups: Callable[[tuple[int, ...]], int] | None = None  # of a hook of LSM: asks those of control groups
        self.overridden = False  # between the two probes of one entry

    def link(self, kind: str, prog: BpfProg, cookie: int) -> Detach:
        """Attach; the answer detaches."""
        self.chain.add(kind, prog, cookie)
        try:
            self._arm()
        except KernelError:
            self.chain.remove(kind, prog)
            raise
        prog.when_native.append(self._compile)
        self._compile()

        def unlink() -> None:
            prog.when_native.remove(self._compile)
            self.chain.remove(kind, prog)
            self._arm()
            self._compile()

        return unlink

    def ask_groups(self, ask: Callable[[tuple[int, ...]], int]) -> Detach:
        """The shim of BPF_LSM_CGROUP."""
        self.groups = ask
        self._arm()
        self._compile()

        def end() -> None:
            self.groups = None
            self._arm()
            self._compile()

        return end

    def _compile(self) -> None:
        """The compiled forms: where nothing can keep the function from running, and all programs are compiled."""
        before, after = (
            []
            if self.chain.links[MODIFY_RETURN] or self.groups
            else [with_cookie(prog.native, cookie) for prog, cookie in self.chain.links[kind]]
            for kind in (FENTRY, FEXIT)
        )
        self.kprobes.set_native(self.entry, self.compile_entry(before, self.entry.addr) if before else None)
        end = self.compile_exit(after, self.exit.kp.addr) if after else None
        self.kprobes.set_native_return(self.exit, end, lambda regs, real: self._failed(end, regs))
        self.kprobes.note_natively(self.exit, end is not None)

    def _failed(self, end: NativeHandler | None, regs: int) -> None:
        """A compiled program of the end did not end well."""
        assert end is not None
        end.after(regs)

    def _arm(self) -> None:
        """The probes that the present programs need, the entry's before the return's."""
        links = self.chain.links
        before, after = bool(links[FENTRY] or links[MODIFY_RETURN] or self.groups), bool(links[FEXIT])
        if self.exit.kp.registered and (not after or (before and not self.entry.registered)):
            self.kprobes.unregister_kretprobe(self.exit)
        if before and not self.entry.registered:
            self.kprobes.register(self.entry)
        elif not before:
            self.kprobes.unregister(self.entry)
        if after and not self.exit.kp.registered:
            self.kprobes.register_kretprobe(self.exit)
        sessions = bool(links[FSESSION])
        if sessions and not self.session.kp.registered:
            self.kprobes.register_kretprobe(self.session)
        elif not sessions and self.session.kp.registered:
            self.kprobes.unregister_kretprobe(self.session)

    def _entered(self, regs: int) -> object:
        args = self.read(regs)
        value = self.chain.call(self.runs, args, self.entry.addr, None)
        if value is None and self.groups is not None:
            value = self.groups(args) or None
        self.overridden = value is not None
        if value is None:
            return None
        self.override(regs, value)
        return True

    def _begun(self, instance: KretprobeInstance, regs: int) -> bool:
        """Sessions at the entry; the call and their words are for the exit."""
        args = self.read(regs)
        instance.data = Begun(args, self.chain.begin_sessions(self.runs, args, self.session.kp.addr))
        return False

    def _left(self, instance: KretprobeInstance, regs: int) -> None:
        begun, value = instance.data, self.kprobes.return_value(regs)
        assert isinstance(begun, Begun)
        self.chain.end_sessions(self.runs, begun.args, self.session.kp.addr, value, begun.words)

    def around(self, args: tuple[int, ...], body: Callable[[], int]) -> int:
        """All of it where the function is called without the CPU: its first arguments are in `args`."""

        def asked() -> int:
            return (self.groups(args) if self.groups is not None else 0) or body()

        value = self.chain.call(self.runs, args, self.entry.addr, asked)
        assert value is not None  # it has a body
        return value

    def _note(self, instance: KretprobeInstance, regs: int) -> bool:
        """The arguments for the end; nothing of a call that does not happen."""
        if self.overridden:
            self.overridden = False
            return True
        instance.data = self.read(regs)
        return False

    def _returned(self, instance: KretprobeInstance, regs: int) -> None:
        assert isinstance(instance.data, tuple)
        self.chain.after(self.runs, instance.data, self.exit.kp.addr, self.kprobes.return_value(regs))


def with_cookie(code: NativeCode | None, cookie: int) -> NativeCode | None:
    """A compiled program, attached with that."""
    return code if code is None or not cookie else replace(code, cookie=cookie)


def argument_reader(count: int, argument: Callable[[int, int], int]) -> Arguments:
    """Reader of a function's arguments from the pt_regs of its entry."""
    numbers = range(min(count, MAX_BPF_FUNC_ARGS))
    return lambda regs: tuple(argument(regs, n) for n in numbers)
