"""Process accounting: a record of each process that ends, in a file of the administrator's.  kernel/acct.c.

The record is struct acct_v3 (include/uapi/linux/acct.h), as with CONFIG_BSD_PROCESS_ACCT_V3.
"""

from __future__ import annotations

import struct

from arch.abi.capability import CAP_SYS_PACCT
from arch.abi.errno import EACCES, EINVAL, EPERM
from arch.abi.fcntl import AT_FDCWD, O_APPEND, O_LARGEFILE, O_WRONLY
from arch.abi.limits import PAGE_SIZE, U64_MAX
from arch.abi.resource import RLIM_INFINITY, RLIMIT_FSIZE
from arch.abi.time import NSEC_PER_SEC
from arch.errors import KernelError
from simkernel.fs.copy import kernel_write
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File
from simkernel.fs.open_walk import Filename, OpenFlags, get_path_name
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import PF_FORKNOEXEC, PF_SUPERPRIV, Task

AFORK, ASU, ACORE, AXSIG = 0x01, 0x02, 0x08, 0x10
ACCT_VERSION, ACCT_BIG_ENDIAN = 3, 0x80
AHZ_NS = NSEC_PER_SEC // 100  # a tick of accounting
WITHOUT_RECORDS = ("proc", "sysfs")  # SB_I_USERNS_VISIBLE
MANTISSA, EXPONENT_STEP = 13, 3  # bits of comp_t: a fraction, and an exponent to the base 8
RECORD = "BBHIIIIIIfHHHHHHHH16s"  # struct acct_v3


def comp_t(value: int) -> int:
    """encode_comp_t(): a number in 16 bits, rounded."""
    exponent = rounded = 0
    while value > (1 << MANTISSA) - 1:
        rounded = value & 1 << EXPONENT_STEP - 1
        value >>= EXPONENT_STEP
        exponent += 1
    if rounded:
        value += 1
        if value > (1 << MANTISSA) - 1:
            value >>= EXPONENT_STEP
            exponent += 1
    return 0xFFFF if exponent > 7 else exponent << MANTISSA | value


@syscall("acct", "const char *name", source="kernel/acct.c")
def sys_acct(k: FsKernel, name: int) -> Body:
    """Write records to this file from now on, or none any more.  EPERM, EACCES, and those of open(2)."""
    if not k.capable(CAP_SYS_PACCT):
        raise KernelError(EPERM)
    file = None
    if name:
        path = get_path_name(k, name, putter="")
        op = OpenFlags(O_WRONLY | O_APPEND | O_LARGEFILE, 0)
        filename = Filename(k, path, name, op, "file_open_name")
        try:
            ret = yield k.call("do_filp_open", AT_FDCWD & U64_MAX, filename.addr, filename.op_addr)
        finally:
            filename.put()
        if k.vfs.is_error(ret):
            return k.regs.ptr_err(ret)
        file = k.vfs.files[ret & k.vfs.word_mask]
        if not file.f_inode.is_reg:
            k.vfs.put_file(file)
            return -EACCES
        if file.f_inode.i_sb.fs_name in WITHOUT_RECORDS:
            k.vfs.put_file(file)
            return -EINVAL
    old, k.vfs.acct.file, k.tasks.accounting = k.vfs.acct.file, file, file is not None
    if old is not None:
        yield from _write(k, old, _record(k, k.current, 0))
        k.vfs.put_file(old)
    return 0


@kernel_function("void acct_collect(long exitcode, int group_dead)", source="kernel/acct.c")
def acct_collect(k: FsKernel, exitcode: int, group_dead: int) -> int:
    """How much memory the process has mapped, as long as it has it."""
    if group_dead and k.current.mm is not None:
        k.vfs.acct.memory_kb[k.current.signal] = k.current.mm.total_pages() * PAGE_SIZE // 1024
    return 0


@kernel_function("void acct_process(void)", source="kernel/acct.c")
def acct_process(k: FsKernel) -> Body:
    """The last thread of a process ends: its record."""
    file, task = k.vfs.acct.file, k.current
    memory = k.vfs.acct.memory_kb.pop(task.signal, 0)
    if file is not None:
        yield from _write(k, file, _record(k, task, memory))
    return 0


def _record(k: FsKernel, task: Task, memory: int) -> bytes:
    """fill_ac(): a process that has no `memory` any more goes on, and its times are not told."""
    signal, leader = task.signal, task.group_leader
    code = signal.group_exit_code or task.exit_code
    flags = (ACORE if code & 0x80 else 0) | (AXSIG if code & 0x7F else 0)
    if memory:
        flags |= (AFORK if leader.flags & PF_FORKNOEXEC else 0) | (ASU if task.flags & PF_SUPERPRIV else 0)
    elapsed = k.clock.now_ns - leader.start_time_ns
    used = [
        sum(getter) + kept
        for getter, kept in (
            ([t.utime_ns for t in signal.threads], signal.utime_ns),
            ([t.stime_ns for t in signal.threads], signal.stime_ns),
        )
    ]
    little = k.mem.byteorder == "little"
    return struct.pack(
        ("<" if little else ">") + RECORD, flags, ACCT_VERSION | (0 if little else ACCT_BIG_ENDIAN), 0, code,
        task.cred.uid, task.cred.gid, task.tgid, leader.real_parent.tgid, (k.clock.realtime_ns - elapsed) // NSEC_PER_SEC & 0xFFFFFFFF,
        float(elapsed // AHZ_NS), comp_t(used[0] // AHZ_NS), comp_t(used[1] // AHZ_NS), comp_t(memory), 0, 0,
        comp_t(sum(t.min_flt for t in signal.threads)), comp_t(sum(t.maj_flt for t in signal.threads)), 0,
        task.comm.encode(errors="surrogateescape")[:15],
    )  # fmt: skip


def _write(k: FsKernel, file: File, record: bytes) -> Body:
    """At the end of the file, whatever the limit of who is told of."""
    signal = k.current.signal
    limit = signal.rlimits[RLIMIT_FSIZE]
    signal.rlimits[RLIMIT_FSIZE] = (RLIM_INFINITY, limit[1])
    yield from kernel_write(k, file, file.f_inode.i_size, record)
    signal.rlimits[RLIMIT_FSIZE] = limit
    return 0
