"""Which features a kernel has, found out by asking it: small programs, maps and BTF blobs that only work where the
feature is there.  tools/lib/bpf/libbpf.c: feature_probes[]; each probe runs at most once.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EBADF, EBUSY, EINVAL
from arch.errors import KernelError
from bpf import uapi
from bpf.btf import Btf, BtfType, Kind, Member, Param, Secinfo
from bpf.btf.codec import EXTERN, GLOBAL, INT_SIGNED, STATIC
from bpf.isa.insn import (
    BPF_ALU64,
    BPF_CALL,
    BPF_EXIT,
    BPF_JMP,
    BPF_K,
    BPF_MOV,
    BPF_PSEUDO_MAP_VALUE,
    Insn,
    encode,
    ld_imm64,
)
from bpf.loader.events import open_kprobe, syscall_prefix
from bpf.loader.sys import Task

_R0_0 = Insn(BPF_ALU64 | BPF_MOV | BPF_K, 0)
_EXIT = Insn(BPF_JMP | BPF_EXIT)
TRIVIAL = [_R0_0, _EXIT]


def call(helper: int) -> Insn:
    return Insn(BPF_JMP | BPF_CALL, 0, 0, 0, helper)


class Features:
    """`features.global_data`, `features.perf_link` ...: True where the kernel can."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._known: dict[str, bool] = {}

    def __getattr__(self, name: str) -> bool:
        probe: Callable[[], bool] | None = getattr(type(self), f"probe_{name}", None)
        if probe is None:
            raise AttributeError(name)
        if name not in self._known:
            self._known[name] = probe(self)  # type: ignore[call-arg]
        return self._known[name]

    # What the probes are made of

    def _loads(self, prog_type: int, insns: list[Insn], **attrs: object) -> bool:
        fd, _ = self.task.prog_load(prog_type, encode(insns, self.task.byteorder), **attrs)  # type: ignore[arg-type]
        return self._close(fd)

    def _close(self, fd: int) -> bool:
        if fd < 0:
            return False
        self.task.close(fd)
        return True

    def _takes_btf(self, *types: BtfType) -> bool:
        btf = Btf(self.task.byteorder)
        for each in types:
            btf.append(each)
        fd, _ = self.task.btf_load(btf.encode())
        return self._close(fd)

    def _has_map(self, *args: int, **attrs: object) -> bool:
        try:
            return self._close(self.task.map_create(*args, **attrs))  # type: ignore[arg-type]
        except KernelError:
            return False

    # The probes

    def probe_prog_name(self) -> bool:
        return self._loads(uapi.BPF_PROG_TYPE_SOCKET_FILTER, TRIVIAL, name="libbpf_nametest")

    def probe_global_data(self) -> bool:
        try:
            fd = self.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 32, 1)
        except KernelError:
            return False
        try:
            first, second = ld_imm64(1, fd, BPF_PSEUDO_MAP_VALUE)
            store = Insn(0x7A, 1, 0, 0, 42)
            insns = [first, second.replace(imm=16), store, *TRIVIAL]
            return self._loads(uapi.BPF_PROG_TYPE_SOCKET_FILTER, insns)
        finally:
            self.task.close(fd)

    def probe_btf(self) -> bool:
        return self._takes_btf(_int())

    def probe_btf_func(self) -> bool:
        return self._takes_btf(_int(), _proto(), BtfType(Kind.FUNC, "a", type=2, linkage=STATIC))

    def probe_btf_func_global(self) -> bool:
        return self._takes_btf(_int(), _proto(), BtfType(Kind.FUNC, "a", type=2, linkage=GLOBAL))

    def probe_btf_datasec(self) -> bool:
        data = BtfType(Kind.DATASEC, "a", 4, secinfos=[Secinfo(2, 0, 4)])
        return self._takes_btf(_int(), BtfType(Kind.VAR, "x", type=1, linkage=STATIC), data)

    def probe_btf_float(self) -> bool:
        return self._takes_btf(BtfType(Kind.FLOAT, "float", 4))

    def probe_btf_decl_tag(self) -> bool:
        tag = BtfType(Kind.DECL_TAG, "a", type=2, component_idx=-1)
        return self._takes_btf(_int(), BtfType(Kind.VAR, "x", type=1, linkage=STATIC), tag)

    def probe_btf_type_tag(self) -> bool:
        return self._takes_btf(_int(), BtfType(Kind.TYPE_TAG, "a", type=1), BtfType(Kind.PTR, type=2))

    def probe_btf_enum64(self) -> bool:
        return self._takes_btf(BtfType(Kind.ENUM64, "e", 8))

    def probe_array_mmap(self) -> bool:
        return self._has_map(uapi.BPF_MAP_TYPE_ARRAY, 4, 4, 1, uapi.BPF_F_MMAPABLE)

    def probe_map_name(self) -> bool:
        return self._has_map(uapi.BPF_MAP_TYPE_ARRAY, 4, 4, 1, name="libbpf_maptest")

    def probe_exp_attach_type(self) -> bool:
        kind = uapi.BPF_PROG_TYPE_CGROUP_SOCK
        return self._loads(kind, TRIVIAL, expected_attach_type=uapi.BPF_CGROUP_INET_SOCK_CREATE)

    def probe_probe_read_kernel(self) -> bool:
        insns = [
            Insn(0xBF, 1, 10),  # r1 = r10
            Insn(0x07, 1, 0, 0, -8),  # r1 += -8
            Insn(0xB7, 2, 0, 0, 8),  # r2 = 8
            Insn(0xB7, 3, 0, 0, 0),  # r3 = 0
            call(uapi.BPF_FUNC_probe_read_kernel),
            _EXIT,
        ]
        return self._loads(uapi.BPF_PROG_TYPE_TRACEPOINT, insns)

    def probe_prog_bind_map(self) -> bool:
        try:
            map_fd = self.task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 32, 1)
        except KernelError:
            return False
        prog, _ = self.task.prog_load(uapi.BPF_PROG_TYPE_SOCKET_FILTER, encode(TRIVIAL, self.task.byteorder))
        try:
            if prog < 0:
                return False
            self.task.prog_bind_map(prog, map_fd)
            return True
        except KernelError:
            return False
        finally:
            self._close(prog)
            self.task.close(map_fd)

    def probe_perf_link(self) -> bool:
        """A link to a descriptor that is none: EBADF where links are known, EINVAL where they are not."""
        prog, _ = self.task.prog_load(uapi.BPF_PROG_TYPE_TRACEPOINT, encode(TRIVIAL, self.task.byteorder))
        if prog < 0:
            return False
        try:
            self._close(self.task.link_create(prog, -1, uapi.BPF_PERF_EVENT))
            return False
        except KernelError as error:
            return error.errno == EBADF
        finally:
            self._close(prog)

    def probe_bpf_cookie(self) -> bool:
        return self._loads(uapi.BPF_PROG_TYPE_KPROBE, [call(uapi.BPF_FUNC_get_attach_cookie), _EXIT])

    def probe_get_func_ip(self) -> bool:
        return self._loads(uapi.BPF_PROG_TYPE_KPROBE, [call(uapi.BPF_FUNC_get_func_ip), _EXIT])

    def probe_ref_ctr(self) -> bool:
        """Reference counters of uprobes (USDT semaphores), 4.20."""
        return self.task.exists("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset")

    def probe_kprobe_pmu(self) -> bool:
        return self.task.exists("/sys/bus/event_source/devices/kprobe/type")

    def probe_uprobe_pmu(self) -> bool:
        return self.task.exists("/sys/bus/event_source/devices/uprobe/type")

    def probe_syscall_wrapper(self) -> bool:
        """Whether system calls are functions of pt_regs: try to put a kprobe on __<arch>_sys_bpf."""
        prefix = syscall_prefix(self.task)
        if not prefix:
            return False
        try:
            fd = open_kprobe(self.task, f"{prefix}sys_bpf", 0, False)
        except KernelError as error:
            return error.errno == EBUSY
        self._close(fd)
        return True


def _int() -> BtfType:
    return BtfType(Kind.INT, "int", 4, encoding=INT_SIGNED, bits=32)


def _proto() -> BtfType:
    return BtfType(Kind.FUNC_PROTO, type=0, params=[Param("x", 1)])


# ---------------------------------------------------------------------------------- making BTF acceptable


def sanitize(btf: Btf, features: Features) -> Btf:
    """Replace kinds the kernel does not know by older ones of the same shape.  bpf_object__sanitize_btf()."""
    out = Btf(btf.byteorder, btf.pointer_size)
    for each in btf.types[1:]:
        out.append(_older(btf, each, features))
    return out


def _older(btf: Btf, t: BtfType, f: Features) -> BtfType:
    match t.kind:
        case Kind.VAR | Kind.DECL_TAG if not (f.btf_datasec if t.kind is Kind.VAR else f.btf_decl_tag):
            return BtfType(Kind.INT, t.name if t.kind is Kind.VAR else "tag", 1, bits=8)
        case Kind.DATASEC if not f.btf_datasec:
            rows = [Member(btf[v.type].name, v.type, 8 * v.offset) for v in t.secinfos]
            return BtfType(Kind.STRUCT, t.name.replace(".", "_").replace("?", "_"), t.size, members=rows)
        case Kind.FUNC_PROTO if not f.btf_func:
            return BtfType(Kind.ENUM, size=4, values=[(f"p{i}", i) for i, _ in enumerate(t.params)])
        case Kind.FUNC if not f.btf_func:
            return BtfType(Kind.TYPEDEF, t.name, type=t.type)
        case Kind.FUNC if t.linkage != STATIC and not f.btf_func_global:
            return BtfType(Kind.FUNC, t.name, type=t.type, linkage=STATIC)
        case Kind.FLOAT if not f.btf_float:
            return BtfType(Kind.STRUCT, t.name.replace(" ", "_"), t.size)
        case Kind.TYPE_TAG if not f.btf_type_tag:
            return BtfType(Kind.CONST, type=t.type)
        case Kind.ENUM64 if not f.btf_enum64:
            return BtfType(Kind.UNION, t.name, t.size)
        case Kind.ENUM if t.kflag and not f.btf_enum64:
            return BtfType(Kind.ENUM, t.name, t.size, values=list(t.values))
    copy = BtfType(t.kind, t.name, t.size, t.type, t.kflag, t.encoding, t.bits, t.bit_offset, t.nelems, t.index_type)
    copy.linkage, copy.component_idx = t.linkage, t.component_idx
    copy.members, copy.values, copy.params, copy.secinfos = t.members, t.values, t.params, t.secinfos
    return copy


__all__ = ["EINVAL", "EXTERN", "Features", "sanitize"]
