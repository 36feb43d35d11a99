"""The kernel's core: kernel functions as coroutines, tasks, scheduler, memory maps, exec, signals, time, system calls.

What lives here mirrors kernel/, mm/, ipc-free parts of include/linux/sched.h and arch/*/entry of Linux.  Files and
file systems live in simkernel/fs/; facts about CPUs live in arch/.
"""
