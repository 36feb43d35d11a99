"""Case files: programs with the answers a real kernel gave, run through the simulator and compared.

Two formats, JSON or gzipped JSON:

  4.1  {"header": ..., "handmade": [...], "random": [...]} or {"header": ..., "cases": [...]}: programs with the return
       value and log of Linux 4.1's verifier.  Maps are those the header describes, by descriptor.
  6.1  an array of cases, or {"maps": {...}, "cases": [...]}: programs, the maps they name, test runs, and what the real
       Linux 6.1 answered: `ret`, `log1` and `log2`, `runs`, `xlated`.

Answers of other kernels to the same programs are files of their own, by id: {"kernel": ..., "cases": FILE, "answers": ...}.

A version before 4.9 goes to the classic verifier whatever the format.  Kernel addresses in logs read MAP.
"""

from __future__ import annotations

import difflib
import json
import multiprocessing
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from arch.abi.errno import EBADF, EINVAL, EPERM, errno_name
from arch.abi.version import KernelVersion, newest
from arch.architecture import DEFAULT, get
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf import uapi
from bpf.board import CLASSIC_UNTIL
from bpf.btf import Btf, Kind
from bpf.btf.check import btf_parse
from bpf.btf.check_fields import fields_are_understood
from bpf.core.load import LoadAttr, prog_load
from bpf.core.program import BpfProg
from bpf.isa.insn import Insn, decode, encode
from bpf.maps.base import BpfMap, MapAttr
from bpf.testing.case_files import CaseError, CaseFile, Row, title
from bpf.testing.host import TestHost
from bpf.verifier.api import MapInfo, VerifyRequest
from bpf.versions.config import configured

MAPS_FILE = Path(__file__).with_name("case_maps.json")
LOG_LIMIT = 64 << 10  # longer logs were not recorded
ADDRESS = re.compile(r"0xffff[0-9a-f]{12}")


@dataclass(frozen=True)
class Options:
    """How to run a file."""

    version: KernelVersion
    log_level: int | None = None  # None: the case's own (4.1), or 1
    run: bool = False
    unprivileged: bool = False
    xlated: bool = False
    arch: str = DEFAULT  # whose registers, byte order and kernel's types


# ---- one case ----


def run_case(row: Row, options: Options, file: CaseFile) -> Row:
    """What the simulator says: id or name, ret, log, and with `run` the test runs."""
    with wrong_fields(row):
        if file.format == "4.1":
            return _run_4_1(row, options)
        return _run_6_1(row, options, file)


@contextmanager
def wrong_fields(row: Row) -> Iterator[None]:
    """What a field that is not what it should be runs into, deep inside, is said of the case: CaseError."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, struct.error) as error:
        raise CaseError(f"case {title(row)}: {type(error).__name__}: {error}") from None
    except KernelError as error:
        raise CaseError(f"case {title(row)}: {error}") from None


def _result(row: Row, ret: int, log: str) -> Row:
    result: Row = {"id": row["id"]} if "id" in row else {"name": row.get("name", row.get("descr", ""))}
    if "id" not in row and "name" not in row and "index" in row:
        result["id"] = row["index"]
    return {**result, "ret": ret, "log": log}


# 4.1: maps by descriptor, as the headers of the recorded files say.
MAPS_4_1 = {3: (8, 8), 4: (4, 16), 5: (16, 40), 6: (8, 5)}
MAP_BASE_4_1 = 0x550010000000


def _resolve_4_1(fd: int, many: bool) -> MapInfo:
    if many and 10 <= fd < 80:
        return MapInfo(1, 8, 8, 1024, address=MAP_BASE_4_1 + fd * 4096)
    if fd == 7:
        raise KernelError(EINVAL)
    if fd not in MAPS_4_1:
        raise KernelError(EBADF)
    key_size, value_size = MAPS_4_1[fd]
    return MapInfo(1, key_size, value_size, 1024, address=MAP_BASE_4_1 + fd * 4096)


def _run_4_1(row: Row, options: Options) -> Row:
    from bpf.core.program import choose_verifier

    text = row["insns"] if isinstance(row["insns"], str) else "".join(row["insns"])
    insns = decode(bytes.fromhex(text))
    for slot in row.get("fixup", ()):
        insns[slot] = insns[slot].replace(imm=3)
    level = row.get("log_level", 1)
    if options.log_level is not None and level:
        level = options.log_level
    request = VerifyRequest(
        insns,
        row["prog_type"],
        gpl_compatible=bool(row.get("gpl", 1)),
        log_level=level,
        log_size=row.get("log_size", 65536),
        log_buf=1,
        version=options.version,
        resolve_map=lambda fd: _resolve_4_1(fd, "distinct maps" in row.get("name", "")),
    )
    verdict = choose_verifier(options.version)(request)
    result = _result(row, verdict.ret, verdict.log)
    if options.run:
        result["runs"] = []
    return result


class CaseMachine:
    """A machine for one case of the 6.1 format: its maps, its program, its runs."""

    def __init__(self, row: Row, options: Options, definitions: dict[str, Row]) -> None:
        self.row, self.options, self.definitions = row, options, definitions
        self.host = TestHost(options.version, memory_size=1 << 20, arch=options.arch)
        self.host.vmlinux_btf = _kernel_btf(options.version, options.arch)
        self.host.unmapped_symbols = True
        self.bpf = self.host.bpf
        for fd in range(3):  # standard input, output and error are open, and no maps
            self.host.fds[fd] = object()
        self._set_privilege("unprivileged" if options.unprivileged else "root")

    def _set_privilege(self, privilege: str) -> None:
        """As the recording program does: drop what matters, with unprivileged BPF allowed."""
        caps = {"sys_admin", "bpf", "perfmon", "net_admin", "sys_boot", "other"}
        if privilege != "root":
            caps.discard("sys_admin")
            self.bpf.unprivileged_bpf_disabled = 0
        if privilege == "unprivileged":
            caps -= {"bpf", "perfmon", "net_admin"}
        self.host.caps = caps

    def _words(self, text: str) -> bytes:
        """Numbers of 32 bits, written with the low byte first, as the machine has them."""
        data = bytes.fromhex(text)
        if self.host.mem.byteorder == "little" or len(data) % 4:
            return data
        return b"".join(data[i : i + 4][::-1] for i in range(0, len(data), 4))

    # ---- maps ----

    def make_map(self, definition: Row) -> int:
        """Descriptor of a new map with its first value; KernelError."""
        inner = self.make_map(definition["inner"]) if "inner" in definition else -1
        attr = MapAttr(
            definition["type"],
            definition["key_size"],
            definition["value_size"],
            definition["max_entries"],
            definition.get("flags", 0),
            inner_map_fd=inner if inner >= 0 else 0,
            btf_key_type_id=definition.get("btf_key_type", 0),
            btf_value_type_id=definition.get("btf_value_type", 0),
        )
        new = self._create(attr, definition.get("btf"))
        fd = self.host.fd_install(new, "bpf-map")
        if inner >= 0:
            self.host.close(inner)
        if definition.get("value"):
            value = self._words(definition["value"]).ljust(new.value_size, b"\0")
            new.user_update(bytes(new.key_size), value, 0)
        elif definition.get("prog_keys"):
            self._fill_prog_array(fd, definition["prog_keys"])
        return fd

    def _create(self, attr: MapAttr, btf: str | None) -> BpfMap:
        """A map whose types are in `btf`; none: in that of the suite's maps."""
        from bpf.maps.btf import check_map_btf
        from bpf.maps.types import has_map_type

        if not has_map_type(self.options.version, attr.map_type):
            raise KernelError(EINVAL)
        new = self.bpf.new_map(attr)
        if attr.btf_value_type_id:
            self._need_btf_load(btf)
            new.btf = _parse_btf(btf) if btf else _maps_btf()
            vmlinux = self.host.vmlinux_btf
            check_map_btf(new, new.btf, attr.btf_key_type_id, attr.btf_value_type_id, vmlinux)
            new.set_special()
        new.get_user()
        self.bpf.publish_map(new)
        return new

    def _need_btf_load(self, btf: str | None) -> None:
        """Types are loaded by the task that uses them: BPF_BTF_LOAD needs CAP_BPF."""
        if not self.bpf.capable("bpf"):
            raise KernelError(EPERM)
        if _btf_verdict(btf or json.loads(MAPS_FILE.read_text())["btf"], self.options.version):
            raise KernelError(EINVAL, "this version does not know all kinds of types of the maps")

    def _fill_prog_array(self, array: int, keys: Sequence[int]) -> None:
        """Three programs of the case's type: return 42; tail call the second key, or return 41; return 24."""
        exits = Insn(0x95)
        loop = [Insn(0xB7, 3, 0, 0, keys[1]), Insn(0x18, 2, 1, 0, array), Insn(0)]
        loop += [Insn(0x85, 0, 0, 0, uapi.BPF_FUNC_tail_call), Insn(0xB7, 0, 0, 0, 41), exits]
        order = self.host.mem.byteorder
        table = self.bpf.map_of_fd(array)
        for key, insns in zip(keys, ([Insn(0xB7, 0, 0, 0, 42), exits], loop, [Insn(0xB7, 0, 0, 0, 24), exits])):
            attr = LoadAttr(self.row["prog_type"], insns, license="GPL")
            verdict, prog = prog_load(self.bpf, attr)
            if prog is None:
                raise KernelError(-verdict.ret)
            prog.get()
            fd = self.host.fd_install(prog, "bpf-prog")
            table.user_update(key.to_bytes(4, order), fd.to_bytes(4, order), 0)
            self.host.close(fd)

    # ---- program ----

    def answer(self, level: int) -> Row:
        """ret, log, runs (and xlated)."""
        row = self.row
        insns = decode(bytes.fromhex(row["insns"]))
        for name, places in row.get("maps", {}).items():
            try:
                fd = self.make_map(self.definitions[name])
            except KernelError:
                fd = -1
            for i in places:
                insns[i] = insns[i].replace(imm=fd)
        btf = self.host.vmlinux_btf
        for name, places in row.get("kfuncs", {}).items():
            for i in places:
                insns[i] = insns[i].replace(imm=_type_id(btf, name, Kind.FUNC))
        attach = row.get("attach")
        attr = LoadAttr(
            row["prog_type"],
            insns,
            license="GPL",
            log_level=level,
            prog_flags=row.get("prog_flags", 0),
            expected_attach_type=row.get("attach_type", 0),
            attach_btf_id=_type_id(btf, attach[0], Kind(attach[1])) if attach else 0,
            prog_btf=_parse_btf(row["btf"]) if row.get("btf") and self.bpf.capable("bpf") else None,
            func_info=[(pair[0], pair[1]) for pair in row.get("func_info", ())],
        )
        try:
            verdict, prog = prog_load(self.bpf, attr)
        except KernelError as error:
            return _result(row, -error.errno, "")
        result = _result(row, verdict.ret, mask(verdict.log))
        if self.options.run:
            result["runs"] = self._runs(prog) if prog is not None else []
        if self.options.xlated and prog is not None:
            result["xlated"] = _xlated(prog)
        return result

    def _runs(self, prog: BpfProg) -> list[list[int | None]]:
        """BPF_PROG_TEST_RUN for each run of the case: [ret, retval]."""
        from bpf.syscall.test_request import TestRequest
        from bpf.syscall.test_run import run_once

        if self.options.unprivileged:
            self._set_privilege("no_sys_admin")
        out: list[list[int | None]] = []
        for run in self.row.get("runs", ()):
            data, ctx = bytes.fromhex(run.get("data", "")), self._words(run.get("ctx", ""))
            repeat = run.get("repeat", 1 if data else 0)
            try:
                outcome = run_once(self.bpf, prog, TestRequest.of(data, ctx, repeat))
                out.append([-outcome.error, None if outcome.error else outcome.retval])
            except KernelError as error:
                out.append([-error.errno, None])
        return out


def _type_id(btf: Btf | None, name: str, kind: Kind) -> int:
    return btf.find(name, kind) if btf is not None else 0


def mask(log: str) -> str:
    """Kernel addresses differ from boot to boot."""
    return ADDRESS.sub("MAP", log)


def _xlated(prog: BpfProg) -> str:
    """As recorded: without map ids, helper offsets, random numbers."""
    from bpf.verifier.rewrite.dump import AX_SHOWN, dump

    ax = newest(AX_SHOWN, prog.bpf.version)
    out = bytearray(encode(dump(prog.insns, prog.map_infos, True, prog.verdict.subprog_starts, ax)))
    for i in range(0, len(out), 8):
        code, source = out[i], out[i + 1] >> 4
        random_half = code == 0xB7 and out[i + 1] == ax and out[i + 8 : i + 10] == bytes((0x67, ax))
        if (code == 0x85 and source != 1) or (code == 0x18 and source in (1, 2)) or random_half:
            out[i + 4 : i + 8] = bytes(4)
    return out.hex()


def _without_addresses(xlated: str) -> str:
    """Kernel addresses in ld_imm64 (of jiffies, say) are those of another machine: they read 0."""
    out = bytearray.fromhex(xlated)
    for i in range(0, len(out) - 8, 8):
        if out[i] == 0x18 and not out[i + 1] >> 4 and out[i + 14 : i + 16] == b"\xff\xff":
            out[i + 4 : i + 8] = out[i + 12 : i + 16] = bytes(4)
        if out[i] == 0xB7 and out[i + 1] == 12 and out[i + 8 : i + 10] == b"\x67\x0c":  # 7.2's AX: a random half
            out[i + 4 : i + 8] = bytes(4)
    return out.hex()


_kernels: dict[tuple[KernelVersion, str], Btf] = {}  # their types, by version and CPU


def _kernel_btf(version: KernelVersion, arch: str) -> Btf | None:
    """Whose types the programs name."""
    if version.before(CLASSIC_UNTIL) or not configured(version, (), "DEBUG_INFO_BTF", get(arch)):
        return None
    key = version, arch
    if key not in _kernels:
        _kernels[key] = _default_kernel_btf(version, arch)
    return _kernels[key]


def use_kernel_btf(version: KernelVersion, btf: Btf, arch: str = DEFAULT) -> None:
    """Verify against these types from now on: those of the kernel that was asked."""
    _kernels[version, arch] = btf


def _default_kernel_btf(version: KernelVersion, arch: str) -> Btf:
    from arch.typetable import kernel_types
    from bpf.btf.build import kernel_btf
    from bpf.btf.recorded import recorded_btf

    recorded = recorded_btf(arch, version)
    if recorded is not None:
        return recorded
    return kernel_btf(kernel_types(get(arch), version))


@cache
@cache
def _maps_btf() -> Btf:
    """Types of the maps of the suite."""
    return _parse_btf(json.loads(MAPS_FILE.read_text())["btf"])


@cache
def _btf_verdict(text: str, version: KernelVersion) -> int:
    ret = btf_parse(bytes.fromhex(text), version=version, want_log=False)[0]
    return ret or (0 if fields_are_understood(_parse_btf(text), version) else -EINVAL)


@lru_cache(maxsize=16)  # a program's types and those of its maps are the same ones
def _parse_btf(text: str) -> Btf:
    return Btf.parse(bytes.fromhex(text))


def _run_6_1(row: Row, options: Options, file: CaseFile) -> Row:
    definitions = {**json.loads(MAPS_FILE.read_text())["maps"], **file.maps}
    unknown = [name for name in row.get("maps", {}) if name not in definitions]
    if unknown:
        raise CaseError(f"case {title(row)}: no map {unknown[0]}")
    level = 1 if options.log_level is None else options.log_level
    return CaseMachine(row, options, definitions).answer(level)


# ---- all cases ----

_shared: tuple[CaseFile, Options] | None = None


def _start_worker(file: CaseFile, options: Options) -> None:
    global _shared
    _shared = (file, options)


def _work(number: int) -> Row:
    assert _shared is not None
    file, options = _shared
    return run_case(file.rows[number], options, file)


def run_cases(file: CaseFile, options: Options, jobs: int = 1) -> Iterator[Row]:
    """Results in the order of the file, with `jobs` processes."""
    if jobs <= 1:
        for row in file.rows:
            yield run_case(row, options, file)
        return
    with multiprocessing.Pool(jobs, _start_worker, (file, options)) as pool:
        yield from pool.imap(_work, range(len(file.rows)), chunksize=8)


# ---- comparing ----


@dataclass
class Agreement:
    """How often two answers could be compared, and were equal."""

    equal: int = 0
    compared: int = 0

    def note(self, same: bool) -> None:
        self.compared += 1
        self.equal += same

    def __str__(self) -> str:
        return f"{self.equal} of {self.compared}"


@dataclass
class Summary:
    """All comparisons of a file."""

    cases: int = 0
    unanswered: int = 0
    wrongly_accepted: list[str] = field(default_factory=list)
    verdicts: Agreement = field(default_factory=Agreement)
    errnos: Agreement = field(default_factory=Agreement)
    logs: Agreement = field(default_factory=Agreement)
    runs: Agreement = field(default_factory=Agreement)
    xlated: Agreement = field(default_factory=Agreement)
    differences: list[str] = field(default_factory=list)
    shown: int = 5

    @property
    def differs(self) -> bool:
        """Anything at all is not as recorded."""
        parts = (self.verdicts, self.errnos, self.logs, self.runs, self.xlated)
        return any(part.equal != part.compared for part in parts)

    def lines(self) -> Iterator[str]:
        """For people; what matters most comes first."""
        if self.wrongly_accepted:
            yield f"ACCEPTED THOUGH THE REAL KERNEL REJECTS: {len(self.wrongly_accepted)}"
            yield from (f"  {name}" for name in self.wrongly_accepted[:20])
        else:
            yield "accepted though the real kernel rejects: none"
        yield f"cases         {self.cases}" + (f" ({self.unanswered} without an answer)" if self.unanswered else "")
        for label, part in (
            ("verdicts", self.verdicts),
            ("errnos", self.errnos),
            ("logs", self.logs),
            ("test runs", self.runs),
            ("rewritten", self.xlated),
        ):
            if part.compared:
                yield f"{label:13} {part} agree"
        if self.differences:
            yield ""
            yield from self.differences[: self.shown]
            if len(self.differences) > self.shown:
                yield f"... and {len(self.differences) - self.shown} more differences"


def recorded_answer(row: Row, file: CaseFile, options: Options) -> Row | None:
    """What the file says; None if it says nothing (for this privilege)."""
    if file.format == "4.1":
        if "verifier_ret" in row:
            return {"ret": row["verifier_ret"], "log": row["verifier_log"], "errstr": row.get("errstr")}
        return row if "ret" in row else None
    answer = row.get("answer_unprivileged" if options.unprivileged else "answer")
    if answer is None:
        return None
    level = 1 if options.log_level is None else options.log_level
    return {**answer, "log": answer.get(f"log{level}")}


def compare(file: CaseFile, options: Options, results: Sequence[Row], shown: int = 5) -> Summary:
    """Hold results against the recorded answers."""
    summary = Summary(shown=shown)
    for row, result in zip(file.rows, results):
        summary.cases += 1
        with wrong_fields(row):
            expected = recorded_answer(row, file, options)
            if expected is None:
                summary.unanswered += 1
            else:
                _compare_one(summary, row, result, expected)
    return summary


def _compare_one(summary: Summary, row: Row, result: Row, expected: Row) -> None:
    name = title(row)
    accepted, should = result["ret"] == 0, expected["ret"] == 0
    if accepted and not should:
        summary.wrongly_accepted.append(f"{name}: the real kernel says {errno_name(-expected['ret'])}")
    summary.verdicts.note(accepted == should)
    summary.errnos.note(result["ret"] == expected["ret"])
    if result["ret"] != expected["ret"]:
        summary.differences.append(f"{name}: returns {_ret(result['ret'])}, recorded {_ret(expected['ret'])}")
    _compare_log(summary, name, result["log"], expected)
    if "runs" in result and "runs" in expected and accepted:
        for number, (ours, theirs) in enumerate(zip(result["runs"], expected["runs"])):
            same = ours[0] == theirs[0] and (ours[1] == theirs[1] or None in (ours[1], theirs[1]))
            summary.runs.note(same)
            if not same:
                summary.differences.append(f"{name}: test run {number} gives {ours}, recorded {list(theirs)}")
    if "xlated" in result and expected.get("xlated"):
        summary.xlated.note(_without_addresses(result["xlated"]) == _without_addresses(expected["xlated"]))


def _compare_log(summary: Summary, name: str, log: str, expected: Row) -> None:
    if "log_tail" in expected:
        same = len(log) == expected["log_len"] and log.endswith(expected["log_tail"])
        theirs = expected["log_tail"]
    else:
        theirs = expected.get("log")
        if theirs is None:
            return
        same = log == theirs
    summary.logs.note(same)
    if not same:
        diff = difflib.unified_diff(theirs.splitlines(), log.splitlines(), "recorded", "simulated", lineterm="", n=1)
        summary.differences.append("\n".join([f"{name}: log differs", *list(diff)[:40]]))


def _ret(ret: int) -> str:
    return "0" if ret == 0 else f"-{errno_name(-ret)}"


def with_level(options: Options, level: int) -> Options:
    """The same with another log level."""
    return replace(options, log_level=level)
