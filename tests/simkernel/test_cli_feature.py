"""`simkernel feature probe`."""

import json

import pytest
from click.testing import CliRunner

from arch.abi.version import KernelVersion
from bpf.testing.probe import probe
from simkernel.cli import cli


def run(*arguments):
    return CliRunner().invoke(cli, ["feature", "probe", *arguments])


def test_text():
    result = run("--kernel", "5.10")
    assert result.exit_code == 0
    assert "eBPF program_type sk_lookup is available" in result.output
    assert "eBPF program_type syscall is NOT available" in result.output


def test_json_of_two_versions():
    old, new = (json.loads(run("--kernel", kernel, "--json").output) for kernel in ("4.1", "6.1"))
    assert not old["map_types"]["have_ringbuf_map_type"] and new["map_types"]["have_ringbuf_map_type"]
    assert "bpf_loop" in new["helpers"]["kprobe_available_helpers"]


def test_the_patch_set():
    assert "tracing_filter" in run("--kernel", "3.20-rfc").output


def test_a_version_that_is_none():
    result = run("--kernel", "six")
    assert result.exit_code == 2


@pytest.mark.parametrize("kernel", ["3.19", "4.7", "4.14", "5.10"])
def test_a_machine_has_what_the_feature_tables_say(kernel):
    """The tables by version, and what a machine of that version answers when programs and maps are tried on it."""
    output = run("--kernel", kernel).output
    assert output[output.index("Scanning system call availability...") :] == probe(KernelVersion.parse(kernel)).text()
