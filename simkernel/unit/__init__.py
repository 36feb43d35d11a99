"""Unit tests of tracing programs: one kernel function, one event or one program at a time, with objects made for the test.

    build.py   m.build: tasks, files, sockets, packets, requests, registers, any structure, with the members a test sets
    calls.py   m.call: a kernel function with built arguments; m.fire: a tracepoint; m.run_program: a program by itself
    moments.py m.at: interrupts, NMIs, other tasks while a program stands at an instruction; places.py says where
    mocks.py   m.mocks: what helpers answer
    coverage.py  m.coverage: which instructions and lines of programs ran; coverage_html.py makes its page
    records.py m.records: what programs send through ring buffers and perf arrays
    losses.py  m.losses: what was missed, dropped or lost, of every kind

    task = m.build.task(comm="victim", pid=4711)
    m.fire("sched:sched_process_exit", p=task)
    m.call("vfs_unlink", 0, dir, m.build.dentry("gone.txt"), 0)
    m.mocks.helper("bpf_probe_read_kernel", fail=EFAULT, on_call=3)

A test is outside the simulated machine, like a debugger: nothing here goes through system calls.
"""
