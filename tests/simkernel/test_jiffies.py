"""`jiffies` is a variable in kernel memory, as programs and kallsyms see it."""

from __future__ import annotations

import pytest

import simkernel
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.isa.insn import encode


@pytest.mark.parametrize("arch", ["x86_64", "s390x", "i386"])
def test_a_program_reads_jiffies(arch: str) -> None:
    """bpf_jiffies64() is inlined as a load of the variable; it is at most a tick behind the clock."""
    m = simkernel.boot(arch=arch)
    k, task = m.kernel, m.session.task
    code = encode(assemble("call bpf_jiffies64\nexit"), task.byteorder)
    fd, log = task.prog_load(uapi.BPF_PROG_TYPE_SOCKET_FILTER, code, log_level=1, log_size=65536)
    assert fd >= 0, log
    symbol = k.symbols["jiffies"]
    assert symbol.size == k.arch.word and b" D jiffies\n" in m.session.read_file("/proc/kallsyms")
    for seconds in (0, 1, 3600):
        word = k.arch.word
        duration = seconds.to_bytes(word, task.byteorder) + (5_000_000).to_bytes(word, task.byteorder)
        with task.memory() as memory:
            task.call("nanosleep", memory.put(duration), 0)
        value, _ = task.prog_test_run(fd, bytes(64))
        assert 0 <= (k.observer.jiffies64() - value & 0xFFFFFFFF) <= 1
        assert value == k.mem.read_uint(symbol.address, symbol.size) & 0xFFFFFFFF
    m.close()
