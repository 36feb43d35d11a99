"""The verifier of kernels before 4.9, exact to the byte for 4.1.  kernel/bpf/verifier.c:bpf_check() of 4.1.

    1. size of the program, parameters of the log
    2. pass A: map descriptors                (classic_cfg.py)
    3. pass B: control-flow graph             (classic_cfg.py)
    4. pass C: simulation of all paths        (classic_check.py, states in classic_state.py)
    5. context loads of socket programs       (classic_rewrite.py)
    6. the log: cut where the user's buffer ends, which makes ENOSPC of any result

What program types may call and read is in classic_types.py.
"""

from __future__ import annotations

from arch.abi.errno import E2BIG, EINVAL, ENOSPC
from arch.abi.version import KernelVersion
from bpf.isa.insn import BPF_LD_IMM64, Insn
from bpf.layout import default_layout
from bpf.uapi import BPF_MAXINSNS
from bpf.verifier.api import MapInfo, Verdict, VerifyRequest
from bpf.verifier.classic.cfg import ControlFlow, Rejected, resolve_maps
from bpf.verifier.classic.check import Simulation
from bpf.verifier.classic.rewrite import convert_context
from bpf.verifier.classic.state import Immediates
from bpf.verifier.classic.types import program_type

MIN_LOG_SIZE = 128
MAX_LOG_SIZE = 0xFFFFFFFF >> 8


def verify(request: VerifyRequest) -> Verdict:
    """Check a program; never raises for a bad one."""
    if not 0 < len(request.insns) <= BPF_MAXINSNS:
        return Verdict(-E2BIG, log_valid=False)
    logging = bool(request.log_level or request.log_size or request.log_buf)
    if logging and not _log_parameters_good(request):
        return Verdict(-EINVAL, log_valid=False)
    log: list[str] | None = [] if logging else None
    verdict = Verdict(0)
    try:
        _check(request, log, verdict)
    except Rejected as rejected:
        verdict.ret = -rejected.errno
        if log is not None:
            log.append(rejected.message)
        verdict.insns, verdict.used_maps = [], []
    if log is not None:
        _finish_log(verdict, "".join(log), request.log_size)
    return verdict


def _log_parameters_good(request: VerifyRequest) -> bool:
    """A level, a buffer, and a size of 128 bytes to 16 MiB."""
    size_good = request.log_size is None or MIN_LOG_SIZE <= request.log_size <= MAX_LOG_SIZE
    return size_good and request.log_level != 0 and request.log_buf != 0


def _finish_log(verdict: Verdict, text: str, log_size: int | None) -> None:
    """What fits into the buffer with a NUL after it; a full buffer is an error, whatever else happened."""
    if log_size is not None and len(text) >= log_size - 1:
        text = text[: log_size - 1]
        verdict.ret = -ENOSPC
        verdict.insns, verdict.used_maps = [], []
    verdict.log = text


def _check(request: VerifyRequest, log: list[str] | None, verdict: Verdict) -> None:
    operations = program_type(request.prog_type, request.version, request.ctx_size)
    if operations is None:
        raise Rejected(EINVAL)
    insns = list(request.insns)
    maps: list[MapInfo] = resolve_maps(insns, request.resolve_map)
    pruning_points = ControlFlow(insns).check()
    simulation = Simulation(
        insns,
        maps,
        pruning_points,
        operations,
        gpl_compatible=request.gpl_compatible,
        log=log,
        version=request.version,
        immediates=Immediates(request.byteorder, request.word_size),
    )
    try:
        simulation.run()
    finally:
        verdict.insn_processed = simulation.insn_processed
    if operations.rewrites_context:
        insns = convert_context(
            insns, simulation.base_types, request.layout or default_layout(KernelVersion.parse("4.1"))
        )
    verdict.insns = _convert_pseudo(insns)
    verdict.used_maps = maps


def _convert_pseudo(insns: list[Insn]) -> list[Insn]:
    """convert_pseudo_ld_imm64(): the run-time program knows map addresses only as constants."""
    return [insn.replace(src_reg=0) if insn.code == BPF_LD_IMM64 else insn for insn in insns]
