"""A kernel without CPU for the tests of the file systems."""

import pytest

from simkernel.fs.testing import Libc


@pytest.fixture
def libc():
    return Libc()
