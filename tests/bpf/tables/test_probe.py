"""`bpftool feature probe` about simulated kernels."""

import json

import pytest

from arch.abi.version import KernelVersion
from bpf import uapi
from bpf.helpers.table import helper_rows
from bpf.isa.insn import Insn
from bpf.testing import probe
from bpf.verifier.api import VerifyRequest
from bpf.verifier.modern import verify
from tests.bpf.tables.test_recorded import HELPERS, numbers

HELPER_NAMES = ("unspec", *(row.name for row in helper_rows()))


def test_6_1_has_everything_that_debian_configured():
    answers = probe.probe(KernelVersion.parse("6.1"))
    assert [name for name, have in answers.prog_types.items() if not have] == ["lirc_mode2"]
    assert all(answers.map_types.values()) and all(answers.misc.values())


@pytest.mark.parametrize("prog_type", sorted(set(probe.prog_type_names()) - {20}))
def test_helpers_as_recorded_from_6_1(prog_type):
    found = probe.helpers_of(KernelVersion.parse("6.1"), prog_type, full=True)
    attach = probe._ATTACH_TYPE.get(prog_type, 0)
    recorded = HELPERS.get(f"{prog_type}/{attach}/")
    if found is None:
        assert prog_type in probe._NO_HELPER_PROBE
    else:
        assert found == tuple("bpf_" + HELPER_NAMES[n] for n in sorted(numbers(recorded["has"])))


@pytest.mark.parametrize("version", [KernelVersion.parse(text) for text in ("5.4", "5.15")])
def test_tables_and_loads_agree(version):
    """Load "call helper; exit", as libbpf does, and look for the two messages that mean no."""
    for prog_type in (uapi.BPF_PROG_TYPE_KPROBE, uapi.BPF_PROG_TYPE_XDP, uapi.BPF_PROG_TYPE_CGROUP_SKB):
        found = probe.helpers_of(version, prog_type, full=True)
        for number, name in enumerate(HELPER_NAMES[1:], 1):
            insns = [Insn(0x85, 0, 0, 0, number), Insn(0x95)]
            log = verify(VerifyRequest(insns, prog_type, version=version, log_level=1)).log
            assert ("unknown func" not in log and "invalid func" not in log) == (f"bpf_{name}" in found), name


def test_an_old_kernel():
    answers = probe.probe(KernelVersion.parse("4.1"))
    assert [name for name, have in answers.prog_types.items() if have] == [
        "socket_filter",
        "kprobe",
        "sched_cls",
        "sched_act",
    ]
    assert "bpf_probe_read" in answers.helpers["kprobe"] and answers.helpers["xdp"] is None
    assert not any(answers.misc.values())


def test_text_and_json():
    answers = probe.probe(KernelVersion.parse("5.10"))
    text = answers.text()
    assert "eBPF program_type sk_lookup is available\n" in text
    assert "eBPF map_type task_storage is NOT available\n" in text
    assert "program type tracing:\n\tCould not determine which helpers are available\n" in text
    assert "program type lirc_mode2:\n\tProgram type not supported\n" in text
    assert "\t- bpf_trace_printk\n" not in text and "\t- bpf_ringbuf_output\n" in text
    data = json.loads(answers.json_text())
    assert data["program_types"]["have_syscall_prog_type"] is False
    assert data["map_types"]["have_ringbuf_map_type"] is True
    assert "bpf_d_path" not in data["helpers"]["kprobe_available_helpers"]
    assert data["misc"]["have_bounded_loops"] is True


def test_the_patch_set_of_january_2015():
    answers = probe.probe(KernelVersion.parse("3.20-rfc"))
    assert list(answers.prog_types) == ["socket_filter", "tracing_filter", "kprobe_filter"]
    assert "bpf_dump_stack" in answers.helpers["tracing_filter"]
