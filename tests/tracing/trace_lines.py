"""Lines of the trace as they come."""

import re
from collections.abc import Callable

from simkernel.machine import Machine


def from_here_on(machine: Machine) -> Callable[[], list[tuple[str, str]]]:
    """A function that gives what CPU 0 added to the trace since now: (flags, text)."""

    def all_lines() -> list[tuple[str, str]]:
        text = machine.session.read_file("/sys/kernel/tracing/trace").decode()
        return re.findall(r"^.*?\[000\] (\S+) +[\d.]+: (.*)$", text, re.M)

    before = len(all_lines())
    return lambda: all_lines()[before:]
