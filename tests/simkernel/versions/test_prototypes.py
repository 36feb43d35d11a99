"""Functions of the simulated kernel take their arguments in the registers in which the real ones do: compared with the recorded types."""

from __future__ import annotations

import simkernel
from bpf.btf import Btf, Kind
from bpf.btf.codec import COMPOSITES, QUALIFIERS, BtfType
from bpf.btf.recorded import recorded_btf
from simkernel.kernel.kfunc import Param

# What differs, and is told of in docs/differences.md: an argument that is another thing here, or a result.
KNOWN = {
    "__icmp_send", "__sock_create", "__sys_bpf", "alloc_pid", "do_mkdirat", "do_msgrcv", "exit_to_user_mode_prepare", "futex_requeue", "handle_irq_event", "icmp_echo",
    "inet6_create", "inet_create", "migrate_task_to", "netlink_create", "tcp_v4_syn_recv_sock",
    "tcp_v6_syn_recv_sock", "unix_create", "wait_for_unix_gc",
}  # fmt: skip
Shape = tuple[str, int]  # pointer, integer or nothing; bytes


def bare(btf: Btf, number: int) -> BtfType:
    found = btf[number]
    while found.kind in QUALIFIERS or found.kind is Kind.TYPEDEF:
        found = btf[found.type]
    return found


def real(btf: Btf, number: int) -> Shape:
    found = bare(btf, number)
    if found.kind is Kind.PTR:
        return "pointer", 8
    if found.kind is Kind.VOID:
        return "nothing", 0
    return ("struct" if found.kind in COMPOSITES else "integer"), found.size


def ours(param: Param) -> Shape:
    if param.pointer:
        return "pointer", 8
    return ("nothing", 0) if param.size == 0 else ("integer", param.size or 8)


def same(one: Shape, other: Shape) -> bool:
    return one == other or one[1] == other[1] == 8  # an address that is told as a number


def test_arguments_are_those_of_6_1() -> None:
    with simkernel.boot(kernel="6.1") as m:
        btf = recorded_btf("x86_64", m.kernel.version)
        assert btf is not None
        compared, different = 0, set()
        for name, function in m.kernel.text.functions.items():
            number = btf.find(name, Kind.FUNC)
            if number <= 0 or function.wrapped or name.startswith(("__x64_sys_", "__ia32_sys_", "__do_sys_")):
                continue
            proto, mine = btf[btf[number].type], function.prototype
            compared += 1
            theirs = [real(btf, param.type) for param in proto.params]
            arguments = [ours(param) for param in mine.params[: len(theirs)]]
            if (
                len(arguments) != len(theirs)
                or not all(map(same, arguments, theirs))
                or not same(ours(mine.ret), real(btf, proto.type))
            ):
                different.add(name)
        assert different == KNOWN
        assert compared > 550
