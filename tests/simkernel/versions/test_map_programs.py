"""Maps as programs with a C library meet them, asked as test_static_programs.py asks.

insnarray.c is about maps of places that a program jumps to; with an argument, what the verifier says of such programs at that log
level, and where they jump.  mapmemory.c is about the memory that maps of all types are said to take.
"""

import itertools
import shutil

import pytest

from tests.simkernel.versions import test_static_programs as static


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler on this host")
@pytest.mark.parametrize("kernel, name, arguments", [
    *itertools.product(["6.12", "7.2"], ["insnarray"], [(), ("1",), ("2",)]),
    *itertools.product(["5.10", "6.1", "6.12", "7.2"], ["mapmemory"], [()]),
])  # fmt: skip
def test_what_the_real_kernel_said(tmp_path, name, arguments, kernel):
    static.test_what_the_real_kernel_said(tmp_path, name, arguments, kernel)
