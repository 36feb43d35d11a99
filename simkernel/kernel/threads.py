"""What a task has on the CPU: its kernel stack, saved registers, and the kernel threads.  arch/*/kernel/process.c,
kernel/kthread.c.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.prctl import PR_TSC_ENABLE, PR_TSC_SIGSEGV
from arch.abi.sched import SCHED_FIFO
from arch.cpu import Cpu
from simkernel.kernel.body import Steps
from simkernel.kernel.cpus import Cpus
from simkernel.kernel.mirror import Mirror
from simkernel.kernel.registers import Registers
from simkernel.kernel.sigpending import IGNORED_ACTION
from simkernel.kernel.task import (
    EXIT_DEAD,
    PF_FORKNOEXEC,
    PF_IDLE,
    PF_KTHREAD,
    PF_NO_SETAFFINITY,
    PF_NOFREEZE,
    TASK_DEAD,
    CurrentTask,
    SignalStruct,
    Task,
)
from simkernel.kernel.tasks import FIRST_USER_PID, Tasks
from simkernel.kernel.text import Text
from simkernel.kernel.thread_area import set_thread_area
from simkernel.kernel.usercopy import UserCopy

STOP_PRIORITY = 99  # MAX_RT_PRIO - 1: how the class that stops CPUs looks to programs


class Threads:
    """`k.threads`."""

    def __init__(
        self,
        board: CurrentTask,
        cpu: Cpu,
        cpus: Cpus,
        tasks: Tasks,
        text: Text,
        regs: Registers,
        mirror: Mirror,
        usercopy: UserCopy,
    ) -> None:
        self.board, self.cpu, self.cpus, self.tasks = board, cpu, cpus, tasks
        self.text, self.regs, self.mirror, self.usercopy = text, regs, mirror, usercopy
        self.arch, self.abi, self.mem = regs.arch, regs.abi, cpu.mem
        self.dead: list[Task] = []  # forgotten, but a CPU may still stand on their stacks

    # -- making --------------------------------------------------------------------------------------------------

    def new(self, pid: int, comm: str) -> Task:
        """A task with its struct task_struct and kernel stack, not yet visible to others."""
        task = self.tasks.new(pid, comm)
        task.regs = self.cpus.stack_top(task) - self.cpu.layout.size - self.cpu.facts.frame_reserve
        task.context = self.cpu.new_context()
        return task

    def make_idle(self, nr_cpus: int) -> list[Task]:
        """The idle task of every CPU."""
        out = []
        for cpu in range(nr_cpus):
            idle = self.new(0, f"swapper/{cpu}")
            idle.flags = PF_KTHREAD | PF_IDLE | PF_NOFREEZE
            idle.cpu = cpu
            idle.signal.threads.append(idle)
            self.mirror.publish_cred(idle)
            self.mirror.store_task(idle)
            out.append(idle)
        return out

    def make_kernel_thread(self, comm: str, body: Callable[[], Steps[object]], parent: Task | None = None) -> Task:
        """kthread_create(): `body()` gives the generator that it runs; cpus.wake_new() lets it begin."""
        task = self.new(self.tasks.next_pid(), comm)
        task.flags = PF_KTHREAD | PF_NOFREEZE | PF_FORKNOEXEC
        task.kthread = body
        task.tgid = task.pid
        task.signal = SignalStruct()
        task.signal.threads.append(task)
        task.parent = task.real_parent = parent or self.tasks.find(2) or self.tasks.idle
        task.parent.children.append(task)
        task.ksp = self.text.image.new_stack(
            self.cpus.stack_top(task), fn=self.text.address_of("kthread"), arg=task.addr
        )
        self.mirror.publish_cred(task)
        self.tasks.publish(task)
        return task

    def make_init_tasks(
        self, nr_cpus: int, init_body: Callable[[], Steps[object]], sleeper: Callable[[], Steps[object]]
    ) -> None:
        """pid 1, kthreadd and the threads of each CPU; numbers of programs begin at 100."""
        tasks, cpus = self.tasks, self.cpus
        init = self.make_kernel_thread("init", init_body, tasks.idle)
        self.mirror.change_flags(init, 0, init.flags)
        kthreadd = self.make_kernel_thread("kthreadd", sleeper, tasks.idle)
        ignored = [IGNORED_ACTION] * len(kthreadd.signal.actions)
        kthreadd.signal.actions = ignored  # ignore_signals(): its threads end without being waited for
        for cpu in range(nr_cpus):
            self._bound("ksoftirqd", cpu, sleeper, kthreadd)
        cpus.wake_new(self.make_kernel_thread("oom_reaper", sleeper, kthreadd))  # oom_init()
        for cpu in range(nr_cpus):
            self._bound("migration", cpu, sleeper, kthreadd, STOP_PRIORITY)
        cpus.wake_new(init)
        cpus.wake_new(kthreadd)
        tasks.last_pid = max(tasks.last_pid, FIRST_USER_PID - 1)
        tasks.init = init

    def _bound(self, name: str, cpu: int, body: Callable[[], Steps[object]], kthreadd: Task, priority: int = 0) -> None:
        """kthread_bind(), sched_set_stop_task() with a priority: a thread of one CPU."""
        task = self.make_kernel_thread(f"{name}/{cpu}", body, kthreadd)
        task.affinity = 1 << cpu
        if priority:
            task.policy, task.rt_priority = SCHED_FIFO, priority
            task.prio = task.normal_prio = STOP_PRIORITY - priority
        self.mirror.change_flags(task, PF_NO_SETAFFINITY)
        self.mirror.store_affinity(task)
        self.mirror.store_prio(task)
        self.cpus.wake_new(task)

    # -- registers -----------------------------------------------------------------------------------------------

    def copy_user_context(self, child: Task, stack: int, tls: int | None) -> None:
        """copy_thread(): pt_regs, FP and thread registers of a forked task."""
        parent = self.board.current
        self.mem.write(child.regs, self.mem.read(parent.regs, self.cpu.layout.size))
        self.regs.set(child.regs, self.abi.result, 0)
        if stack:
            self.regs.set(child.regs, self.arch.stack_pointer, stack)
        self._copy_thread_registers(child, tls)
        child.ksp = self.text.image.new_stack(self.cpus.stack_top(child))
        child.forked = True
        child.syscall_nr = parent.syscall_nr

    def _copy_thread_registers(self, child: Task, tls: int | None) -> None:
        """FP, vector and thread registers of the running task become the child's; CLONE_SETTLS changes one of them."""
        self.cpu.save_user(child.context)
        if tls is None:
            return
        segments = self.arch.support.segments
        if segments is not None and segments.thread_pointer:  # set_new_tls(): CLONE_SETTLS passes a user_desc
            child.context.descriptors = set_thread_area(
                self.usercopy, segments, self.cpu.thread_descriptors, -1, tls, None
            )[0]
            return
        register = self.arch.support.tls_register
        row = next((r for r in self.cpu.layout.rows if r.register == register), None)
        if row is not None:  # the thread pointer is a general register (riscv)
            self.regs.set(child.regs, row.field, tls)
        else:
            child.context.tls = tls

    def start_thread(self, task: Task, entry: int, sp: int) -> None:
        """start_thread(): user registers of a new program."""
        regs = self.regs
        number = regs.get(task.regs, self.abi.number)  # of the execve that is under way: sys_exit reports it
        self.mem.write(task.regs, bytes(self.cpu.layout.size))
        regs.set(task.regs, self.abi.number, number)
        for field, value in self.arch.support.user_mode_fields.items():
            regs.set(task.regs, field, value)
        mode = self.arch.entry_mode
        if mode is not None and entry & 1:  # ARM: an odd entry address is Thumb code
            regs.set(task.regs, mode[0], regs.get(task.regs, mode[0]) | mode[1])
            entry &= ~1
        regs.set(task.regs, self.arch.instruction_pointer, entry)
        regs.set(task.regs, self.arch.stack_pointer, sp)
        self.cpu.load_user(None)
        if task.tsc_mode != PR_TSC_ENABLE:
            self.apply_tsc_mode(task)

    def apply_tsc_mode(self, task: Task) -> None:
        """PR_SET_TSC of the task that runs; its children inherit it with its registers."""
        if self.arch.support.forbid_counter is not None:
            self.arch.support.forbid_counter(self.cpu, task.tsc_mode == PR_TSC_SIGSEGV)

    # -- ending --------------------------------------------------------------------------------------------------

    def bury(self, task: Task) -> None:
        """release_task(): its memory goes now, or when it has left its CPU."""
        if task.state == TASK_DEAD and not self._runs(task):
            self._destroy(task)
            if task in self.dead:
                self.dead.remove(task)
        elif task not in self.dead:
            self.dead.append(task)

    def finish_switch(self) -> None:
        """Free what dead tasks left behind, now that no CPU stands on their stacks."""
        if self.dead:
            for task in [t for t in self.dead if t is not self.board.current and t.state == TASK_DEAD]:
                if not self._runs(task):
                    self.dead.remove(task)
                    self._destroy(task)

    def _runs(self, task: Task) -> bool:
        return any(rq.current is task for rq in self.cpus.rqs)

    def _destroy(self, task: Task) -> None:
        for frame in task.frames:
            frame[2].close()
        task.frames.clear()
        if task.exit_state == EXIT_DEAD:
            self.tasks.by_address.pop(task.addr, None)
            self.mirror.free_task_memory(task)
