"""What the walk asks of the analyses made before it; bpf/verifier/paths/known_before.py answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from bpf.verifier.domain.state import VerifierState


class LoopFace(Protocol):
    """The loops of the program."""

    waiting: int  # paths that came back into loops that are not settled

    def enter(self, checkpoint: VerifierState) -> None:
        """A new checkpoint."""

    def came_back(self, path: VerifierState, met: VerifierState) -> None:
        """A path ends at a checkpoint whose own paths are not all walked."""

    def is_unsettled(self, state: VerifierState) -> bool:
        """What the paths below this checkpoint rely on is not all known."""

    def leave(self, state: VerifierState, propagate: Callable[[VerifierState, VerifierState], bool]) -> None:
        """All paths from a checkpoint are walked."""


class KnownFlow(Protocol):
    """What is alive where, and how many states there are."""

    explored: int
    loops: LoopFace

    def forget_dead(self, state: VerifierState, insn_idx: int) -> None:
        """Let go of what nothing reads from here on."""

    def live_registers(self, insn_idx: int) -> int:
        """The registers that may be read from here on, as bits."""

    def evicted(self, state: VerifierState) -> None:
        """A checkpoint is compared with no more."""

    def walked(self, state: VerifierState) -> None:
        """All paths below a checkpoint are walked."""

    def note_peak(self) -> None:
        """The number of states has grown."""
