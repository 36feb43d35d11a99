"""The user-space half of BPF: what libbpf does, through the system calls of one task.  Mirrors tools/lib/bpf/.

    sys.py       the one door to the kernel: `Syscalls`, and `Task` with named calls on top
    elf.py       BPF object files, both byte orders, never trusted
    sections.py  section names -> program type, attach type, how to attach
    defs.py      map definitions: legacy `maps` sections and BTF-defined `.maps`
    core.py      CO-RE relocations against a kernel's BTF: candidates, and which of them
      core_spec.py, core_match.py, core_value.py, core_patch.py   what is named; found there; its number; patched in
    relocate.py  subprograms, map and data references
    probes.py    which features the kernel has, found out by trying
    object.py    `BpfObject`: open, load, attach
      collect.py, create.py, btf_finish.py   what the file holds; its maps in the kernel; its BTF as the kernel takes it
    maps.py      maps of a loaded object: lookup, update, typed values
    values.py    bytes <-> Python values by BTF type
    attach.py    links: kprobes, uprobes, tracepoints, BTF-based attachment ...
    usdt.py      user-space static probes
    buffers.py   perf buffers and ring buffers
    link.py      several objects become one

Nothing here knows the simulated kernel: everything goes through `Syscalls`, which any task implements.
"""

from bpf.loader.errors import LoadError

__all__ = ["LoadError"]
