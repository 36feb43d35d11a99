"""Maps that programs of a test name by any descriptor, whoever asks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bpf.maps.base import BpfMap, MapAttr
from simkernel.observe.host import Host


def publish(observer: Host, attr: MapAttr) -> BpfMap:
    """A map that nobody has opened."""
    new = observer.bpf.new_map(attr)
    new.get_user()
    observer.bpf.publish_map(new)
    return new


def answer_all(monkeypatch: pytest.MonkeyPatch, observer: Host, found: Callable[[int], BpfMap]) -> None:
    """`found` says which map a descriptor is; everybody may load."""
    monkeypatch.setattr(observer, "fd_get", found, raising=False)
    monkeypatch.setattr(observer, "capable", lambda capability: True, raising=False)
