"""Probes: handlers at single addresses of kernel and user text."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.emulator import WORD_MASK
from arch.memory import KernelMemory, PhysicalMemory
from arch.native.handler import AT_ENTRY, NativeHandler
from arch.probespans import ProbeSpans

MAX_DEAD = 4096  # removed probes whose data is kept, before all translated code is dropped for their sake


class Probe:
    """An armed probe; hand it back to remove_probe()."""

    __slots__ = ("address", "handler", "ip_offset", "native", "user")

    def __init__(
        self, address: int, handler: Callable[[int], Any], ip_offset: int, user: bool, native: NativeHandler | None
    ) -> None:
        self.native = native
        self.address = address
        self.user = user
        self.handler = handler
        self.ip_offset = ip_offset


class _Site:
    """One probed address: the native probe's data, and the probes that share it."""

    __slots__ = ("block", "call", "native", "probes")

    def __init__(self, block: Any) -> None:
        self.block = block
        self.probes: list[Probe] = []
        self.call: Any = None
        self.native: NativeHandler | None = None


class ProbePoints(ProbeSpans):
    """add_probe() and remove_probe()."""

    def __init__(self, arch: Architecture, phys: PhysicalMemory, mem: KernelMemory, version: KernelVersion) -> None:
        self._sites: dict[tuple[int, bool], _Site] = {}
        self._retired: list[Any] = []  # handlers of removed probes; native code may still be inside
        super().__init__(arch, phys, mem, version)

    def add_probe(
        self,
        addr: int,
        handler: Callable[[int], Any],
        ip_offset: int = 0,
        user: bool | None = None,
        native: NativeHandler | None = None,
        entry: bool = False,
    ) -> Probe:
        """Call handler(regs) before the instruction at `addr` executes; `regs` is the kernel address of a struct
        pt_regs for the hit.  Whatever the handler changes in it is loaded back, the pc included (then the probed
        instruction is not executed).  ip_offset is added to the ip that the handler sees.  Several probes may share an
        address: called in the order they were added, with the same frame; the first one's ip_offset holds.

        A user-mode probe is hit in every address space that executes there.  `user` says which mode is meant; left out,
        kernel text is recognised by its address (on s390x user programs share these numbers: say it).

        `native` is a compiled form of the handler, called in its place while the probe is alone at its address.  `entry`: the
        handler sees the registers as ftrace shows them at a function's entry.
        """
        if user is None:
            user = addr < self.mem.map.user_end and not self._is_kernel_text(addr)
        probe = Probe(addr, handler, ip_offset, user, native)
        site = self._sites.get((addr, user))
        if site is None:
            site = self._sites[addr, user] = self._new_site(addr, ip_offset, user | (AT_ENTRY if entry else 0))
        site.probes.append(probe)
        self._aim(site)
        return probe

    def _is_kernel_text(self, addr: int) -> bool:
        return 0 <= addr - self.mem.map.text_base < self.mem.map.text_size

    def _new_site(self, addr: int, ip_offset: int, kind: int) -> _Site:
        block = (ctypes.c_uint64 * 8)(self._block, id(_nothing), ip_offset & WORD_MASK, kind)
        site = _Site(block)
        self._hook(addr, bool(kind & 1), ctypes.addressof(block))
        return site

    def _aim(self, site: _Site) -> None:
        """Point the native probe at the handler, or at a loop over several."""
        old = (site.call, site.native)
        site.native = None
        if len(site.probes) == 1:
            site.call = site.probes[0].handler
            site.native = site.probes[0].native
        else:
            probes = site.probes

            def each(regs: int) -> None:
                for probe in tuple(probes):  # those of now: a handler may remove one
                    probe.handler(regs)

            site.call = each
        self._set(site.block, site.call, site.native)
        self._retired.append(old)

    @staticmethod
    def _set(block: Any, call: Any, native: NativeHandler | None) -> None:
        block[1] = id(call)
        block[4] = 0
        if native is not None:
            block[5], block[6], block[7] = native.data, id(native.after), native.flags
            block[4] = native.function

    def at_probe(self, addr: int) -> tuple[Callable[[int], Any], NativeHandler | None]:
        """What is called at an address of kernel text, and its compiled form; they live as long as the machine."""
        site = self._sites.get((addr, False))
        return (site.call, site.native) if site is not None else (_nothing, None)

    def aim_probe(self, probe: Probe, native: NativeHandler | None) -> None:
        """A probe has another compiled handler from now on, or none; also from inside a handler."""
        probe.native = native
        self._aim(self._sites[probe.address, probe.user])

    def remove_probe(self, probe: Probe) -> None:
        """Disarm; also from inside a handler."""
        site = self._sites[probe.address, probe.user]
        site.probes.remove(probe)
        if site.probes:
            self._aim(site)
            return
        del self._sites[probe.address, probe.user]
        self._set(site.block, _nothing, None)  # until the translated code is gone
        self._retired.append((site.call, site.native))
        self._dead_blocks.append(site.block)
        if len(self._dead_blocks) > MAX_DEAD:
            self.flush_code()
        self._unhook(probe.address, probe.user)


def _nothing(regs: int) -> None:
    """Handler of a probe that is being removed."""
