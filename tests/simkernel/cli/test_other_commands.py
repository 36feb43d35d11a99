"""demo, list, disasm and btf: on other machines, and asked for what is not there."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from simkernel.cli import cli


def ask(*args: str) -> Result:
    """`simkernel ARGS` in this process.  A traceback is a failure of the test."""
    result = CliRunner().invoke(cli, list(args))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.parametrize("arch", ["x86_64", "s390x", "arm"])
def test_the_demo_shows_a_histogram(arch: str) -> None:
    result = ask("demo", "--arch", arch)
    assert result.exit_code == 0
    assert "sizes:\n" in result.stdout
    assert "4096 -> 8191       : 13 " in result.stdout


def test_lists_on_another_machine() -> None:
    assert ask("list", "functions", "vfs_wr*", "--arch", "arm").stdout == "vfs_write\nvfs_writev\n"
    assert "sched:sched_switch\n" in ask("list", "events", "sched:*", "--kernel", "4.1", "--arch", "riscv64").stdout


@pytest.mark.parametrize(
    ("args", "status", "sentence"),
    [
        (["list", "functions", "nosuch"], 1, "no function matches nosuch"),
        (["list", "events", "--kernel", "9.9"], 2, "no kernel version 9.9"),
        (["disasm", "vfs_wrote"], 2, "near: vfs_write"),
        (["btf", "dump", "--out", "/nosuch/x"], 2, "/nosuch/x: No such file or directory"),
        (["feature", "probe", "--kernel", "x"], 2, "not a kernel version"),
        (["verify", "--kernel", "9.0", "x.o"], 2, "no kernel version 9.0"),
        (["nosuch"], 2, "no command is named 'nosuch'"),
    ],
)
def test_bad_input_is_told(args: list[str], status: int, sentence: str) -> None:
    result = ask(*args)
    assert (result.exit_code, sentence in result.stderr) == (status, True), result.stderr
