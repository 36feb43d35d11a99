"""Context accesses, by the rules of Linux 6.1's is_valid_access() functions."""

from dataclasses import dataclass

import pytest

from arch.abi.version import NEWEST, KernelVersion
from bpf import uapi
from bpf.verifier.context import ctx, ctx_layout
from bpf.verifier.context.ctx_rule import AccessInfo
from bpf.verifier.domain import types as t
from bpf.versions.verifier_rules import rules_of


@dataclass
class Prog:
    prog_type: int
    expected_attach_type: int = 0
    caps: frozenset = frozenset({"sys_admin"})
    version: KernelVersion = NEWEST
    word_size: int = 8
    pt_regs_size: int = 168
    user_regs_size: int = 168
    attach_prog: object = None

    @property
    def rules(self):
        return rules_of(self.version)


def access(kind, layout, field, size, write=False, at=0, **more):
    """What happens on touching `field`: None if refused, else (register type, field size)."""
    info = AccessInfo()
    prog = Prog(getattr(uapi, f"BPF_PROG_TYPE_{kind}"), **more)
    if not ctx.is_valid_access(prog, layout.offsetof(field) + at, size, int(write), info):
        return None
    return info.reg_type, info.ctx_field_size


SCALAR = t.SCALAR_VALUE
SKB = ctx_layout.SK_BUFF


@pytest.mark.parametrize(
    "kind, field, size, at, write, answer",
    [
        ("SOCKET_FILTER", "len", 4, 0, False, (SCALAR, 4)),
        ("SOCKET_FILTER", "len", 1, 3, False, (SCALAR, 4)),
        ("SOCKET_FILTER", "len", 2, 1, False, None),  # unaligned
        ("SOCKET_FILTER", "len", 8, 0, False, None),
        ("SOCKET_FILTER", "mark", 4, 0, True, None),
        ("SOCKET_FILTER", "cb", 8, 8, True, (SCALAR, 0)),
        ("SOCKET_FILTER", "cb", 8, 16, True, None),  # over the end
        ("SOCKET_FILTER", "data", 4, 0, False, None),
        ("SOCKET_FILTER", "tstamp", 8, 0, False, None),
        ("SOCKET_FILTER", "sk", 8, 0, False, (t.PTR_TO_SOCK_COMMON_OR_NULL, 0)),
        ("SCHED_CLS", "data", 4, 0, False, (t.PTR_TO_PACKET, 0)),
        ("SCHED_CLS", "data_end", 4, 0, False, (t.PTR_TO_PACKET_END, 0)),
        ("SCHED_CLS", "data_meta", 4, 0, False, (t.PTR_TO_PACKET_META, 0)),
        ("SCHED_CLS", "tstamp_type", 1, 0, False, (SCALAR, 0)),
        ("SCHED_CLS", "tstamp_type", 1, 1, False, None),  # padding
        ("SCHED_CLS", "tstamp", 8, 0, True, (SCALAR, 0)),
        ("SCHED_CLS", "family", 4, 0, False, None),
        ("SK_SKB", "family", 4, 0, False, (SCALAR, 4)),
        ("SK_SKB", "remote_ip4", 2, 0, False, None),
        ("SK_SKB", "mark", 4, 0, False, None),
        ("FLOW_DISSECTOR", "flow_keys", 8, 0, False, (t.PTR_TO_FLOW_KEYS, 0)),
        ("FLOW_DISSECTOR", "len", 4, 0, False, None),
    ],
)
def test_sk_buff(kind, field, size, at, write, answer):
    assert access(kind, SKB, field, size, write, at) == answer


def test_packet_pointers_of_cgroup_skb_need_a_capability():
    assert access("CGROUP_SKB", SKB, "data", 4) == (t.PTR_TO_PACKET, 0)
    assert access("CGROUP_SKB", SKB, "data", 4, caps=frozenset()) is None
    assert access("CGROUP_SKB", SKB, "tstamp", 8, caps=frozenset()) == (SCALAR, 0)
    assert access("CGROUP_SKB", SKB, "tstamp", 8, write=True, caps=frozenset()) is None


def test_attach_types():
    sock, addr = ctx_layout.BPF_SOCK, ctx_layout.BPF_SOCK_ADDR
    create, bind4 = uapi.BPF_CGROUP_INET_SOCK_CREATE, uapi.BPF_CGROUP_INET4_POST_BIND
    assert access("CGROUP_SOCK", sock, "mark", 4, write=True, expected_attach_type=create)
    assert access("CGROUP_SOCK", sock, "mark", 4, expected_attach_type=bind4) is None
    assert access("CGROUP_SOCK", sock, "src_ip4", 1, at=1, expected_attach_type=bind4) == (SCALAR, 4)
    assert access("CGROUP_SOCK", sock, "src_ip4", 4, expected_attach_type=create) is None
    assert access("CGROUP_SOCK", sock, "dst_port", 2, expected_attach_type=create) == (SCALAR, 2)
    assert access("CGROUP_SOCK", sock, "dst_port", 4, expected_attach_type=create) == (SCALAR, 4)
    bind6 = uapi.BPF_CGROUP_INET6_BIND
    assert access("CGROUP_SOCK_ADDR", addr, "user_ip6", 8, expected_attach_type=bind6) == (SCALAR, 4)
    assert access("CGROUP_SOCK_ADDR", addr, "user_ip6", 8, write=True, expected_attach_type=bind6)
    assert access("CGROUP_SOCK_ADDR", addr, "user_ip4", 4, expected_attach_type=bind6) is None
    xdp = ctx_layout.XDP_MD
    assert access("XDP", xdp, "egress_ifindex", 4) is None
    assert access("XDP", xdp, "egress_ifindex", 4, expected_attach_type=uapi.BPF_XDP_DEVMAP)


def test_sk_lookup_port():
    lookup = ctx_layout.BPF_SK_LOOKUP
    assert access("SK_LOOKUP", lookup, "remote_port", 4) == (SCALAR, 0)
    assert access("SK_LOOKUP", lookup, "remote_port", 2) == (SCALAR, 2)
    assert access("SK_LOOKUP", lookup, "remote_port", 2, at=2) == (SCALAR, 2)


def test_older_kernels_lack_fields():
    assert access("SCHED_CLS", SKB, "gso_size", 4, version=KernelVersion.parse("5.6")) is None
    assert access("SCHED_CLS", SKB, "gso_size", 4, version=KernelVersion.parse("5.7")) == (SCALAR, 4)


def test_tracing_contexts():
    def ok(kind, off, size, write=0, **more):
        prog = Prog(getattr(uapi, f"BPF_PROG_TYPE_{kind}"), **more)
        return ctx.is_valid_access(prog, off, size, write, AccessInfo())

    assert ok("KPROBE", 160, 8) and not ok("KPROBE", 168, 8) and not ok("KPROBE", 0, 8, 1)
    assert ok("KPROBE", 0, 8, 1, version=KernelVersion.parse("6.18"))
    assert ok("TRACEPOINT", 8, 8) and not ok("TRACEPOINT", 0, 8) and not ok("TRACEPOINT", 8192, 8)
    assert ok("RAW_TRACEPOINT", 88, 8) and not ok("RAW_TRACEPOINT", 96, 8)
    assert ok("PERF_EVENT", 168, 1) and ok("PERF_EVENT", 176, 4) and not ok("PERF_EVENT", 8, 4)
