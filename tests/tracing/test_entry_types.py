"""What is no event has the number of its format file, which function_graph's return addresses moved in 6.13."""

import pytest

from simkernel.machine import boot

TRACING = "/sys/kernel/tracing"


@pytest.mark.parametrize(("kernel", "raw_data"), [("6.1", 18), ("6.12", 18), ("7.2", 19)])
def test_a_raw_marker_has_the_number_of_its_format(kernel, raw_data):
    machine = boot(kernel=kernel)
    session = machine.session
    session.write_file(f"{TRACING}/trace_marker_raw", b"\x01\0\0\0abc\0")
    assert "# 1 buf: 61 62 63 00" in session.read_file(f"{TRACING}/trace").decode()
    session.write_file(f"{TRACING}/trace_options", b"raw")
    assert f"type: {raw_data}\n" in session.read_file(f"{TRACING}/trace").decode()
    number = session.read_file(f"{TRACING}/events/ftrace/raw_data/format").decode().split("ID: ")[1].split()[0]
    assert int(number) == raw_data
