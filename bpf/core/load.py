"""BPF_PROG_LOAD from parsed attributes to a program: the kernel's checks in the kernel's order.

kernel/bpf/syscall.c:bpf_prog_load() of 6.1 and of 4.1.  bpf(2) parses user memory into a `LoadAttr`; case files make one
directly.  What happens before the verifier is a KernelError; what the verifier says is in the Verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arch.abi.errno import E2BIG, EINVAL, EPERM
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf import uapi
from bpf.board import CLASSIC_UNTIL, Bpf, BtfObject
from bpf.btf import Btf
from bpf.btf.codec import Kind
from bpf.core.prog_aux import ProgAux
from bpf.core.program import BpfProg, load
from bpf.isa.insn import Insn
from bpf.verifier.api import MapInfo, Verdict, VerifyRequest
from bpf.versions import features
from bpf.versions.attach_groups import MANY_FUNCTIONS
from bpf.versions.program_types import types_where

# license_is_gpl_compatible() of include/linux/license.h
GPL_COMPATIBLE = frozenset(
    ("GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL")
)
MAXINSNS_CLASSIC = 4096
KERN_VERSION_UNTIL = "5.0"
NEED_JIT = types_where(lambda row: "jit" in row.traits)
_CAPABILITIES = ("sys_admin", "bpf", "perfmon", "net_admin", "sys_boot")


@dataclass
class LoadAttr:
    """The part of union bpf_attr that BPF_PROG_LOAD reads, with what it points to."""

    prog_type: int
    insns: list[Insn] = field(default_factory=list)
    insn_cnt: int | None = None  # None: len(insns)
    license: str = ""
    log_level: int = 0
    log_size: int | None = None
    log_buf: int | None = None
    kern_version: int = 0
    prog_flags: int = 0
    prog_name: bytes = b""
    prog_ifindex: int = 0
    expected_attach_type: int = 0
    attach_btf_id: int = 0
    attach_prog: BpfProg | None = None
    attach_btf: Btf | None = None  # given by descriptor
    prog_btf: Btf | None = None
    btf_object: BtfObject | None = None  # the program keeps it
    func_info: Sequence[tuple[int, int]] = ()
    line_info: Sequence[tuple[int, int, int, int]] = ()
    core_relos: Sequence[tuple[int, int, int, int]] = ()
    fd_array: Sequence[int] | None = None
    read_insns: Callable[[], list[Insn]] | None = None  # reads them from user memory when it is their turn
    verify_extras: Callable[[LoadAttr, VerifyRequest], None] | None = None  # the same for what the verifier reads


def attaches_to_many(version: KernelVersion, attach_type: int) -> bool:
    """The functions are named by the link."""
    return attach_type in MANY_FUNCTIONS and features.has_attach_type(version, attach_type)


MULTI_FUNCTION = "bpf_multi_func"  # stands for the functions of a program that is attached to many


def object_name(raw: bytes) -> str:
    """bpf_obj_name_cpy(): letters, digits, `_` and `.` up to a NUL; EINVAL."""
    text = raw.split(b"\0")[0]
    if len(text) >= uapi.BPF_OBJ_NAME_LEN:
        raise KernelError(EINVAL)
    if not all(chr(c).isascii() and (chr(c).isalnum() or c in b"_.") for c in text):
        raise KernelError(EINVAL)
    return text.decode("ascii")


def capabilities(bpf: Bpf) -> frozenset[str]:
    """Of the current task, as the verifier asks for them."""
    capable = bpf.host.capable
    return frozenset([cap for cap in _CAPABILITIES if capable(cap)])


def _check_classic(bpf: Bpf, attr: LoadAttr, count: int) -> None:
    if count >= MAXINSNS_CLASSIC:
        raise KernelError(EINVAL)
    kprobe = attr.prog_type == uapi.BPF_PROG_TYPE_KPROBE and not bpf.version.is_rfc
    if kprobe and attr.kern_version != bpf.host.version_code:
        raise KernelError(EINVAL)


def check_size(bpf: Bpf, flags: int, count: int) -> None:
    """What is asked first of all: known flags, and not too many instructions.  EINVAL, E2BIG."""
    if flags & ~features.known_flags(bpf.version, "prog_flags"):
        raise KernelError(EINVAL)
    limit = uapi.BPF_COMPLEXITY_LIMIT_INSNS if bpf.capable("bpf") else uapi.BPF_MAXINSNS
    if bpf.version.before("5.2"):
        limit = uapi.BPF_MAXINSNS
    if not 0 < count <= limit:
        raise KernelError(E2BIG)


def _check_modern(bpf: Bpf, attr: LoadAttr, count: int) -> None:
    from bpf.verifier.protos.attach_rules import (
        fixup_attach_type,
        is_attach_checked,
        prog_load_check_attach,
        prog_load_check_caps,
    )

    check_size(bpf, attr.prog_flags, count)
    if (
        bpf.version.before(KERN_VERSION_UNTIL)
        and attr.prog_type == uapi.BPF_PROG_TYPE_KPROBE
        and attr.kern_version != bpf.host.version_code
    ):
        raise KernelError(EINVAL)
    prog_load_check_caps(attr.prog_type, capabilities(bpf))
    checked = is_attach_checked(attr.prog_type, bpf.version)
    if checked and attr.expected_attach_type and not features.has_attach_type(bpf.version, attr.expected_attach_type):
        raise KernelError(EINVAL)
    attr.expected_attach_type = fixup_attach_type(attr.prog_type, attr.expected_attach_type)
    if attr.prog_type != uapi.BPF_PROG_TYPE_TRACING and attaches_to_many(bpf.version, attr.expected_attach_type):
        raise KernelError(EINVAL, "only tracing programs attach to many functions so")
    if attr.prog_type == uapi.BPF_PROG_TYPE_TRACING and attaches_to_many(bpf.version, attr.expected_attach_type):
        if attr.attach_btf_id or attr.attach_prog is not None or attr.attach_btf is not None:
            raise KernelError(EINVAL, "the functions are named by the link")
        btf = bpf.host.vmlinux_btf
        attr.attach_btf_id = btf.find(MULTI_FUNCTION, Kind.FUNC) if btf is not None else 0
    has_btf = attr.attach_prog is None and bool(attr.attach_btf is not None or attr.attach_btf_id)
    prog_load_check_attach(
        attr.prog_type, attr.expected_attach_type, has_btf, attr.attach_btf_id, attr.attach_prog is not None, checked
    )


def prog_load(bpf: Bpf, attr: LoadAttr) -> tuple[Verdict, BpfProg | None]:
    """All of it but id and descriptor."""
    count = len(attr.insns) if attr.insn_cnt is None else attr.insn_cnt
    classic = bpf.version.before(CLASSIC_UNTIL)
    if classic:
        _check_classic(bpf, attr, count)
    else:
        _check_modern(bpf, attr, count)
    if attr.read_insns is not None:
        attr.insns = attr.read_insns()
    if not features.has_prog_type(bpf.version, attr.prog_type):
        raise KernelError(EINVAL)
    if attr.prog_type in NEED_JIT and not bpf.built_with("BPF_JIT"):
        raise KernelError(EINVAL, "the kernel is built without CONFIG_BPF_JIT")
    if attr.prog_ifindex:
        raise KernelError(EINVAL, "no device takes programs")
    name = "" if classic else object_name(attr.prog_name)
    request = _request(bpf, attr, name)
    if attr.verify_extras is not None:
        attr.verify_extras(attr, request)
    verdict, prog = load(bpf, request, attr.btf_object)
    if prog is None:
        request.free_aux()
    return verdict, prog


def _request(bpf: Bpf, attr: LoadAttr, name: str) -> VerifyRequest:
    host = bpf.host
    arch = host.arch
    request = VerifyRequest(
        insns=attr.insns,
        prog_type=attr.prog_type,
        expected_attach_type=attr.expected_attach_type,
        prog_flags=attr.prog_flags,
        nr_cpus=host.nr_cpus,
        gpl_compatible=attr.license in GPL_COMPATIBLE,
        log_level=attr.log_level,
        log_size=attr.log_size,
        log_buf=attr.log_buf,
        version=bpf.version,
        caps=capabilities(bpf),
        resolve_map=_resolver(bpf),
        fd_array=attr.fd_array,
        byteorder=bpf.mem.byteorder,
        prog_btf=attr.prog_btf,
        func_info=attr.func_info,
        line_info=attr.line_info,
        core_relos=attr.core_relos,
        vmlinux_btf=host.vmlinux_btf,
        attach_btf_id=attr.attach_btf_id,
        attach_btf=attr.attach_btf,
        attach_prog=attr.attach_prog,
        kernel_symbol=host.symbols.address,
        prog_aux=ProgAux(host.mem),
        name=name,
        layout=host.structs,
        config=host.config,
        on_prune=bpf.on_prune,
        jit_requested=bool(bpf.jit_enable),
        jit_blinding=bpf.blinds(),
    )
    if arch is not None:
        request.word_size = arch.model.word
        request.ctx_size = arch.pt_regs_for(bpf.version).size
        request.user_regs_size = arch.user_pt_regs_size
        request.strict_alignment = arch.aligned_only
    return request


def _resolver(bpf: Bpf) -> Callable[[int], MapInfo]:
    """__bpf_map_get() for a verifier: the same map is the same object each time."""
    seen: dict[int, MapInfo] = {}

    def resolve(fd: int) -> MapInfo:
        found = bpf.map_of_fd(fd)
        info = seen.get(id(found))
        if info is None:
            info = seen[id(found)] = found.info()
        return info

    return resolve


def refuse_unprivileged(bpf: Bpf) -> None:
    """kernel.unprivileged_bpf_disabled, before MAP_CREATE and PROG_LOAD."""
    if bpf.unprivileged_bpf_disabled and not bpf.capable("bpf"):
        raise KernelError(EPERM)
