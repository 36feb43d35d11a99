"""Random system calls with random arguments: the kernel refuses or answers, and never fails in itself."""

import random

import pytest

from arch.errors import Fault
from simkernel.machine import boot

ARCHES = ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
CALLS = 800
# These end the task, replace its program, or make a task that nobody drives.
NOT_CALLED = {
    "exit", "exit_group", "reboot", "vfork", "fork", "clone", "clone3", "rt_sigreturn", "sigreturn", "execve",
    "execveat",
}  # fmt: skip
PATHS = ("/tmp/d", "/proc/self/maps", "/dev/null", "", "/dev/zero", "x" * 300, "/sys", "/tmp/f0", "/tmp/f9")


class Fuzzer:
    def __init__(self, arch, seed):
        self.random = random.Random(seed)
        self.machine = boot(arch=arch, cpus=2)
        self.k = self.machine.kernel
        self.names = [name for name in sorted(self.k.syscalls.declared) if name not in NOT_CALLED]
        self.task = self.fresh()

    def fresh(self):
        task = self.machine.user_task("fuzz")
        for i in range(4):
            task.syscall("openat", -100, f"/tmp/f{i}", 0o102, 0o600)
        task.syscall("pipe2", task.alloc(16), 0)
        task.syscall("mkdirat", -100, "/tmp/d", 0o755)
        return task

    def value(self):
        task, rnd = self.task, self.random
        kind = rnd.randrange(10)
        if kind < 3:
            return rnd.randrange(-4, 12)
        if kind < 5:
            return task.alloc(256)
        if kind < 6:
            address = task.alloc(128)
            task.write(address, rnd.randbytes(128))
            return address
        if kind < 7:
            return task.string(rnd.choice(PATHS))
        if kind < 8:
            return rnd.choice(
                (0xFFFFFFFFFFFFFFFF >> rnd.randrange(64), 1 << rnd.randrange(63), 4096 * rnd.randrange(99))
            )
        if kind < 9:
            return task.heap + rnd.randrange(1 << 26)
        return 16

    def step(self):
        k, task = self.k, self.task
        name = self.random.choice(self.names)
        try:
            args = [self.value() for _ in range(6)]
            task.free_all() if task.top > task.heap + (32 << 20) else None
        except Fault:  # an earlier call has unmapped the task's memory
            return self.replace()
        task.result, task.request = None, (name, tuple(args))
        k.wake_up(task.queue)
        k.cpus.run(lambda: task.result is not None or task.task.exit_state != 0, k.clock.now_ns + 10**9)
        if task.result is None:
            self.replace()
        return None

    def replace(self):
        k, task = self.k, self.task.task
        if not task.exit_state:
            k.signals.send(task, 9)
            k.cpus.run(lambda: task.exit_state != 0, k.clock.now_ns + 10**9)
        assert task.exit_state, "SIGKILL does not end the task"
        self.task = self.fresh()


@pytest.mark.parametrize("arch", ARCHES)
def test_random_system_calls_never_break_the_kernel(arch):
    fuzzer = Fuzzer(arch, seed=ARCHES.index(arch))
    for _ in range(CALLS):
        fuzzer.step()
    fuzzer.machine.close()
