"""docs/add-architecture.md, followed: riscv64 under another name, in a folder of another place."""

import shlex
import subprocess

import pytest

from tests.docs_howto.steps import ROOT, Checkout, blocks

PAGE = "add-architecture.md"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The sources, and beside them the folder of toy64."""
    there = Checkout(tmp_path_factory.mktemp("architecture"))
    (there.place / "samples").symlink_to(ROOT / "samples")
    for line in blocks(PAGE, "sh")[0].splitlines():
        words = shlex.split(line.removeprefix("$ "))
        files = (
            [str(f.relative_to(there.place)) for f in there.place.glob(words[-1])] if "*" in words[-1] else words[-1:]
        )
        subprocess.run([*words[:-1], *files], cwd=there.place, check=True)
    return there


def test_it_boots_runs_a_program_a_kprobe_and_a_bpf_object(checkout):
    checkout.python("-c", blocks(PAGE, "py")[0])


def test_files_and_cpus_look_as_its_folder_says(checkout):
    checkout.python(
        "-c",
        """
from pathlib import Path
import simkernel
from arch import architecture
architecture.add_folder(Path("elsewhere"))
m = simkernel.boot(arch="toy64", kernel="5.10", cpus=2)
assert m.kernel.arch.machine == "toy64"
assert m.session.read_file("/proc/cpuinfo").count(b"hart") == 2
assert m.kernel.types.sizeof("struct pt_regs") == m.kernel.arch.pt_regs.size
""",
    )


def test_without_its_place_nobody_knows_it(checkout):
    checkout.python(
        "-c",
        """
from arch import architecture
try:
    architecture.get("toy64")
except ValueError as error:
    assert "known: x86_64, arm64, riscv64, s390x, i386, arm" in str(error)
else:
    raise AssertionError
""",
    )


def test_every_file_of_the_table_is_there_on_every_architecture():
    page = (ROOT / "docs" / PAGE).read_text()
    for name in ("registers.py", "text.py", "signal.py", "files.py", "usdt.py", "kernel.h", "__init__.py"):
        assert f"| `{name}` |" in page
        for arch in ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm"):
            assert (ROOT / "arch" / arch / name).exists(), f"{arch}/{name}"
