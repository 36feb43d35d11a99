"""The kernel's recorded types are large: who looks into none of them must not wait for them."""

from __future__ import annotations

import pytest

import simkernel
from simkernel.fs.inode import FileOperations
from simkernel.observe import declared, percpu

SCRIPT = (
    "echo a > /tmp/a; cat /tmp/a | wc -c; ls / /proc /sys > /dev/null; mkfifo /tmp/f; cat /proc/self/mounts > /dev/null"
)


def test_files_are_opened_without_the_recorded_types(busybox: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m = simkernel.boot()
    asked: list[str] = []
    for module in (declared, percpu):
        monkeypatch.setattr(module, "machine_btf", lambda arch, version: asked.append(arch))
    assert m.run([m.install(busybox), "sh", "-c", SCRIPT]).stdout == b"2\n"
    assert asked == []
    m.kernel.symbols.address("no_function_of_this_name")
    assert asked, "who asks for a name that only the types could know has to look"


def test_a_file_that_cannot_seek_has_no_function_for_it_since_6_0() -> None:
    for version, there in (("5.10", True), ("6.1", False)):
        m = simkernel.boot(kernel=version)
        k = m.kernel
        pipe = FileOperations("a_pipe", llseek="no_llseek")
        tmpfs = FileOperations("a_file", llseek="generic_file_llseek")
        at = k.types.offsetof("struct file_operations", "llseek")
        found = [k.mem.read_uint(k.vfs.mirror.file_operations(ops) + at, k.arch.model.word) for ops in (pipe, tmpfs)]
        assert (found[0] != 0) is there
        assert k.symbols.format(found[1]).startswith("generic_file_llseek")
