"""Read sections of RCU and pieces without preemption or interrupts, since 6.2, 6.10 and 6.14: what may not happen in them, and that they end.

Parts of do_check(), check_helper_call() and check_resource_leak() of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL
from bpf.verifier.env import Env


def check_sections_in(env: Env, what: str) -> None:
    """An instruction that leaves the program cannot stand in a section."""
    held = env.cur.held
    if held.irq:
        env.reject(EINVAL, f"{what} cannot be used inside bpf_local_irq_save-ed region")
    if held.rcu:
        env.reject(EINVAL, f"{what} cannot be used inside bpf_rcu_read_lock-ed region")
    if held.preempt:
        env.reject(EINVAL, f"{what} cannot be used inside bpf_preempt_disable-ed region")


def check_sections_left(env: Env, what: str) -> None:
    """The main function returns: no section is open; a called function may hand one to its caller."""
    held = env.cur.held
    if env.cur.curframe:
        return
    if what:
        check_sections_in(env, what)
    if held.rcu:
        env.reject(EINVAL, "bpf_rcu_read_unlock is missing")
    if held.preempt:
        are = " is" if held.preempt == 1 else "(s) are"
        env.reject(EINVAL, f"{held.preempt} bpf_preempt_enable{are} missing")


def check_sleep_here(env: Env, what: str) -> None:
    """A helper that may sleep is not called in a section."""
    held = env.cur.held
    if held.rcu:
        env.reject(EINVAL, f"sleepable helper {what} in rcu_read_lock region")
    if held.preempt:
        env.reject(EINVAL, f"sleepable helper {what} in non-preemptible region")
    if held.irq:
        env.reject(EINVAL, f"sleepable helper {what} in IRQ-disabled region")
