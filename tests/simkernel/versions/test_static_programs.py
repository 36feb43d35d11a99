"""Programs with a C library: programs/NAME.c print here what they printed on 6.1, 6.12 and 7.2 (gzip files beside them).

unixhooks.c is about Unix sockets: what the verifier lets programs do, where they are asked and what they make of addresses;
with an argument, about what programs of all hooks may set as a call's result. progloads.c is about what BPF_PROG_LOAD takes of types,
attach types and flags, and what it refuses first.  rhash.c is about hash maps whose table grows.
givenpages.c is about the pages that fallocate() gives a file, whofirst.c and whowakes.c about which task runs first on
one CPU (asked with a clock that counts instructions), tracedorder.c about which of several tasks wait() tells a tracer first.
"""

import gzip
import itertools
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from simkernel.machine import boot

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler on this host")
@pytest.mark.parametrize("kernel, name, arguments", [
    *itertools.product(["6.12", "7.2"], ["unixhooks", "progloads", "rhash"], [()]),
    *itertools.product(["6.12", "7.2"], ["unixhooks"], [("results",)]),
    *itertools.product(["6.1", "6.12", "7.2"], ["givenpages"], [()]),
    *itertools.product(["5.10", "6.1"], ["whofirst", "whowakes"], [()]),
    *itertools.product(["5.10", "6.1", "6.12"], ["tracedorder"], [()]),
])  # fmt: skip
def test_what_the_real_kernel_said(tmp_path, name, arguments, kernel):
    built = tmp_path / name
    subprocess.run(["gcc", "-O1", "-static", "-w", "-o", built, PROGRAMS / f"{name}.c"], check=True)
    with closing(boot(kernel=kernel)) as machine:
        result = machine.run([machine.install(built), *arguments], timeout_host_s=120)
    told = PROGRAMS / ".".join([name, *arguments, kernel, "gz"])
    assert result.crash is None
    assert result.text == gzip.decompress(told.read_bytes()).decode()
