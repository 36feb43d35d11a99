"""docs/add-kernel-version.md, followed."""

import pytest

from tests.docs_howto.steps import ROOT, Checkout, blocks

PAGE = "add-kernel-version.md"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The sources with the toy version."""
    there = Checkout(tmp_path_factory.mktemp("version"))
    (there.place / "samples").symlink_to(ROOT / "samples")
    release, feature, _ = blocks(PAGE, "py")
    (member,) = blocks(PAGE, "c")
    there.insert("arch/abi/version.py", "]  # fmt: skip\n", release)
    there.insert("simkernel/include/sched.h", "\tlong state; /* until 5.14 */\n", member)
    there.insert("simkernel/fs/features.py", "        # operations of files\n", feature)
    return there


def test_it_boots_and_has_its_novelties(checkout):
    checkout.python("-c", blocks(PAGE, "py")[2])


def test_the_command_line_takes_it(checkout):
    assert "hello, world" in checkout.python("-m", "simkernel", "run", "--kernel", "7.3", "samples/bin/x86_64/hello")


def test_without_the_row_there_is_no_such_version():
    from arch.abi.version import KernelVersion

    with pytest.raises(ValueError, match=r"no kernel version 7\.3 here"):
        KernelVersion.supported("7.3")


@pytest.mark.parametrize("path", [
    "simkernel/include/sched.h", "arch/x86_64/kernel.h", "arch/x86_64/registers.py", "arch/x86_64/syscalls.py",
    "simkernel/fs/features.py", "tracing/features.py", "tracing/events/older.py", "tracing/perf/attr.py",
    "bpf/versions/data.py", "bpf/syscall/attr.py", "bpf/syscall/object.py", "bpf/verifier/context/ctx_layout.py",
])  # fmt: skip
def test_the_tables_are_where_the_page_says(path):
    assert (ROOT / path).exists()
