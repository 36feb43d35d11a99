"""The symbols of a real kernel of this version, most of them of functions that this machine never calls."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext

import pytest

import simkernel
from arch.abi.errno import EADDRNOTAVAIL, EINVAL, ENOENT
from arch.errors import KernelError
from simkernel.machine import Machine
from tracing.tracers.recorded import all_letters

TRACING = "/sys/kernel/tracing"


def rows(m: Machine) -> list[list[str]]:
    return [line.split() for line in m.session.read_file("/proc/kallsyms").decode().splitlines()]


# The padding of one function that has several names lies where another is.
@pytest.mark.parametrize(
    ("arch", "kernel", "count", "lost"),
    [("x86_64", "6.1", 94_266, 0), ("arm64", "6.1", 50_000, 0), ("s390x", "6.1", 34_000, 0), ("x86_64", "5.10", 105_158, 0), ("x86_64", "7.2", 199_097, 1)],
)  # fmt: skip
def test_kallsyms_has_all_symbols_of_the_real_kernel(arch: str, kernel: str, count: int, lost: int) -> None:
    m = simkernel.boot(arch=arch, kernel=kernel)
    real = Counter((letter, name) for name, found in all_letters(arch, m.kernel.version).items() for letter in found)
    assert real.total() >= count
    found = rows(m)
    assert (real - Counter((row[1], row[2]) for row in found)).total() == lost
    by_name = {row[2]: int(row[0], 16) for row in found}
    assert by_name["_stext"] < by_name["vfs_read"] < by_name["_etext"]
    addresses = [int(row[0], 16) for row in found]
    assert addresses == sorted(addresses)
    m.close()


def test_an_address_that_kallsyms_told_is_that_functions() -> None:
    """A silent function is where it was listed, for whoever asks by address or by name, before and after it gets text."""
    m = simkernel.boot()
    before = {row[2]: int(row[0], 16) for row in rows(m)}
    at = before["ksys_sync_helper"]
    session = m.session
    session.write_file(f"{TRACING}/kprobe_events", f"p:silent 0x{at:x}\n".encode())
    session.write_file(f"{TRACING}/events/kprobes/silent/enable", b"1")
    listed = session.read_file("/sys/kernel/debug/kprobes/list").decode()
    assert f"{at:x}  k  ksys_sync_helper+0x0" in listed
    assert m.kernel.symbols.address("ksys_sync_helper") == at
    after = rows(m)
    assert {row[2]: int(row[0], 16) for row in after} == before
    assert len(after) == len({(row[0], row[2]) for row in after})
    m.close()


def test_the_order_of_asking_does_not_matter() -> None:
    """By name first: kallsyms tells the address that the probe has."""
    m = simkernel.boot()
    at = m.kernel.symbols.address("ksys_sync_helper")
    assert [int(row[0], 16) for row in rows(m) if row[2] == "ksys_sync_helper"] == [at]
    m.close()


ASKED = (  # of 6.1: a definition, and the errno of its write
    ("p:a tick_do_timer_cpu", EINVAL),  # data
    ("p:b x86_64_start_kernel", EINVAL),  # of the boot
    ("p:c early_ioremap_init", EINVAL),
    ("p:d restore_regs_and_return_to_kernel", EINVAL),
    ("r:e do_int3", EINVAL),
    ("r:f acpi_ds_get_bit_field.isra.0", ENOENT),
    ("p:g seq_show", EADDRNOTAVAIL),  # several functions
    ("p:h __x64_sys_swapon", 0),
    ("p:i ksys_sync_helper", 0),
)


def test_probes_of_silent_functions_are_refused_as_on_6_1() -> None:
    m = simkernel.boot(kernel="6.1")
    for definition, errno in ASKED:
        with nullcontext() if not errno else pytest.raises(KernelError) as refused:
            m.session.write_file(f"{TRACING}/kprobe_events", definition.encode())
        assert refused is None or refused.value.errno == errno, definition
    assert m.session.read_file("/sys/kernel/debug/kprobes/blacklist").count(b"\n") >= 373
    m.close()


def test_nothing_of_it_is_read_at_boot() -> None:
    all_letters.cache_clear()
    simkernel.boot().close()
    assert all_letters.cache_info().misses == 0
