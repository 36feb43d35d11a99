"""Random bytes into every file of tracefs: refusals are KernelErrors, never exceptions, and reading always works."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch.abi.version import KernelVersion
from arch.errors import KernelError
from tests.tracing.fakes import FakeHost, FakeSpaces, machine
from tracing.face import TraceHost, UserSpaces, WouldBlock

TOKENS = [
    "p:", "r:", "-:", "e", "vfs_read", "vfs_write", "%di", "+8(", ")", "$retval", "$comm", ":u32", ":string", "[3]", "@",
    "linux_banner", "/h:0x10", "(0x20)", "prev_pid", "==", "~", '"x*"', "&&", "(", "!", "1", "0", "traceoff", ":3", " if ",
    "enable_event:sched:sched_switch", "nop", "function", "sched:", "*", "noirq-info", "counter", "\\1", "-", "=", " ", "\n",
    "bpf-3", "0x", "99999999999999999999999",
]  # fmt: skip
texts = st.one_of(
    st.lists(st.sampled_from(TOKENS), max_size=8).map(lambda parts: "".join(parts).encode()),
    st.lists(st.sampled_from(TOKENS), max_size=8).map(lambda parts: " ".join(parts).encode()),
    st.binary(max_size=40),
)


def files(directory, prefix=""):
    for name, node in directory.entries().items():
        if node.is_dir:
            if prefix.count("/") < 2 or name.startswith(("sched_switch", "enable")):
                yield from files(node, f"{prefix}{name}/")
        else:
            yield prefix + name, node


def events(tracing):
    task = tracing.host.task_struct()
    tracing.trace("sched_switch", 0, task, task, 1)
    for handler in tuple(tracing.host.armed.values()):
        handler(tracing.host.regs(di=task, sp=tracing.host.mem.alloc(64)))


@pytest.mark.parametrize("version", [KernelVersion.parse(text) for text in ("4.1", "6.1")])
@settings(max_examples=30, deadline=None)
@given(steps=st.lists(st.tuples(st.integers(0, 200), st.booleans(), texts), min_size=1, max_size=12))
def test_random_writes(version, steps):
    tracing = machine(version)
    names = sorted(name for name, _ in files(tracing.tracefs.root))
    assert len(names) > 60
    for number, truncate, text in steps:
        node = tracing.tracefs.root
        with contextlib.suppress(KernelError):
            for part in names[number % len(names)].split("/"):
                node = node.lookup(part)
            file = node.open(1 | (0o1000 if truncate else 0o2000))
            try:
                assert file.write(text, 0) <= len(text)
            finally:
                file.release()
        events(tracing)
    for _, node in files(tracing.tracefs.root):
        with contextlib.suppress(KernelError, WouldBlock):
            file = node.open(0o4000)
            try:
                file.read(1 << 20, 0)
            finally:
                file.release()


@settings(max_examples=60, deadline=None)
@given(raw=st.binary(min_size=128, max_size=136), pid=st.sampled_from([-1, 0, 81, 5]), cpu=st.integers(-2, 3),
       flags=st.integers(0, 31), kind=st.integers(0, 9), size=st.sampled_from([0, 64, 112, 128, 136]))  # fmt: skip
def test_random_perf_events(raw, pid, cpu, flags, kind, size):
    tracing = machine()
    head = kind.to_bytes(4, "little") + size.to_bytes(4, "little")
    for data in (head + raw[8:], head + raw[8:16] + bytes(24) + raw[40:48] + bytes(88)):
        with contextlib.suppress(KernelError):
            event = tracing.perf.open(data, pid, cpu, -1, flags)
            with contextlib.suppress(KernelError):
                event.mmap(8192, True)
            events(tracing)
            with contextlib.suppress(KernelError):
                event.read(4096)
            event.release()


@pytest.mark.parametrize(("fake", "face"), [(FakeHost, TraceHost), (FakeSpaces, UserSpaces)])
def test_the_fakes_have_what_the_faces_ask_for(fake, face):
    """As the machine's own host has, which mypy sees to."""
    asked = {name for name in {*vars(face), *face.__annotations__} if not name.startswith("_")}
    assert asked <= set(dir(fake()))
