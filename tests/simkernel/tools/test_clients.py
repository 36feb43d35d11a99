"""What docs/clients.md says was compared with the real kernel is what that kernel printed."""

import re

from tests.simkernel.tools.clients import COMPARED, PAGE, RECORDED, cases, missing

ANSWERS = dict(block.split("\n", 1) for block in re.split(r"^### ", RECORDED.read_text(), flags=re.M)[1:])


def test_every_pattern_holds_for_the_real_kernels_output():
    assert set(ANSWERS) == {case.command for case in COMPARED}
    for case in COMPARED:
        assert case.shown and not missing(case, ANSWERS[case.command]), case.command


def test_the_page_has_a_row_for_each():
    rows = [line for line in PAGE.read_text().splitlines() if re.search(r"\| \d+ \|$", line)]
    assert len(rows) == len(cases())
