"""Helper prototypes: the tables agree with themselves and with what Linux 6.1 offers each program type."""

import pytest

from arch.abi.version import NEWEST, KernelVersion
from bpf import uapi
from bpf.helpers.table import PROTOS, helper_rows
from bpf.verifier.domain import types as t
from bpf.verifier.protos import choose as protos

HELPER_NAMES = ("unspec", *(row.name for row in helper_rows()))
HELPER_SINCE = tuple(row.since for row in helper_rows())

NOBODY: frozenset[str] = frozenset()


def test_every_helper_of_6_1_has_a_number_and_a_version():
    assert len(HELPER_NAMES) == uapi.__BPF_FUNC_MAX_ID if hasattr(uapi, "__BPF_FUNC_MAX_ID") else 210
    assert {n: HELPER_NAMES[n] for n in uapi.HELPER_NAMES if n < len(HELPER_NAMES)} == {
        n: name for n, name in uapi.HELPER_NAMES.items() if n < len(HELPER_NAMES)
    }
    assert list(HELPER_SINCE) == sorted(HELPER_SINCE, key=KernelVersion.parse)


def test_every_helper_is_reachable_from_some_program_type():
    found = set()
    for prog_type in protos.SWITCHES:
        for attach in (0, *range(43)):
            for number in range(1, len(HELPER_NAMES)):
                if protos.helper_proto(number, prog_type, attach, config=protos.FULL_CONFIG):
                    found.add(HELPER_NAMES[number])
    assert found == {row.name for row in helper_rows() if NEWEST.at_least(row.since)}


@pytest.mark.parametrize(
    "helper, prog_type, attach, proto",
    [
        ("map_lookup_elem", "SOCKET_FILTER", 0, "bpf_map_lookup_elem_proto"),
        ("get_smp_processor_id", "SOCKET_FILTER", 0, "bpf_get_raw_smp_processor_id_proto"),
        ("get_smp_processor_id", "SCHED_CLS", 0, "bpf_get_smp_processor_id_proto"),
        ("perf_event_output", "KPROBE", 0, "bpf_perf_event_output_proto"),
        ("perf_event_output", "TRACEPOINT", 0, "bpf_perf_event_output_proto_tp"),
        ("perf_event_output", "XDP", 0, "bpf_xdp_event_output_proto"),
        ("override_return", "KPROBE", 0, None),
        ("get_func_ip", "KPROBE", uapi.BPF_TRACE_KPROBE_MULTI, "bpf_get_func_ip_proto_kprobe_multi"),
        ("seq_printf", "TRACING", uapi.BPF_TRACE_ITER, "bpf_seq_printf_proto"),
        ("seq_printf", "TRACING", uapi.BPF_TRACE_FENTRY, None),
        ("get_func_arg", "TRACING", uapi.BPF_TRACE_RAW_TP, None),
        ("skb_pull_data", "LWT_SEG6LOCAL", 0, None),
        ("skb_pull_data", "LWT_IN", 0, "bpf_skb_pull_data_proto"),
        ("get_retval", "CGROUP_SKB", uapi.BPF_CGROUP_INET_EGRESS, None),
        ("get_retval", "CGROUP_SOCK", uapi.BPF_CGROUP_INET_SOCK_CREATE, "bpf_get_retval_proto"),
        ("skb_load_bytes", "KPROBE", 0, None),
    ],
)
def test_choice(helper, prog_type, attach, proto):
    number = HELPER_NAMES.index(helper)
    answer = protos.helper_proto(number, getattr(uapi, f"BPF_PROG_TYPE_{prog_type}"), attach)
    assert (answer.proto if answer else None) == proto


def test_capabilities():
    def has(helper, caps):
        return protos.helper_proto(HELPER_NAMES.index(helper), uapi.BPF_PROG_TYPE_SOCKET_FILTER, caps=caps) is not None

    assert has("map_lookup_elem", NOBODY)
    assert not has("spin_lock", NOBODY)
    assert has("spin_lock", {"bpf"})
    assert not has("trace_printk", {"bpf"})
    assert has("trace_printk", {"bpf", "perfmon"})


def test_version():
    number = HELPER_NAMES.index("ringbuf_output")
    assert protos.helper_proto(number, uapi.BPF_PROG_TYPE_KPROBE, version=KernelVersion.parse("5.7")) is None
    assert protos.helper_proto(number, uapi.BPF_PROG_TYPE_KPROBE, version=KernelVersion.parse("5.8")) is not None
    assert protos.helper_proto(0, uapi.BPF_PROG_TYPE_KPROBE) is None
    assert protos.helper_proto(4711, uapi.BPF_PROG_TYPE_KPROBE) is None


def test_rows_are_well_formed():
    for row in PROTOS.values():
        words = [t.base_type(word) for word in row.arg_types]
        used = [word for word in words if word]
        assert words[: len(used)] == used, row.proto  # no gap
        for position, word in enumerate(words):
            if row.arg_btf_ids[position]:
                assert word == t.ARG_PTR_TO_BTF_ID, row.proto
            if word in (t.ARG_CONST_SIZE, t.ARG_CONST_SIZE_OR_ZERO):
                assert t.base_type(words[position - 1]) == t.ARG_PTR_TO_MEM, row.proto
            if row.arg_types[position] & t.MEM_FIXED_SIZE:
                assert row.arg_sizes[position] > 0, row.proto
