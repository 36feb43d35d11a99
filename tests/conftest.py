"""Shared fixtures: the recorded answers of real kernels, and real programs where this machine has them."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# pytest names modules by their folders, so tests/tracing could pass for `tracing`: the real ones come first.
import arch
import bpf
import tracing

__all__ = ["DATA", "arch", "bpf", "load_data", "tracing"]

# Whoever runs the tests in the background lets them ignore these, and what the tests start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# A busy host makes examples slow; that is no finding.
settings.register_profile("simkernel", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("simkernel")

DATA = Path(__file__).parent / "data"


def load_data(name: str) -> Any:
    """A JSON file of tests/data, unzipped where it is gzipped."""
    raw = (DATA / name).read_bytes()
    return json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)


@pytest.fixture(scope="session")
def busybox() -> str:
    """The host's busybox-static, which the simulated machine runs unmodified."""
    found = shutil.which("busybox")
    if not found:
        pytest.skip("busybox-static is not installed")
    return found


# Cases that fail today and why.  One that passes again fails the run until it has left the list.
EXPECTED_FAILURES: dict[str, str] = {}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is known to fail."""
    for item in items:
        for case, reason in EXPECTED_FAILURES.items():
            if f"tests/{case}" in item.nodeid:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
