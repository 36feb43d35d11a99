"""tracex4: slab objects older than a second and who allocated them, by a kprobe and a kretprobe."""

from __future__ import annotations

from typing import Any, TextIO

from arch.abi.socket import AF_INET, SOCK_DGRAM
from arch.abi.time import NSEC_PER_SEC
from simkernel.usertask import Calls
from simkernel.workloads import Scene, need, scene

from ..tool import Tool, command_line

CLEAR_SCREEN = "\033[1;1H\033[2J\0\0"  # written with a length of 12: a NUL and one byte more than the text has


def main(arch: str = "x86_64", seed: int = 0, out: TextIO | None = None, rounds: int = 3) -> Tool:
    """Every second, what has lived for longer than one."""
    tool = Tool(arch, "4.1", seed, out)
    tool.load("tracex4")
    tool.start("tcp")
    tool.machine.workload(unread(scene(tool.machine, "tracex4")), "unread")
    for _ in range(rounds):
        tool.sleep(1)
        tool.print(CLEAR_SCREEN, end="")
        print_old_objects(tool)
    return tool


def print_old_objects(tool: Tool) -> None:
    """Objects that were allocated more than a second ago."""
    now_ns = tool.machine.kernel.clock.now_ns
    for key in tool.keys(0, b"\xff" * 8):
        born_ns, by = tool.task.unpack("QQ", tool.lookup(0, key, 16))
        if now_ns - born_ns >= NSEC_PER_SEC:
            (address,) = tool.task.unpack("Q", key)
            age_s = (now_ns - born_ns) // NSEC_PER_SEC
            tool.print(f"obj 0x{address:x} is {age_s:2}sec old was allocated at ip {by:x}")


def unread(scene: Scene) -> Any:
    """A program that keeps three sockets, and packets that nobody reads."""
    address = scene.address(6001)

    def program(u: Calls) -> Any:
        sock = need((yield u.socket(AF_INET, SOCK_DGRAM, 0)), "socket")
        need((yield u.bind(sock, address, 16)), "bind")
        for _ in range(2):
            other = need((yield u.socket(AF_INET, SOCK_DGRAM, 0)), "socket")
            need((yield u.sendto(other, b"hello", 5, 0, address, 16)), "sendto")
        yield u.ppoll(0, 0, 0, 0, 0)

    return program


if __name__ == "__main__":
    command_line(main)
