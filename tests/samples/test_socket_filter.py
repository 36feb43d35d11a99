"""SO_ATTACH_BPF: the program sees the packet's real sk_buff, keeps or drops, and goes with its socket."""

import pytest

import simkernel
from arch.abi.errno import EAGAIN, EBADF, EINVAL, ENOENT
from arch.abi.socket import MSG_DONTWAIT, SO_ATTACH_BPF, SO_DETACH_BPF, SOL_SOCKET
from arch.errors import KernelError
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.loader.bpf_load import bpf_prog_load
from samples.tool import Tool
from samples.v41.sock_example import open_raw_sock
from simkernel import net, workloads

FRAME = bytes.fromhex("525400123456 525500010202 88b5") + bytes(range(100))
KEEP_20 = "r0 = 20\nexit"
DROP = "r0 = 0\nexit"
# How long, which protocol, and the byte behind the link header three ways.
LOOK = """
    r6 = r1
    r7 = *(u32 *)(r1 +0)            ; len
    *(u32 *)(r10 -4) = 0
    r8 = *(u32 *)(r1 +16)           ; protocol
    r8 <<= 16
    r7 |= r8
    r0 = *(u8 *)skb[15]
    r0 <<= 32
    r7 |= r0
    r0 = *(u8 *)skb[-1048576]       ; SKF_NET_OFF
    r0 <<= 40
    r7 |= r0
    r0 = *(u8 *)skb[-2097137]       ; SKF_LL_OFF + 15
    r0 <<= 48
    r7 |= r0
    r2 = r10
    r2 += -4
    r1 = map[seen]
    call 1
    if r0 == 0 goto out
    *(u64 *)(r0 +0) = r7
  out:
    r0 = -1
    exit
"""


def attach(task, sock, prog, size=4):
    with task.memory() as memory:
        task.call("setsockopt", sock, SOL_SOCKET, SO_ATTACH_BPF, memory.put(task.pack("I", prog)), size)


def detach(task, sock, size=4):
    with task.memory() as memory:
        task.call("setsockopt", sock, SOL_SOCKET, SO_DETACH_BPF, memory.put(bytes(4)), size)


def receive(task, sock):
    with task.memory() as memory:
        at = memory.put(bytes(512))
        count = task.sys.syscall("recvfrom", sock, at, 512, MSG_DONTWAIT, 0, 0)
        return task.sys.read(at, count) if count >= 0 else count


def box(arch="x86_64", kernel="4.1"):
    tool = Tool(arch, kernel)
    return tool, tool.task, open_raw_sock(tool, "eth0")


def arrive(tool, frame=FRAME):
    net.inject(tool.machine.kernel, frame)
    tool.sleep(0.001)


def load(task, text, **maps):
    return bpf_prog_load(task, uapi.BPF_PROG_TYPE_SOCKET_FILTER, assemble(text, maps))


@pytest.mark.parametrize("kernel", ["4.1", "6.1"])
@pytest.mark.parametrize("arch", ["x86_64", "arm64", "s390x"])
def test_keep_cut_and_drop(arch, kernel):
    tool, task, sock = box(arch, kernel)
    arrive(tool)
    assert receive(task, sock) == FRAME
    attach(task, sock, load(task, KEEP_20))
    arrive(tool)
    assert receive(task, sock) == FRAME[:20]
    dropped = tool.machine.kernel.net.counters["dropped"]
    attach(task, sock, load(task, DROP))
    arrive(tool)
    assert receive(task, sock) == -EAGAIN
    assert tool.machine.kernel.net.counters["dropped"] == dropped + 1  # by the filter; who hears all frames has had it


@pytest.mark.parametrize("kernel", ["4.1", "6.1"])
@pytest.mark.parametrize("arch", ["x86_64", "arm64", "s390x"])
def test_what_a_program_sees(arch, kernel):
    tool, task, sock = box(arch, kernel)
    seen = task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 8, 1)
    attach(task, sock, load(task, LOOK, seen=seen))
    arrive(tool)
    (value,) = task.unpack("Q", task.map_lookup(seen, bytes(4), 8))
    protocol = task.unpack("H", b"\x88\xb5")[0]  # in network order
    assert (value & 0xFFFF, value >> 16 & 0xFFFF) == (len(FRAME), protocol)
    assert [value >> shift & 0xFF for shift in (32, 40, 48)] == [FRAME[15], FRAME[14], FRAME[15]]


def test_errors_and_detaching():
    tool, task, sock = box()
    prog, a_map = load(task, DROP), task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 8, 1)
    other = bpf_prog_load(task, uapi.BPF_PROG_TYPE_SCHED_CLS, assemble(DROP))

    def errno(function, *args):
        with pytest.raises(KernelError) as error:
            function(*args)
        return error.value.errno

    assert errno(detach, task, sock) == ENOENT
    assert errno(detach, task, sock, 0) == EINVAL
    assert errno(attach, task, sock, prog, 8) == EINVAL
    assert errno(attach, task, sock, 77) == EBADF
    assert errno(attach, task, sock, a_map) == EINVAL
    assert errno(attach, task, sock, other) == EINVAL
    attach(task, sock, prog)
    detach(task, sock)
    attach(task, sock, prog)
    attach(task, sock, prog)  # replaces the first
    task.close(prog)
    progs = tool.machine.kernel.observer.bpf.progs.objects
    assert len(progs) == 2
    task.close(sock)
    tool.machine.settle()
    assert len(progs) == 1


def test_udp_sockets_have_filters_too():
    machine = simkernel.boot()
    task = machine.session.task
    prog = load(task, DROP)
    answers = []
    address = workloads.scene(machine, "").address(999)
    sock = task.call("socket", 2, 2, 0)
    with task.memory() as memory:
        where = memory.put(address)
        task.call("bind", sock, where, 16)
        for attached in (False, True):
            if attached:
                attach(task, sock, prog)
            task.call("sendto", sock, memory.put(b"hi"), 2, 0, where, 16)
            answers.append(receive(task, sock))
    assert answers == [b"hi", -EAGAIN]
