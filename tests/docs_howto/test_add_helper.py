"""docs/add-helper.md, followed."""

import pytest

from tests.docs_howto.steps import Checkout, blocks

PAGE = "add-helper.md"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The sources with the toy helper."""
    there = Checkout(tmp_path_factory.mktemp("helper"))
    (enumerator,) = blocks(PAGE, "c")
    write_uapi, write_page = blocks(PAGE, "sh")
    there.insert("simkernel/include/bpf.h", "\t__BPF_FUNC_MAX_ID,\n", enumerator)
    there.command(write_uapi)
    there.append("bpf/helpers/probe.py", blocks(PAGE, "py")[0])
    there.command(write_page)
    return there


def test_a_program_uses_it(checkout):
    checkout.python("-c", blocks(PAGE, "py")[1])


def test_the_verifier_knows_its_prototype(checkout):
    program = blocks(PAGE, "py")[1].replace("r2 = 4", "r2 = 8")
    program = program[: program.index("assert prog")] + "print(prog, verdict.log)"
    assert "None" in checkout.python("-c", program)
    assert "invalid indirect access to stack" in checkout.python("-c", program)


def test_an_older_kernel_does_not_know_it(checkout):
    program = blocks(PAGE, "py")[1].replace("TestHost()", "TestHost(KernelVersion.parse('6.0'))")
    program = "from arch.abi.version import KernelVersion\n" + program[: program.index("assert prog")]
    assert "invalid func unknown#212" in checkout.python("-c", program + "print(verdict.log)")


def test_the_page_of_helpers_shows_it(checkout):
    assert "| 212 | `toy_sum` | 6.1 |" in (checkout.place / "docs/bpf-tables.md").read_text()
