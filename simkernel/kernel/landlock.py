"""Landlock's domains: what a process has forbidden itself, layer by layer.  security/landlock/{ruleset,ptrace}.{c,h}.

A domain belongs to credentials, so children and new programs have it too.  Which file is meant by a rule is simkernel/fs/landlock.py's matter.
"""

from __future__ import annotations

LANDLOCK_MAX_NUM_LAYERS = 16
ACCESS_REFER = 1 << 13  # LANDLOCK_ACCESS_FS_REFER: denied by every layer that has no rule for it
MASK_ACCESS_FS = (1 << 14) - 1  # of ABI 2


class Ruleset:
    """struct landlock_ruleset of one layer: accesses that are handled, and what rules allow beneath an object."""

    def __init__(self, handled: int) -> None:
        self.handled = handled
        self.rules: dict[object, int] = {}

    def add(self, item: object, access: int) -> None:
        """landlock_insert_rule(): rules of one object are one."""
        self.rules[item] = self.rules.get(item, 0) | access


class Domain:
    """A merged ruleset, and the domain that it was merged with."""

    def __init__(self, ruleset: Ruleset, parent: Domain | None) -> None:
        self.parent = parent
        self.handled: tuple[int, ...] = (
            *(parent.handled if parent is not None else ()),
            ruleset.handled | ACCESS_REFER,
        )
        self.rules: dict[object, list[tuple[int, int]]] = {}  # object -> (layer's bit, accesses)
        if parent is not None:
            self.rules.update((item, list(layers)) for item, layers in parent.rules.items())
        for item, access in ruleset.rules.items():
            self.rules.setdefault(item, []).append((1 << self.layers - 1, access))

    @property
    def layers(self) -> int:
        """num_layers."""
        return len(self.handled)


def domain_scope_le(parent: object, child: object) -> bool:
    """Is a task under `child` at least as restricted as one under `parent`?  Nothing (None) restricts nobody."""
    while parent is not None:
        if child is parent:
            return True
        if not isinstance(child, Domain):
            return False
        child = child.parent
    return True
