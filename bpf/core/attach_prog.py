"""Programs on functions of other programs: fentry, fexit and freplace.  kernel/bpf/trampoline.c, syscall.c of Linux 6.1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from bpf import uapi
from bpf.core.program import BpfProg
from bpf.core.trampoline import Chain, Runs
from bpf.face import Detach
from bpf.run.interpreter import Registers

NO_PROTOTYPE = 5  # arguments of a function whose BTF does not tell the truth: every register


def check_new_target(prog: BpfProg, target: BpfProg, btf_id: int) -> None:
    """bpf_check_attach_target(): an extension may go to another program than it was loaded for, if that is alike."""
    from bpf.verifier.modern import check_attach_target  # loaded already: the program was verified

    request = prog.request
    first = prog.attach_prog
    if request is None or first is None:
        raise KernelError(EINVAL, "no extension")
    if (first.type, first.expected_attach_type) != (target.type, target.expected_attach_type):
        raise KernelError(EINVAL, "a program of another type than that of the load")
    error = check_attach_target(replace(request, attach_prog=target, attach_btf_id=btf_id, log_level=0))
    if error:
        raise KernelError(-error, "such a function cannot be replaced by it")


def check_new_functions(prog: BpfProg, ids: Sequence[int]) -> None:
    """The same for the functions that a link to many names: each as if the program were loaded for it alone.  EINVAL, ENOENT."""
    from bpf.verifier.modern import check_attach_target  # loaded already: the program was verified

    request = prog.request
    assert request is not None
    for number in ids:
        one = replace(request, expected_attach_type=uapi.BPF_TRACE_FENTRY, attach_btf_id=number, log_level=0)
        error = check_attach_target(one)
        if error:
            raise KernelError(-error, "no program can be there")


class _Function:
    """The function of a program that a BTF id means."""

    def __init__(self, target: BpfProg, btf_id: int) -> None:
        number = next((n for n, row in enumerate(target.func_info) if row[1] == btf_id), None)
        if number is None or target.btf is None:
            raise KernelError(EINVAL, "no such function")
        self.target = target
        self.start = (target.verdict.subprog_starts or (0,))[number]
        self.address = target.text + 8 * self.start
        known = number not in target.attach_info.get("unreliable", ())
        proto = target.btf.types[target.btf.types[btf_id].type]
        self.nargs = len(proto.params) if known else NO_PROTOTYPE

    @property
    def chain(self) -> Chain[BpfProg]:
        """Its trampoline, made when first needed."""
        return self.target.trampolines.setdefault(self.start, Chain())

    def arm(self, runs: Runs[BpfProg]) -> None:
        """The program runs with the trampolines that it has now."""
        chains = self.target.trampolines
        chain = self.chain
        if chain:
            self.target.entries[self.start] = self._entry(chain, runs)
        else:
            del chains[self.start]
            self.target.entries.pop(self.start, None)
        self.target.trace_functions()

    def _entry(self, chain: Chain[BpfProg], runs: Runs[BpfProg]) -> Callable[[Registers, Callable[[], None]], None]:
        def entered(r: Registers, function: Callable[[], None]) -> None:
            if chain.extension is not None:
                r[0] = chain.extension.replace_function(r)
                return

            def body() -> int:
                function()
                return r[0]

            r[0] = chain.call(runs, r[1 : 1 + self.nargs], self.address, body) or 0

        return entered


def attach_to_program(
    runs: Runs[BpfProg], prog: BpfProg, kind: str, target: BpfProg, btf_id: int, cookie: int
) -> Detach:
    """bpf_trampoline_link_prog() on a function of `target`; the answer detaches.  EBUSY, E2BIG, EINVAL."""
    function = _Function(target, btf_id)
    chain = function.chain
    if prog.type == uapi.BPF_PROG_TYPE_EXT:
        chain.replace(prog)
    else:
        chain.add(kind, prog, cookie)
    target.get()
    function.arm(runs)

    def detach() -> None:
        if chain.extension is prog:
            chain.extension = None
        else:
            chain.remove(kind, prog)
        function.arm(runs)
        target.put()

    return detach
