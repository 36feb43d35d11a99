"""sock_example: packets by protocol, counted by a socket filter in assembler on a raw socket of `lo`."""

from __future__ import annotations

from typing import TextIO

from arch.abi.inet import ETH_P_ALL
from arch.abi.socket import AF_PACKET, SO_ATTACH_BPF, SOCK_RAW, SOL_SOCKET
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.loader.bpf_load import bpf_prog_load

from ..tool import Tool, command_line

PROTOCOL_AT = 23  # in an Ethernet frame with IPv4: 14 + 9
PROGRAM = f"""
    r6 = r1
    r0 = *(u8 *)skb[{PROTOCOL_AT}]
    *(u32 *)(r10 -4) = r0
    r2 = r10
    r2 += -4
    r1 = map[packets]
    call 1                          ; map_lookup_elem
    if r0 == 0 goto out
    r1 = 1
    lock *(u64 *)(r0 +0) += r1
  out:
    r0 = 0
    exit
"""
ICMP, TCP, UDP = 1, 6, 17


def open_raw_sock(tool: Tool, name: str) -> int:
    """libbpf.c of the samples: a packet socket bound to one device."""
    task = tool.task
    protocol = int.from_bytes(ETH_P_ALL.to_bytes(2, "big"), task.byteorder)
    sock = task.call("socket", AF_PACKET, SOCK_RAW, protocol)
    ifindex = next(dev.ifindex for dev in tool.machine.kernel.net.devices.values() if dev.name == name)
    with task.memory() as memory:
        address = task.pack("HHiHBB8x", AF_PACKET, protocol, ifindex, 0, 0, 0)
        task.call("bind", sock, memory.put(address), len(address))
    return sock


def main(arch: str = "x86_64", seed: int = 0, out: TextIO | None = None, rounds: int = 10) -> Tool:
    """Ten lines, a second apart."""
    tool = Tool(arch, "4.1", seed, out)
    task = tool.task
    packets = task.map_create(uapi.BPF_MAP_TYPE_ARRAY, 4, 8, 256)
    tool.loader.map_fd.append(packets)
    prog = bpf_prog_load(task, uapi.BPF_PROG_TYPE_SOCKET_FILTER, assemble(PROGRAM, {"packets": packets}))
    tool.loader.prog_fd.append(prog)
    sock = open_raw_sock(tool, "lo")
    with task.memory() as memory:
        task.call("setsockopt", sock, SOL_SOCKET, SO_ATTACH_BPF, memory.put(task.pack("I", prog)), 4)
    tool.loader.event_fd.append(sock)
    tool.start("ping", "udp", "tcp")
    for _ in range(rounds):
        tool.sleep(1)
        tcp, udp, icmp = (protocol_count(tool, number) for number in (TCP, UDP, ICMP))
        tool.print(f"TCP {tcp} UDP {udp} ICMP {icmp} packets")
    return tool


def protocol_count(tool: Tool, protocol: int) -> int:
    """Packets of one IP protocol."""
    return int(tool.task.unpack("Q", tool.lookup(0, tool.task.pack("I", protocol), 8))[0])


if __name__ == "__main__":
    command_line(main)
