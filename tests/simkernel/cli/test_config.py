"""simkernel.toml: defaults of options, and sentences for what is wrong in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from simkernel.cli import cli


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SIMKERNEL_CONFIG", raising=False)
    return tmp_path


def listed(*words: str) -> Result:
    return CliRunner().invoke(cli, ["list", "functions", "tcp_transmit_skb", *words])


def test_an_option_of_the_file_holds_unless_it_is_given(here: Path) -> None:
    assert "tcp_transmit_skb" not in listed().output.split()
    (here / "simkernel.toml").write_text('[list]\nkernel = "4.1"\n')
    assert "tcp_transmit_skb" in listed().output
    assert "tcp_transmit_skb" not in listed("--kernel", "6.1").output.split()


def test_another_file_or_none(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "simkernel.toml").write_text('[list]\nkernel = "4.1"\n')
    monkeypatch.setenv("SIMKERNEL_CONFIG", "")
    assert "tcp_transmit_skb" not in listed().output.split()
    monkeypatch.setenv("SIMKERNEL_CONFIG", "mine.toml")
    assert (listed().exit_code, "mine.toml: No such file or directory" in listed().stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[lst]\nkernel = '4.1'\n", "[lst] is no command; there are demo, run"),
        ("list = 3\n", "list is no table; write [list] above its options"),
        ("[list]\nkernle = '4.1'\n", "[list] kernle: `simkernel list` has no option --kernle"),
        ("[list]\nkernel = ['4.1']\n", "[list] kernel: is given once: write one value"),
        ("[list\n", "simkernel.toml: Expected ']'"),
        ("x = " + "[" * 100_000, "simkernel.toml: maximum recursion depth"),
        ("[run]\nseed = " + "9" * 5000, "simkernel.toml: Exceeds the limit"),
        ("[list]\nkernel = '9.9'\n", "9.9"),
        ("run" + ".a" * 30_000 + " = 1\n", "a name has more than 20 parts"),
        ("# " + "x" * 140_000, "is larger than 128 KiB"),
    ],
)
def test_what_is_wrong_is_told(here: Path, text: str, sentence: str) -> None:
    (here / "simkernel.toml").write_text(text)
    result = listed()
    assert (result.exit_code, sentence in result.stderr) == (2, True), result.stderr


def test_repeated_options_are_lists_and_groups_have_tables(here: Path) -> None:
    (here / "simkernel.toml").write_text("[run]\nevent = 'sched:sched_switch'\n")
    result = CliRunner().invoke(cli, ["run", "--", "busybox", "true"])
    assert result.exit_code == 2 and "[run] event: may be given several times: write a list" in result.stderr
    (here / "simkernel.toml").write_text("[btf.dump]\nformat = 'c'\n")
    assert CliRunner().invoke(cli, ["btf", "dump"]).output.startswith("#ifndef __VMLINUX_H__")
