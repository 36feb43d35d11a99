"""The verifier's walk: each cut path with what it was compared with, each mark of precision, and commands to go along it."""

from __future__ import annotations

from pathlib import Path

import pytest

from arch.abi.version import KernelVersion
from simkernel.debug.verifier import Cut, ObjectError, Precise, Walk, WalkCommands, Went, covered, walks
from simkernel.verify_object import verify_object

WRITES = Path(__file__).parents[3] / "samples/obj/x86_64/writes.bpf.o"


def walk(kernel: str, name: str = "write_ends") -> Walk:
    return next(w for w in walks(WRITES, KernelVersion.supported(kernel), "x86_64") if w.name == name)


@pytest.mark.parametrize("kernel", ["5.10", "6.1", "6.12"])
def test_every_cut_says_what_was_compared(kernel: str) -> None:
    """As many as the log has, whether somebody watches or not."""
    plain = verify_object(WRITES, KernelVersion.supported(kernel), "x86_64", 2)
    log = next(row["log"] for row in plain if row["name"] == "write_ends")
    found = walk(kernel)
    cuts = [event for event in found.events if isinstance(event, Cut)]
    assert len(cuts) == sum(line.endswith(": safe") for line in log.split("\n")) > 10
    assert all(cut.compared for cut in cuts)
    steps = [event.insn for event in found.events if isinstance(event, Went)]
    assert f"processed {len(steps) + len(cuts)} insns" in found.statistics[-1]
    text = list(found.lines())
    assert text[0] == "write_ends (kretprobe/vfs_write): accepted"
    assert any("it was not needed precisely, so any number does" in line for line in text)


def test_marks_of_precision() -> None:
    marks = [event for event in walk("6.1").events if isinstance(event, Precise)]
    assert marks[0].insn == 7 and marks[0].marked() == [6]  # the 0 that is stored at fp-24 comes from instruction 6
    assert marks[0].log[1] == "regs=2 stack=0 before 6: (b7) r1 = 0"


def test_commands_go_along_it() -> None:
    commands = WalkCommands(walk("6.1"))

    def say(line: str) -> list[str]:
        return list(commands.execute(line))

    assert say("next 2")[1] == "   2: *(u32 *)(r10 -4) = r0    ; fp-8=mmmm????"
    assert sorted(say("state")) == sorted(["  R6=ctx(off=0,imm=0)", "  R10=fp0", "  R0=scalar()", "  fp-8=mmmm????"])
    assert say("back")[1].startswith("   1: call bpf_get_current_pid_tgid")
    assert "cut here" in say("cut")[1] and "precise" in say("precise")[1]
    assert say("goto 3")[1].startswith("   3:") and say("way") == ["0 1 2 3"]
    assert say("end")[0] == f"[{len(commands.walk.events)} of {len(commands.walk.events)}]"
    assert say("nonsense")[0].startswith("next [N]") and say("") == []
    assert say("quit") == [] and commands.done


def test_why_a_value_is_covered() -> None:
    assert covered("5", "5") == "5, as then"
    assert covered("P5", "5") == "5 lies within P5"
    assert (
        covered("scalar(umax=7)", "9") == "9 now, scalar(umax=7) then: it was not needed precisely, so any number does"
    )


def test_what_is_no_object(tmp_path: Path) -> None:
    with pytest.raises(ObjectError):
        walks(tmp_path / "absent.o", KernelVersion.supported("6.1"), "x86_64")
