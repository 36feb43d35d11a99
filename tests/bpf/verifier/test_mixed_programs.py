"""The random programs that figures of agreement are measured with: the same for the same seed, and of use."""

import pytest

from arch.abi.version import KernelVersion
from bpf.testing.case_files import parse_cases
from bpf.testing.cases import Options, run_cases
from tests.oracle.mixed_programs import KINDS, programs


def test_a_seed_is_a_set_of_programs() -> None:
    """Figures name kind, number and seed: whoever repeats them asks the same programs."""
    assert programs("mixed", 40, 7) == programs("mixed", 40, 7) != programs("mixed", 40, 8)
    assert programs("mixed", 80, 7)["cases"][:40] == programs("mixed", 40, 7)["cases"]


@pytest.mark.parametrize("kernel", ["5.10", "6.1", "7.2"])
@pytest.mark.parametrize("kind", KINDS)
def test_some_are_accepted_and_some_are_not(kind: str, kernel: str) -> None:
    """Programs that are all refused at once would say nothing of a verifier."""
    options = Options(KernelVersion.parse(kernel), log_level=1)
    verdicts = [row["ret"] == 0 for row in run_cases(parse_cases(programs(kind, 40, 3)), options)]
    assert 8 <= sum(verdicts) < 40
