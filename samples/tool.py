"""What the samples' user sides share: a machine, a tool task with the loader of 2015, time, maps, and a command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import simkernel
from arch.abi.time import NSEC_PER_SEC
from arch.architecture import names
from bpf.loader.bpf_load import BpfLoad
from simkernel import workloads

HERE = Path(__file__).resolve().parent


class Tool:
    """A user-space tool on a booted machine.  Everything it does is system calls of one task."""

    def __init__(
        self,
        arch: str,
        kernel: str,
        seed: int = 0,
        out: TextIO | None = None,
        cpus: int = 1,
        config: Sequence[str] = (),
    ) -> None:
        self.arch, self.kernel = arch, kernel
        self.machine = simkernel.boot(arch=arch, kernel=kernel, seed=seed, cpus=cpus, config=config)
        self.session = self.machine.session
        self.task = self.session.task
        self.out = out or sys.stdout
        self.loader = BpfLoad(self.task)
        self.running: list[Any] = []

    def print(self, text: str = "", end: str = "\n") -> None:
        """To standard output."""
        self.out.write(text + end)

    def load(self, name: str) -> None:
        """load_bpf_file(): an object of samples/obj for this machine."""
        self.loader.load_bpf_file(HERE / "obj" / self.arch / f"{name}.bpf.o")

    def start(self, *names: str) -> None:
        """Start workloads (simkernel/workloads.py) beside this tool; they run while it sleeps."""
        for name in names:
            self.running += workloads.start(self.machine, name)

    def sleep(self, seconds: float) -> None:
        """sleep(3): virtual time, in which the workloads run."""
        ns = int(seconds * NSEC_PER_SEC)
        form = "QQ" if self.task.word == 8 else "II"
        with self.task.memory() as memory:
            self.task.call("nanosleep", memory.put(self.task.pack(form, ns // NSEC_PER_SEC, ns % NSEC_PER_SEC)), 0)

    def finish(self) -> None:
        """Let the workloads end by themselves."""
        workloads.wait(self.machine, self.running)
        self.running.clear()

    # -- maps --------------------------------------------------------------------------------------------------------

    def lookup(self, number: int, key: bytes, size: int) -> bytes:
        """bpf_lookup_elem() on the loader's n-th map; KernelError when the key is not there."""
        return self.task.map_lookup(self.loader.map_fd[number], key, size)

    def update(self, number: int, key: bytes, value: bytes) -> None:
        """bpf_update_elem(), flags BPF_ANY."""
        self.task.map_update(self.loader.map_fd[number], key, value)

    def keys(self, number: int, first: bytes) -> Iterator[bytes]:
        """bpf_get_next_key() from a key that is not there to the last; what is deleted meanwhile starts it anew."""
        key = self.task.map_next_key(self.loader.map_fd[number], first, len(first))
        while key is not None:
            yield key
            key = self.task.map_next_key(self.loader.map_fd[number], key, len(first))

    def slots(self, number: int, count: int, *, clear: bool = False) -> list[int]:
        """The u64 values of an array map, set back to 0 when asked."""
        values = []
        for slot in range(count):
            key = self.task.pack("I", slot)
            values.append(self.task.unpack("Q", self.lookup(number, key, 8))[0])
            if clear:
                self.update(number, key, bytes(8))
        return values

    def close(self) -> None:
        """Exit: everything that hangs on descriptors goes."""
        self.loader.close()
        self.machine.close()


def command_line(main: Callable[..., Any], argv: list[str] | None = None, **flags: str) -> None:
    """Parse `--arch`, `--seed` and the sample's own flags (name -> help), and run it."""
    parser = argparse.ArgumentParser(description=(sys.modules[main.__module__].__doc__ or "").split("\n")[0])
    parser.add_argument("--arch", choices=names()[:4], default="x86_64")
    parser.add_argument("--seed", type=int, default=0)
    for name, text in flags.items():
        if text.startswith("FILE"):
            parser.add_argument(f"--{name}", metavar="FILE", help=text)
        else:
            parser.add_argument(f"-{name[0]}", f"--{name}", action="store_true", help=text)
    main(**vars(parser.parse_args(argv)))
