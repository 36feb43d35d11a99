"""Whose anonymous pages an area shows: which areas never become one, and what a child's have of its parent's.  mm/rmap.c.

Linux makes an anon_vma at the first page of an area.  Here pages come in compiled code, too, which knows nothing of that; so
an area gets its own when somebody asks who has pages already.
"""

from __future__ import annotations

from typing import Protocol

from arch.mmu import AddressSpace
from simkernel.kernel.areas import VM_WIPEONFORK, Vma

Neighbours = tuple[Vma | None, Vma | None]  # before it, behind it


class Owner(Protocol):
    """The address space."""

    space: AddressSpace
    vmas: list[Vma]

    def find(self, addr: int) -> Vma | None: ...


def anon_vma_prepare(mm: Owner, vma: Vma) -> None:
    """An area that has pages has an anon_vma: that of a neighbour that is like it, or a new one."""
    if vma.anon_chain or vma.file is not None or vma.shared or vma.fault is not None:
        return
    if mm.space.occupied(vma.start, vma.end):
        vma.anon_chain = _reusable(mm.find(vma.end), vma) or _reusable(mm.find(vma.start - 1), vma) or (object(),)


def _reusable(near: Vma | None, vma: Vma) -> tuple[object, ...]:
    """reusable_anon_vma(): of what differs in its rights at most, and was in no fork."""
    if near is None or len(near.anon_chain) != 1 or near.file is not None or near.moved != vma.moved:
        return ()
    same = (near.flags, near.locked, near.advice, near.account, near.dontfork, near.policy, near.userfault) == (
        vma.flags, vma.locked, vma.advice, vma.account, vma.dontfork, vma.policy, vma.userfault
    )  # fmt: skip
    return near.anon_chain if same else ()


def _joins(chain: tuple[object, ...], near: Vma) -> bool:
    """is_mergeable_anon_vma(): a neighbour takes in an area that was there before."""
    if chain and near.anon_chain:
        return chain[0] is near.anon_chain[0]
    return not chain and len(near.anon_chain) < 2


def _alike(mm: Owner, vma: Vma, index: int) -> Neighbours:
    before = mm.vmas[index - 1] if index else None
    after = mm.vmas[index + 1] if index + 1 < len(mm.vmas) else None
    return (
        before if before is not None and before.continued_by(vma) else None,
        after if after is not None and vma.continued_by(after) else None,
    )


def vma_merge(mm: Owner, vma: Vma, index: int) -> Neighbours:
    """Which neighbours an area becomes one with that was there before; the one before it comes first."""
    before, after = _alike(mm, vma, index)
    if before is None and after is None:
        return None, None
    for each in (before, after, vma):
        if each is not None:
            anon_vma_prepare(mm, each)
    before = before if before is not None and _joins(vma.anon_chain, before) else None
    after = after if after is not None and _joins(vma.anon_chain, after) else None
    if before is not None and after is not None and before.anon_chain and after.anon_chain:
        after = after if before.anon_chain[0] is after.anon_chain[0] else None
    return before, after


def vma_merge_new(mm: Owner, vma: Vma, index: int) -> Neighbours:
    """The same of one that has just come, which has no pages: mmap_region() tries the one behind it first."""
    before, after = _alike(mm, vma, index)
    before = before if before is not None and len(before.anon_chain) < 2 else None
    after = after if after is not None and len(after.anon_chain) < 2 else None
    if before is None or after is None:
        return before, after
    anon_vma_prepare(mm, before)
    anon_vma_prepare(mm, after)
    return (before if _joins(after.anon_chain, before) else None), after


def anon_vma_fork(mm: Owner, vma: Vma, copy: Vma) -> None:
    """A child's area has an anon_vma of its own and stays on its parent's."""
    anon_vma_prepare(mm, vma)
    copy.anon_chain = (object(), *vma.anon_chain) if vma.anon_chain and not copy.advice & VM_WIPEONFORK else ()
