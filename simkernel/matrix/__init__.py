"""Many BPF objects on many kernels and CPUs: does each load and attach, and if not, why?

    cells.py     one object on one kernel: load, attach, perhaps a test; the classified outcome
    reasons.py   what a refusal means: a helper, map type or program type that is newer, a field or function that is not there
    workers.py   cells over processes of this host or a Dask cluster; a journal by which an interrupted run goes on
    tables.py    the outcome as text, JSON, CSV, JUnit, Markdown, HTML
    moved.py     what differs between two kernels: functions, structure members, trace events

Nothing here is simulated; everything is asked of machines that are booted for it.
"""
