"""A kernel without CPU for the tests of the file systems."""

import pytest

import simkernel
from arch.abi.fcntl import O_CREAT, O_WRONLY
from simkernel.fs.testing import Libc


@pytest.fixture
def libc():
    return Libc()


@pytest.fixture(scope="module")
def written():
    """A machine with two CPUs whose disk was written to."""
    machine = simkernel.boot(cpus=2)
    machine.session.write_file("/mnt/data", bytes(8192), O_CREAT | O_WRONLY)
    machine.session.task.call("sync")
    return machine
