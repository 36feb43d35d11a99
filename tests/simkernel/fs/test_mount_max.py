"""fs.mount-max: a tree of mounts that is bound below itself doubles; a namespace has so many, and no more."""

from __future__ import annotations

from collections.abc import Generator

import simkernel
from arch.abi.errno import ENOSPC
from arch.abi.mount import MS_BIND, MS_PRIVATE, MS_REC, MS_SHARED
from simkernel.usertask import Calls, Request

MOST = 40


def test_mounts_that_double_end_at_the_limit() -> None:
    seen: dict[str, list[int]] = {}
    m = simkernel.boot()
    mounts = m.kernel.vfs.mounts

    def doubling(u: Calls, name: str) -> Generator[Request, int, None]:
        before = mounts.all[:]
        seen[name] = []
        while not seen[name] or not seen[name][-1]:
            seen[name].append((yield u.mount("/tmp", "/tmp", "none", MS_BIND | MS_REC, 0)))
        assert len(mounts.tree(mounts.root.mnt)) <= MOST
        for _ in range(len(mounts.all) - len(before)):
            yield u.umount2("/tmp", 2)

    def story(u: Calls) -> Generator[Request, int, object]:
        yield u.mount("none", "/", "none", MS_PRIVATE | MS_REC, 0)
        yield from doubling(u, "private")
        yield u.mount("none", "/", "none", MS_SHARED | MS_REC, 0)
        yield from doubling(u, "shared")

    m.session.write_file("/proc/sys/fs/mount-max", str(MOST))
    assert m.wait(m.workload(story)).status == 0
    assert {name: results[-1] for name, results in seen.items()} == {"private": -ENOSPC, "shared": -ENOSPC}
    assert all(not result for results in seen.values() for result in results[:-1])
