"""bpf(2) commands on programs.  kernel/bpf/syscall.c: bpf_prog_load(), bpf_prog_test_run(), bpf_prog_bind_map()."""

from __future__ import annotations

import struct
from collections.abc import Generator, Sequence
from typing import cast, overload

from arch.abi.errno import E2BIG, EACCES, EINVAL, ENOTSUPP
from arch.abi.limits import U32_MAX
from arch.errors import KernelError
from bpf import uapi
from bpf.board import CLASSIC_UNTIL
from bpf.core.load import LoadAttr, check_size
from bpf.core.load import prog_load as load_program
from bpf.core.program import BpfProg, prog_of_fd
from bpf.isa.insn import Insn, decode, signed32
from bpf.syscall.attr import Call, btf_of_fd, check_token, prog_fd
from bpf.syscall.struct_ops_run import struct_ops_test_run
from bpf.syscall.test_functions import Step, Steps, drive
from bpf.syscall.test_request import TestRequest, TestResult
from bpf.syscall.test_run import test_run_steps, tracing_steps
from bpf.verifier.api import VerifyRequest
from bpf.verifier.log.log import log_is_valid

LICENSE_MAX = 127
LOG_FIRST = "7.2"  # where a log goes is asked before all else
LICENSE_LAST = "6.9"  # 1b67772e4e3f: the license is read when all else was checked
PACKET_MAX = 1 << 17  # bytes of a packet that are read: of more than fits into fragments it does not matter how much
# Their test runs have ends of their own.
WITHOUT_PACKET = (uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, uapi.BPF_PROG_TYPE_SYSCALL, uapi.BPF_PROG_TYPE_SK_LOOKUP)
MIN_FUNC_INFO, MIN_LINE_INFO, MAX_RECORD = 8, 16, 252  # bytes
CORE_RELO_SIZE = 16
RECORDS = {  # what the log calls them -> the members of union bpf_attr: where, how many, of how many bytes
    "func info": ("func_info", "func_info_cnt", "func_info_rec_size"),
    "line_info": ("line_info", "line_info_cnt", "line_info_rec_size"),
    "core_relo": ("core_relos", "core_relo_cnt", "core_relo_rec_size"),
}


def _records(call: Call, kind: str, known: int) -> list[tuple[int, ...]]:
    """The records of a kind, of whose bytes we know `known`; the rest must be zero.  EINVAL; E2BIG: and the log says why."""
    attr, user = call.attr, call.user
    address, count, size = (attr.number(name) for name in RECORDS[kind])
    if size < known or size > MAX_RECORD or size % 4:
        raise KernelError(EINVAL)
    out = []
    order = "<" if call.user.byteorder == "little" else ">"
    layout = struct.Struct(order + "I" * (known // 4))
    for i in range(count):
        raw = user.read(address + i * size, size)
        if any(raw[known:]):
            if attr.log_level:
                text = f"nonzero tailing record in {kind}".encode()[: attr.log_size - 1]
                call.log_user.write(attr.log_buf, text + b"\0")
            user.put(attr.place(RECORDS[kind][2]), 4, known)
            raise KernelError(E2BIG)
        out.append(layout.unpack(raw[:known].ljust(known, b"\0")))
    return out


def _log_parameters_bad(call: Call) -> bool:
    """bpf_verifier_log_attr_valid(): level and buffer belong together."""
    attr = call.attr
    if call.version.before(CLASSIC_UNTIL):
        return False  # the classic verifier checks them itself
    return not log_is_valid(call.version, attr.log_level, attr.log_size, attr.log_buf)


def prog_load(call: Call) -> int:
    """BPF_PROG_LOAD."""
    call.check()
    attr, user = call.attr, call.user
    if not call.version.before(CLASSIC_UNTIL):
        check_token(call, "prog_flags", "prog_token_fd")
    if call.version.at_least(LOG_FIRST) and _log_parameters_bad(call):
        raise KernelError(EINVAL)
    text, unreadable = "", None
    try:
        text = user.string(attr.license, LICENSE_MAX).decode("latin-1")
    except KernelError as fault:
        if call.version.before(LICENSE_LAST):
            raise
        unreadable = fault

    def read() -> list[Insn]:
        insns = _insns(call)
        if unreadable is not None:
            raise unreadable
        return insns

    logging = bool(attr.log_level or attr.log_size or attr.log_buf)
    load = LoadAttr(
        attr.prog_type,
        insn_cnt=attr.insn_cnt,
        license=text,
        log_level=attr.log_level,
        log_size=attr.log_size if logging else None,
        log_buf=attr.log_buf if logging else None,
        kern_version=attr.kern_version,
        prog_flags=attr.prog_flags,
        prog_name=attr.bytes_of("prog_name"),
        prog_ifindex=attr.prog_ifindex,
        expected_attach_type=attr.expected_attach_type,
        attach_btf_id=attr.attach_btf_id,
        read_insns=read,
    )
    if call.version.at_least(CLASSIC_UNTIL):
        check_size(call.bpf, attr.prog_flags, attr.insn_cnt)
        _set_attach_target(call, load)
        load.verify_extras = lambda load, request: _verify_extras(call, load, request)
    verdict, prog = load_program(call.bpf, load)
    if call.attr.has("log_true_size", call.version) and verdict.log_valid:
        user.put(attr.place("log_true_size"), 4, verdict.log_true_size)
    if logging and verdict.log_valid and attr.log_buf:
        call.log_user.write(attr.log_buf, verdict.log.encode("latin-1", "replace") + b"\0")
    if prog is None:
        raise KernelError(-verdict.ret)
    return new_prog_fd(call, prog)


def _insns(call: Call) -> list[Insn]:
    return decode(call.user.read(call.attr.insns, call.attr.insn_cnt * 8), call.user.byteorder)


def _set_attach_target(call: Call, load: LoadAttr) -> None:
    """attach_prog_fd may be a program or a BTF."""
    fd = call.attr.signed("attach_prog_fd")
    if not fd:
        return
    try:
        load.attach_prog = prog_of_fd(call.bpf, fd)
    except KernelError:
        try:
            found = btf_of_fd(call, fd)
        except KernelError:
            raise KernelError(EINVAL) from None
        if not found.is_kernel:
            raise KernelError(ENOTSUPP) from None
        load.attach_btf = found.btf


def _verify_extras(call: Call, load: LoadAttr, request: VerifyRequest) -> None:
    """What the verifier itself reads from user memory: BTF, function and line records, the array of descriptors."""
    attr = call.attr
    if _log_parameters_bad(call):
        raise KernelError(EINVAL)
    if attr.fd_array:
        request.fd_array = _FdArray(call, attr.fd_array)
    if not (attr.func_info_cnt or attr.line_info_cnt):
        return
    found = btf_of_fd(call, attr.signed("prog_btf_fd"))
    if found.is_kernel:
        raise KernelError(EACCES)
    request.prog_btf = found.btf
    load.btf_object = found
    if attr.func_info_cnt:
        request.func_info = cast(list[tuple[int, int]], _records(call, "func info", MIN_FUNC_INFO))
    if attr.line_info_cnt:
        request.line_info = cast(list[tuple[int, int, int, int]], _records(call, "line_info", MIN_LINE_INFO))
    if attr.core_relo_cnt:
        request.core_relos = cast(list[tuple[int, int, int, int]], _records(call, "core_relo", CORE_RELO_SIZE))


class _FdArray(Sequence[int]):
    """attr.fd_array: descriptors read from user memory one by one; its length is nowhere told."""

    def __init__(self, call: Call, address: int) -> None:
        self._call, self._address = call, address

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        value = self._call.user.get(self._address + 4 * index, 4)
        return value - (1 << 32) if value >> 31 else value

    def __len__(self) -> int:
        return 1 << 16


def new_prog_fd(call: Call, prog: BpfProg) -> int:
    """bpf_prog_alloc_id(), bpf_prog_new_fd()."""
    prog.id = call.bpf.progs.add(prog)
    prog.get()
    call.host.bpf_symbols_changed()
    return prog_fd(call, prog)


def prog_test_run(call: Call) -> int | Steps:
    """BPF_PROG_TEST_RUN."""
    call.check()
    attr, user = call.attr, call.user
    if bool(attr.ctx_size_in) != bool(attr.ctx_in) or bool(attr.ctx_size_out) != bool(attr.ctx_out):
        raise KernelError(EINVAL)
    prog = prog_of_fd(call.bpf, attr.signed("prog_fd"))
    request = TestRequest(
        data_in=user.read(attr.data_in, min(attr.data_size_in, PACKET_MAX)) if attr.data_size_in else None,
        ctx_in=user.read(attr.ctx_in, _context_size(attr.ctx_size_in)) if attr.ctx_size_in else None,
        has_data_out=bool(attr.data_out),
        data_size_out=attr.data_size_out,
        has_ctx_out=bool(attr.ctx_out),
        ctx_size_out=attr.ctx_size_out,
        duration=attr.duration,
        repeat=attr.repeat,
        flags=attr.flags,
        cpu=attr.cpu,
        batch_size=attr.batch_size,
    )
    if prog.type == uapi.BPF_PROG_TYPE_TRACING:
        return _tracing_test_run(call, tracing_steps(call.bpf, prog, request))
    if prog.type == uapi.BPF_PROG_TYPE_STRUCT_OPS:
        return struct_ops_test_run(call, prog, request)
    steps = _plain_test_run(call, prog, request)
    live = request.flags & uapi.BPF_F_TEST_XDP_LIVE_FRAMES and prog.type == uapi.BPF_PROG_TYPE_XDP
    return steps if request.repeat > 1 or live else drive(steps, call.bpf.mem)


def _plain_test_run(call: Call, prog: BpfProg, request: TestRequest) -> Steps:
    error = _copy_back(call, (yield from test_run_steps(call.bpf, prog, request)))
    return error if prog.type in WITHOUT_PACKET else _test_finish(call, error)


def _tracing_test_run(call: Call, steps: Generator[Step, int, TestResult]) -> Steps:
    return _copy_back(call, (yield from steps))


def _copy_back(call: Call, result: TestResult) -> int:
    """bpf_test_finish()."""
    attr, user = call.attr, call.user
    if result.data is not None:
        user.write(attr.data_out, result.data)
    if result.data_size is not None:
        user.put(attr.place("data_size_out"), 4, result.data_size)
    user.put(attr.place("retval"), 4, result.retval)
    user.put(attr.place("duration"), 4, result.duration)
    if result.ctx is not None:
        user.write(attr.ctx_out or attr.ctx_in, result.ctx)
    if result.ctx_size is not None:
        user.put(attr.place("ctx_size_out"), 4, result.ctx_size)
    return -result.error


def _test_finish(call: Call, error: int) -> int:
    """The end of bpf_test_finish(): programs on its tracepoint may change the answer."""
    mem = call.bpf.host.mem
    with call.bpf.scratch(4) as at:
        mem.write_uint(at, 4, error & U32_MAX)
        call.host.tracepoint("bpf_test_finish", at)
        return signed32(mem.read_uint(at, 4))


def _context_size(size: int) -> int:
    """More than a page is not even read."""
    if size > 1 << 16:
        raise KernelError(EINVAL)
    return size


def prog_bind_map(call: Call) -> int:
    """BPF_PROG_BIND_MAP."""
    call.check()
    if call.attr.flags:
        raise KernelError(EINVAL)
    prog = prog_of_fd(call.bpf, call.attr.signed("prog_fd"))
    prog.bind_map(call.bpf.map_of_fd(call.attr.signed("map_fd")))
    return 0
