"""What /proc/PID/fdinfo shows of BPF's files.  kernel/bpf/syscall.c: bpf_map_show_fdinfo(), bpf_prog_show_fdinfo() ...

The objects of bpf/ write the lines of Linux 6.1; here is which of them an older kernel has.
"""

from __future__ import annotations

from bpf.face import FdObject
from simkernel.fs.inode import File
from simkernel.kernel.face import KernelFace

# (key, first version that shows it), for what is younger than the rest of its file; the files themselves:
# maps 4.5, programs 4.10, BTF 5.4, links 5.7
LINES_SINCE = {
    "map_type": "4.5", "key_size": "4.5", "value_size": "4.5", "max_entries": "4.5",
    "map_flags": "4.6", "map_extra": "5.16", "map_id": "4.20", "frozen": "5.2",
    "owner_prog_type": "4.10", "owner_jited": "4.13",
    "prog_type": "4.10", "prog_jited": "4.10", "prog_tag": "4.10", "memlock": "4.10", "prog_id": "4.20",
    "run_time_ns": "5.1", "run_cnt": "5.1", "recursion_misses": "5.12", "verified_insns": "5.16",
    "btf_id": "5.4",
}  # fmt: skip


def bpf_fdinfo(k: KernelFace, file: File) -> str:
    """f_op->show_fdinfo of maps, programs, links and BTF; an iterator being read and the statistics switch have none."""
    obj: FdObject = file.private_data
    lines = obj.fdinfo().splitlines(keepends=True)
    return "".join(line for line in lines if k.version.at_least(LINES_SINCE.get(line.partition(":")[0])))
