"""What BPF a machine has, found by trying, as libbpf's probes and `bpftool feature probe` do.

tools/lib/bpf/libbpf_probes.c, tools/bpf/bpftool/feature.c.  Every question is a system call of the machine's tool task: a
trivial program of each type, a map of each type, and for every helper a program that calls it (what the verifier's log
then says decides).
"""

from __future__ import annotations

from typing import TypedDict

from arch.abi.errno import EINVAL, ENOTSUPP
from arch.errors import KernelError
from bpf import uapi
from bpf.btf import Btf, BtfType, Kind, Member
from bpf.helpers.table import ROWS
from bpf.isa.insn import BPF_ALU64, BPF_CALL, BPF_EXIT, BPF_JMP, BPF_K, BPF_MOV, Insn, encode
from bpf.maps.rows import Probe
from bpf.maps.types import map_types, row_of
from bpf.testing.probe import known
from bpf.versions.program_types import PROGRAM_TYPES, RFC_PROGRAM_TYPES, ProgramType, attach_number, program_types
from simkernel.machine import Machine
from simkernel.probe_system import System, probe_system

R0_0 = Insn(BPF_ALU64 | BPF_MOV | BPF_K, 0)
EXIT = Insn(BPF_JMP | BPF_EXIT)
LOG_SIZE = 4096

# Types that cannot be loaded without a target: what the kernel has to answer if it knows them.  (errno, words of the log)
EXPECTED: dict[int, tuple[int, str]] = {
    uapi.BPF_PROG_TYPE_TRACING: (EINVAL, "attach_btf_id 1 is not a function"),
    uapi.BPF_PROG_TYPE_LSM: (EINVAL, "attach_btf_id 1 is not a function"),
    uapi.BPF_PROG_TYPE_EXT: (EINVAL, "Cannot replace kernel functions"),
    uapi.BPF_PROG_TYPE_STRUCT_OPS: (ENOTSUPP, ""),
}


class ProgOptions(TypedDict, total=False):
    """What else some program types are loaded with."""

    expected_attach_type: int
    attach_btf_id: int
    flags: int


class MapOptions(TypedDict, total=False):
    """What some map types need beside sizes and flags."""

    inner_map_fd: int
    btf_fd: int
    key_type_id: int
    value_type_id: int
    vmlinux_value_type_id: int


def _extra(row: ProgramType) -> ProgOptions:
    options: ProgOptions = {}
    if row.probe_attach:
        options["expected_attach_type"] = attach_number(row.probe_attach)
    if "btf_target" in row.traits and row.name != "STRUCT_OPS":
        options["attach_btf_id"] = 1
    if row.name == "SYSCALL":
        options["flags"] = uapi.BPF_F_SLEEPABLE
    return options


EXTRA = {row.number: _extra(row) for row in program_types()}
# bpftool leaves these out unless asked: their use is logged by the kernel.
NOISY_HELPERS = ("trace_printk", "trace_vprintk", "probe_write_user")


class Report(TypedDict):
    """What a machine has, under bpftool's JSON keys."""

    system_config: System
    syscall_config: dict[str, bool]
    program_types: dict[str, bool]
    map_types: dict[str, bool]
    helpers: dict[str, list[str]]
    misc: dict[str, bool]


class Prober:
    """Questions to one machine."""

    def __init__(self, machine: Machine, newer: bool = False) -> None:
        self.machine = machine
        self.task = machine.session.task
        version = machine.kernel.version
        self.unknown = ("invalid func ", "unknown func ") + (
            ("program of this type cannot use helper ",) if newer else ()
        )
        rfc = version.is_rfc
        self.kern_version = 0 if rfc else version.code
        rows = RFC_PROGRAM_TYPES if rfc else PROGRAM_TYPES
        self.prog_types = [(n, row.name.lower()) for n, row in sorted(rows.items()) if newer or rfc or known(row.since)]
        self.map_types = [row for row in map_types() if newer or known(row.since)]
        names = sorted(uapi.HELPER_NAMES.items())
        self.helpers = [(n, name) for n, name in names if n and (newer or known(ROWS[n].since))]

    def load(self, prog_type: int, insns: list[Insn], log: bool = True) -> tuple[int, str]:
        """(descriptor or -errno, log).  A log that is too small would be an error of its own."""
        extra = EXTRA.get(prog_type, ProgOptions())
        if self.machine.kernel.version.before("4.17"):
            extra = ProgOptions()
        kern_version = self.kern_version if prog_type == uapi.BPF_PROG_TYPE_KPROBE else 0
        raw = encode(insns, self.task.byteorder)
        level, size = (1, LOG_SIZE) if log else (0, 0)
        fd, text = self.task.prog_load(
            prog_type, raw, "GPL", log_level=level, log_size=size, kern_version=kern_version, **extra
        )
        if fd >= 0:
            self.task.close(fd)
        return fd, text

    def has_prog_type(self, prog_type: int) -> bool:
        """libbpf_probe_bpf_prog_type()."""
        fd, log = self.load(prog_type, [R0_0, EXIT])
        expected = EXPECTED.get(prog_type)
        if expected is None:
            return fd >= 0
        return fd == -expected[0] and expected[1] in log

    def has_helper(self, prog_type: int, helper: int) -> bool:
        """libbpf_probe_bpf_helper(): whatever the verifier says, unless it does not know the function."""
        fd, log = self.load(prog_type, [Insn(BPF_JMP | BPF_CALL, 0, 0, 0, helper), EXIT])
        return fd >= 0 or not any(words in log for words in self.unknown)

    def has_map_type(self, map_type: int) -> bool:
        """probe_map_create()."""
        probe = row_of(map_type).probe
        fds: list[int] = []
        try:
            options = self._map_options(probe, fds)
            sizes = (probe.key_size, probe.value_size, probe.max_entries)
            fds.append(self.task.map_create(map_type, *sizes, flags=probe.map_flags, **options))
        except KernelError as error:
            return probe.errno != 0 and error.errno == probe.errno
        finally:
            for fd in fds:
                self.task.close(fd)
        return probe.errno == 0

    def _map_options(self, probe: Probe, fds: list[int]) -> MapOptions:
        """What a map of this type needs beside sizes and flags; descriptors made for it go into `fds`."""
        match probe.needs:
            case "inner":
                fds.append(self.task.map_create(uapi.BPF_MAP_TYPE_HASH, 4, 4, 1))
                return {"inner_map_fd": fds[-1]}
            case "storage_btf":
                fds.append(self._storage_btf())
                return {"btf_fd": fds[-1], "key_type_id": 1, "value_type_id": 3}
            case "vmlinux_type":
                return {"vmlinux_value_type_id": 1}
        return {}

    def _storage_btf(self) -> int:
        """struct bpf_spin_lock { int val; }; struct val { int cnt; struct bpf_spin_lock l; };"""
        btf = Btf(self.task.byteorder)
        integer = btf.append(BtfType(Kind.INT, "int", 4, encoding=1, bits=32))
        lock = btf.append(BtfType(Kind.STRUCT, "bpf_spin_lock", 4, members=[Member("val", integer, 0)]))
        members = [Member("cnt", integer, 0), Member("l", lock, 32)]
        btf.append(BtfType(Kind.STRUCT, "val", 8, members=members))
        fd, _ = self.task.btf_load(btf.encode())
        if fd < 0:
            raise KernelError(-fd, "BTF_LOAD")
        return int(fd)


def probe_features(machine: Machine, full: bool = False, newer: bool = False) -> Report:
    """All of it, under bpftool's JSON keys; `newer`: also what bpftool 7.1.0 does not know."""
    prober = Prober(machine, newer)
    programs = {name: prober.has_prog_type(number) for number, name in prober.prog_types}
    maps = {row.name.lower(): prober.has_map_type(row.number) for row in prober.map_types}
    helpers: dict[str, list[str]] = {}
    for number, name in prober.prog_types:
        have: list[str] = []
        if programs[name] and number not in EXPECTED:
            have = [
                "bpf_" + helper
                for func, helper in prober.helpers
                if (full or helper not in NOISY_HELPERS) and prober.has_helper(number, func)
            ]
        helpers[f"{name}_available_helpers"] = have
    return {
        "system_config": probe_system(machine, newer),
        "syscall_config": {"have_bpf_syscall": True},
        "program_types": {f"have_{name}_prog_type": have for name, have in programs.items()},
        "map_types": {f"have_{name}_map_type": have for name, have in maps.items()},
        "helpers": helpers,
        "misc": misc(prober, newer),
    }


def misc(prober: Prober, newer: bool) -> dict[str, bool]:
    """Sizes, loops and instruction sets.  bpftool: probe_misc_feature(); the fourth is asked for since 7.3."""
    socket_filter = uapi.BPF_PROG_TYPE_SOCKET_FILTER
    large = [R0_0] * uapi.BPF_MAXINSNS + [EXIT]
    loop = [Insn(0xB7, 0, 0, 0, 10), Insn(0x07, 0, 0, 0, -1), Insn(0x55, 0, 0, -2, 0), EXIT]
    v2 = [R0_0, Insn(0xA5, 0, 0, 0, 1), EXIT]  # JLT
    v3 = [R0_0, Insn(0xA6, 0, 0, 0, 1), EXIT]  # JLT32
    v4 = [R0_0, Insn(0x56, 0, 0, 1, 1), Insn(0x06, 0, 0, 0, 1), R0_0, EXIT]  # JNE32, then a jump with 32 bits
    cases = {
        "have_large_insn_limit": large,
        "have_bounded_loops": loop,
        "have_v2_isa_extension": v2,
        "have_v3_isa_extension": v3,
    } | ({"have_v4_isa_extension": v4} if newer else {})
    return {name: prober.load(socket_filter, insns, log=False)[0] >= 0 for name, insns in cases.items()}
