"""docs/add-tracepoint.md, followed."""

import re

import pytest

from tests.docs_howto.steps import Checkout, blocks

PAGE = "add-tracepoint.md"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The sources with the toy tracepoint."""
    there = Checkout(tmp_path_factory.mktemp("tracepoint"))
    row, place, _ = blocks(PAGE, "py")
    there.append("tracing/events/sched.py", row)
    there.insert("simkernel/kernel/calls/time.py", "    task.sleeps_until = until\n", place)
    (write_page,) = blocks(PAGE, "sh")
    there.command(write_page)
    return there


@pytest.fixture(scope="module")
def shown(checkout):
    """What the third step prints."""
    return checkout.python("-c", blocks(PAGE, "py")[2])


def test_it_has_a_format(shown):
    assert "name: sched_toy_nap\n" in shown
    assert "\tfield:u64 ns;\toffset:32;\tsize:8;\tsigned:0;\n" in shown
    assert 'print fmt: "comm=%s pid=%d ns=%llu", REC->comm, REC->pid, (unsigned long long)REC->ns\n' in shown


def test_the_trace_shows_what_the_filter_lets_through(shown):
    lines = [re.sub(r"\d+\.\d+", "TIME", line) for line in shown.splitlines() if "sched_toy_nap: " in line]
    (example,) = blocks(PAGE, "text")
    assert lines == [re.sub(r"\d+\.\d+", "TIME", example.rstrip())]


def test_perf_samples_both(shown):
    assert shown.splitlines()[-1].startswith("2 samples, the first of (b'simkernel")
    assert shown.splitlines()[-1].endswith("100, 4999980)")


def test_a_kernel_before_it_does_not_have_it(checkout):
    program = (
        "import simkernel\nprint(simkernel.boot(kernel='5.9').kernel.observer.tracing.tracepoints.get('sched_toy_nap'))"
    )
    assert checkout.python("-c", program) == "None\n"


def test_programs_and_btf_know_it(checkout):
    program = (
        "import simkernel\n"
        "btf = simkernel.boot().kernel.observer.kernel_btf.get()\n"
        "from bpf.btf import Kind\n"
        "print(bool(btf.find('btf_trace_sched_toy_nap', Kind.TYPEDEF)), bool(btf.find('trace_event_raw_sched_toy_nap', Kind.STRUCT)))"
    )
    assert checkout.python("-c", program) == "True True\n"


def test_the_page_of_events_shows_it(checkout):
    row = "| `sched_toy_nap` | `struct task_struct *p, u64 ns` | 5.10 |  |  |"
    assert row in (checkout.place / "docs/events.md").read_text()
