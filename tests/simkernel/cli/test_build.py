"""`simkernel build`: an object beside the program, or one clear line."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from simkernel.cli import cli

GOOD = 'from simkernel import bpf\n\n\n@bpf.kprobe("vfs_read")\ndef program(ctx):\n    return 0\n'


def test_an_object_and_one_clear_line(tmp_path: Path) -> None:
    program = tmp_path / "prog.py"
    program.write_text(GOOD)
    assert CliRunner().invoke(cli, ["build", str(program)]).exit_code == 0
    assert (tmp_path / "prog.bpf.o").read_bytes()[:4] == b"\x7fELF"
    assert (
        CliRunner().invoke(cli, ["build", str(program), "-o", str(tmp_path / "x.o"), "--arch", "s390x"]).exit_code == 0
    )
    assert (tmp_path / "x.o").read_bytes()[5] == 2  # big endian
    program.write_text(GOOD.replace("return 0", "return 1 / 2"))
    refused = CliRunner().invoke(cli, ["build", str(program)])
    assert refused.exit_code == 2 and "prog.py:6:12: BPF has no such operation" in refused.output
    for arguments in (["build", str(tmp_path / "none.py")], ["build", str(program), "--kernel", "9.9"]):
        refused = CliRunner().invoke(cli, arguments)
        assert (
            refused.exit_code == 2
            and refused.output.startswith("simkernel build: ")
            and "Traceback" not in refused.output
        )
