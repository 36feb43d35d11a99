"""Events of every version: their records can be made out of that version's structures."""

import pytest

import simkernel
from tracing.events.tracepoints import TracepointEvent


@pytest.mark.parametrize("arch", ["x86_64", "s390x", "arm"])
@pytest.mark.parametrize("kernel", ["3.20-rfc", "4.1", "5.10", "6.1", "6.12", "7.2"])
def test_every_record_can_be_made(kernel, arch):
    """A row that names a member which that version's structure lacks would stop the machine at the event's first hit."""
    machine = simkernel.boot(kernel=kernel, arch=arch)
    events = [event for event in machine.kernel.observer.tracing.events if isinstance(event, TracepointEvent)]
    assert len(events) > 100
    for event in events:
        assert callable(event.make()), event.name
