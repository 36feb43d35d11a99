"""Random programs of all types give the same by Python and by machine code: tests/bpf/two_tiers.py."""

import pytest

from tests.bpf.two_tiers import ARCHS, main


@pytest.mark.parametrize("arch", ARCHS)
def test_some_programs(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--programs", "5", "--arch", arch]) == 0
    said = capsys.readouterr().out
    assert said.startswith("5 programs ran, 0 differ") and f"compiled, {arch}" in said


@pytest.mark.slow
def test_a_thousand_programs() -> None:
    assert main(["--programs", "1000", "--seed", "2"]) == 0
