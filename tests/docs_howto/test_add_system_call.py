"""docs/add-system-call.md, followed."""

import pytest

from tests.docs_howto.steps import ROOT, Checkout, blocks

PAGE = "add-system-call.md"
FILE = "simkernel/fs/secretmem.py"


def without(place):
    """The sources without memfd_secret(2), but for what else its file has."""
    there = Checkout(place)
    file, call = there.place / FILE, blocks(PAGE, "py")[0]
    assert file.read_text().endswith(call)
    file.write_text(file.read_text().removesuffix(call).rstrip() + "\n")
    return there


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The sources with it again."""
    there = without(tmp_path_factory.mktemp("syscall"))
    there.append(FILE, blocks(PAGE, "py")[0])
    assert (there.place / FILE).read_text() == (ROOT / FILE).read_text()
    return there


def test_without_it_the_call_is_missing(tmp_path_factory):
    plain = without(tmp_path_factory.mktemp("plain"))
    program = (
        "import simkernel; s = simkernel.boot(kernel='6.12').session; print(s.syscalls.syscall('memfd_secret', 0))"
    )
    assert plain.python("-c", program) == "-38\n"  # ENOSYS


def test_the_body_runs_without_a_cpu(checkout):
    checkout.python("-c", blocks(PAGE, "py")[1])


def test_a_machine_runs_it_and_probes_see_it(checkout):
    checkout.python("-c", blocks(PAGE, "py")[2])


def test_its_test_passes(checkout):
    (checkout.place / "test_secret.py").write_text(
        "import pytest\nfrom simkernel.fs.testing import Libc\n\n\n"
        "@pytest.fixture\ndef libc():\n    return Libc('6.12')\n\n\n" + blocks(PAGE, "py")[3]
    )
    assert "1 passed" in checkout.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_secret.py")
