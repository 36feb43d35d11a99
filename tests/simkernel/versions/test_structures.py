"""The machine's structures are those of the kernel it says it is: read by the places that the recorded BTF names."""

from __future__ import annotations

import pytest

import simkernel
from arch.text import KernelText
from bpf.btf import Btf, Kind
from bpf.btf.recorded import recorded_btf
from docs.layouts import real_member
from simkernel.machine import Machine

KERNELS = ("5.10", "6.1", "6.12", "7.2")
SCRIPT = """
echo abc > /tmp/a; mv /tmp/a /tmp/a_name_that_does_not_fit_into_the_dentry_itself; mkfifo /tmp/f
(echo through > /tmp/f) & cat /tmp/f; mkdir /tmp/d; mount -t tmpfs none /tmp/d; echo 1 > /tmp/d/y; umount /tmp/d
echo hi | timeout 1 nc 127.0.0.1 99; ip link add dummy0 type dummy; ip link set lo mtu 1500
mkdir /sys/fs/cgroup/a; echo $$ > /sys/fs/cgroup/a/cgroup.procs; cat /tmp/a_name* | cat
"""


def member(m: Machine, btf: Btf, address: int, path: str) -> int:
    """A number at the place that the kernel's BTF gives: "task_struct.cred"."""
    struct, _, name = path.partition(".")
    found = real_member(btf, btf.find(struct, Kind.STRUCT), name)
    assert found is not None, path
    return int(m.kernel.mem.read_uint(address + found.bit // 8, found.size))


@pytest.mark.parametrize("version", KERNELS)
def test_a_program_finds_in_structures_what_is_true(version: str, busybox: str) -> None:
    with simkernel.boot(kernel=version) as m:
        assert m.run([m.install(busybox), "sh", "-c", SCRIPT]).stdout == b"through\nabc\n"
        k = m.kernel
        btf = recorded_btf("x86_64", k.version)
        assert btf is not None
        task = next(iter(k.tasks.by_pid.values()))
        assert member(m, btf, task.addr, "task_struct.pid") == task.pid
        cred = member(m, btf, task.addr, "task_struct.cred")
        caps = "cap_effective.cap" if version in ("5.10", "6.1") else "cap_effective.val"
        assert member(m, btf, cred, f"cred.{caps}") == task.cred.cap_effective
        inode = k.vfs.resolve("/tmp/a_name_that_does_not_fit_into_the_dentry_itself").dentry.inode
        at = k.vfs.mirror.inode(inode)
        seconds = "i_mtime.tv_sec" if version in ("5.10", "6.1") else "i_mtime_sec"
        assert member(m, btf, at, f"inode.{seconds}") == inode.mtime // 1_000_000_000
        assert member(m, btf, at, "inode.i_ino") == inode.i_ino


@pytest.mark.parametrize("version", KERNELS)
def test_the_kernels_own_types_are_shown_to_the_byte(version: str) -> None:
    with simkernel.boot(kernel=version) as m:
        btf = recorded_btf("x86_64", m.kernel.version)
        assert btf is not None
        assert m.session.read_file("/sys/kernel/btf/vmlinux") == btf.data


def test_a_function_whose_callee_a_version_lacks_does_not_end_in_a_jump(
    busybox: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4.14 has no ksys_read(): its body runs inside read, which goes on behind it."""
    monkeypatch.setattr(KernelText, "jumps", lambda self: True)
    with simkernel.boot(kernel="4.14") as m:
        assert "read" not in {name.removeprefix("sys_") for name in m.kernel.text.jumping}
        assert m.run([m.install(busybox), "sh", "-c", "echo a | cat"]).stdout == b"a\n"
