"""trace_marker and trace_marker_raw: how much is taken, and what stands in the trace; recorded from real kernels."""

import re

import pytest

from arch.abi.errno import EBADF, EFAULT, EINVAL, EOVERFLOW
from arch.errors import KernelError
from tests.tracing.fakes import cat, echo, machine

# size of a write: what it returned, by kernel
TEXTS = {
    "6.1": {0: 0, 1: 1, 9: 9, 1007: 1007, 1024: 1024, 1025: 1024, 4000: 1024, 5000: 1024},
    "6.12": {0: 0, 1: 1, 9: 9, 1024: 1024, 1025: 1025, 4000: 4000, 4060: 4054, 4096: 4054, 5000: 4054},
}
RAW = {
    "5.10": {0: -EINVAL, 3: -EINVAL, 4: 4, 14: 14, 1025: 1024, 3072: 1024, 3073: -EINVAL},
    "6.12": {0: -EINVAL, 3: -EINVAL, 4: 4, 1025: 1025, 3072: 3072, 3073: 3073, 5000: -EINVAL},
}


def answer(tracing, name, data):
    try:
        return tracing.tracefs.root.lookup(name).open(1).write(data, 0)
    except KernelError as error:
        return -error.errno


def lines(tracing):
    return re.findall(r"^[^#].*?: (?:tracing_mark_write: |# )(.*)\n", cat(tracing, "trace"), re.M)


@pytest.mark.parametrize("version", TEXTS)
def test_how_much_of_a_text_is_taken(version):
    tracing = machine(version, cpus=1)
    for size, taken in TEXTS[version].items():
        assert answer(tracing, "trace_marker", b"m" * size) == taken, size
    assert len(lines(tracing)[-1]) == taken


@pytest.mark.parametrize("version", RAW)
def test_how_much_raw_data_is_taken(version):
    tracing = machine(version, cpus=1)
    assert {
        size: answer(tracing, "trace_marker_raw", b"\2\0\0\0mmmm".ljust(size, b"m")[:size]) for size in RAW[version]
    } == (RAW[version])


def test_what_the_trace_shows_of_them():
    """A record is as large as the ring buffer makes it, and what prints raw data shows all of that."""
    tracing = machine("6.1", cpus=1)
    for data in (b"", b"x\n", b"two", b"\n"):
        answer(tracing, "trace_marker", data)
    assert lines(tracing) == ["", "x", "two", ""]
    echo(tracing, "trace", "")
    answer(tracing, "trace_marker_raw", b"\2\0\0\0")
    answer(tracing, "trace_marker_raw", b"\7\0\0\0" + b"m" * 96)
    short, long = lines(tracing)
    assert (short, len(short), len(long)) == ("2 buf:" + " 00" * 16, 54, 306)


def test_what_cannot_be_written():
    tracing = machine("6.1", cpus=1)
    echo(tracing, "options/markers", "0")
    assert answer(tracing, "trace_marker", b"") == -EINVAL
    echo(tracing, "options/markers", "1")
    echo(tracing, "tracing_on", "0")
    assert [answer(tracing, name, b"1234") for name in ("trace_marker", "trace_marker_raw")] == [-EBADF, -EBADF]


def test_memory_that_is_not_there_leaves_a_word():
    import simkernel

    with simkernel.boot() as booted:
        task = booted.user_task()
        paths = ("/sys/kernel/tracing/trace_marker", "/sys/kernel/tracing/trace_marker_raw")
        texts, raw = (task.syscall("open", path, 1, 0) for path in paths)
        assert [task.syscall("write", fd, 8, count) for fd in (texts, raw) for count in (4, 2000)] == [-EFAULT] * 4
        faulted = "ffffffff buf: 3c 66 61 75 6c 74 65 64 3e 00 00"
        shown = lines(booted.kernel.observer.tracing)
        assert [line[: len(faulted)] for line in shown] == ["<faulted>", "<faulted>", faulted, faulted]


# Of a machine with one CPU; asked of 6.1
MASKS = [
    ("1", 0), ("2", EOVERFLOW), ("100", EOVERFLOW), ("-1", EINVAL), ("abc", EOVERFLOW), ("99999999999999999999", EOVERFLOW),
    ("", 0),
]  # fmt: skip


def test_masks_of_cpus():
    tracing = machine("6.1", cpus=1)
    for text, errno in MASKS:
        assert answer(tracing, "tracing_cpumask", text.encode() + b"\n") == (-errno or len(text) + 1), text
    assert cat(tracing, "tracing_cpumask") == "0\n"
    wide = machine("6.1", cpus=8)
    echo(wide, "tracing_cpumask", "1")
    assert cat(wide, "tracing_cpumask") == "01\n"


def test_the_writer_is_a_place_in_a_function():
    """With sym-offset 6.1 shows `tracing_mark_write+0xdd/0x240: hi`, with sym-addr ` <ffffffff811c36bd>` behind it."""
    tracing = machine("6.1", cpus=1)
    echo(tracing, "options/sym-offset", "1")
    answer(tracing, "trace_marker", b"hi")
    assert re.search(r": tracing_mark_write\+0x[0-9a-f]+/0x400: hi\n$", cat(tracing, "trace"))
    echo(tracing, "options/sym-addr", "1")
    (offset, address) = re.search(r"\+0x(\w+)/0x400 <(ffffffff\w{8})>: hi\n$", cat(tracing, "trace")).groups()
    assert tracing.host.symbols.lookup(int(address, 16)) == ("tracing_mark_write", int(offset, 16), 0x400)
