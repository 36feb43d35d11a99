"""System calls about the machine and the running task: uname, sysinfo, prctl, getrandom, scheduling parameters...

kernel/{sys,panic}.c, kernel/sched/syscalls, drivers/char/random.c, arch/*/kernel/process.c.
"""

from __future__ import annotations

import re

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EFAULT, EINVAL, ENODEV, EPERM
from arch.abi.time import NSEC_PER_SEC
from arch.errors import KernelError
from arch.hosttime import check
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.namespaces import UtsNamespace, time_offsets
from simkernel.kernel.task import Task
from simkernel.kernel.usage import RUSAGE_CHILDREN, RUSAGE_SELF, RUSAGE_THREAD
from simkernel.kernel.user_namespace import ns_address

BUILD = "#1 SMP"


def uname_fields(k: KernelFace, task: Task | None = None) -> list[str]:
    """sysname, nodename, release, version, machine, domainname."""
    return names_of(k, current_uts(k))


def names_of(k: KernelFace, uts: UtsNamespace) -> list[str]:
    """The same of a namespace."""
    return ["Linux", uts.nodename, k.version.release, f"{BUILD} simkernel {k.version}", k.arch.machine, uts.domainname]


def current_uts(k: KernelFace) -> UtsNamespace:
    """The names that the current task sees: of its namespace, or the machine's."""
    found = k.current.namespaces.get("uts")
    if found is not None and isinstance(found.state, UtsNamespace):
        return found.state
    return UtsNamespace(k.hostname, k.domainname)


def set_uts(k: KernelFace, nodename: str | None, domainname: str | None) -> None:
    """Change one of them where the current task sees it."""
    found = k.current.namespaces.get("uts")
    uts = found.state if found is not None else None
    if isinstance(uts, UtsNamespace):
        uts.nodename = uts.nodename if nodename is None else nodename
        uts.domainname = uts.domainname if domainname is None else domainname
    else:
        k.hostname = k.hostname if nodename is None else nodename
        k.domainname = k.domainname if domainname is None else domainname
    if k.current.nsproxy_addr:
        store_uts(k, k.mirror.get_field(k.current.nsproxy_addr, "nsproxy", "uts_ns"), current_uts(k))


def store_uts(k: KernelFace, address: int, uts: UtsNamespace) -> None:
    """struct uts_namespace says what its names are."""
    at = address + k.mirror.offset_of("struct uts_namespace", "name")
    k.mem.write(
        at, b"".join(name.encode("utf-8", "surrogateescape")[:64].ljust(65, b"\0") for name in names_of(k, uts))
    )


UNAME26 = 0x0020000  # include/uapi/linux/personality.h


def _release(k: KernelFace, release: str) -> str:
    """override_release(): programs that know no version above 2.6 are told one: 2.6.40 is 3.0, 2.6.60 every .0 since."""
    if not k.current.personality & UNAME26:
        return release
    numbers = re.match(r"(\d+)\.(\d+)(?:\.\d+)?", release)
    assert numbers is not None
    return f"2.6.{(40 if numbers[1] == '3' else 60) + int(numbers[2])}{release[numbers.end() :]}"


def _give_names(k: KernelFace, name: int) -> int:
    """struct new_utsname."""
    system, node, release, *rest = uname_fields(k)
    fields = (system, node, _release(k, release), *rest)
    k.usercopy.copy_to_user(name, b"".join(f.encode("utf-8", "surrogateescape")[:64].ljust(65, b"\0") for f in fields))
    return 0


@syscall("newuname", "struct new_utsname *name", source="kernel/sys.c")
def sys_newuname(k: KernelFace, name: int) -> int:
    """EFAULT."""
    return _give_names(k, name)


@syscall("uname", "struct new_utsname *name", source="kernel/sys.c")
def sys_uname(k: KernelFace, name: int) -> int:
    """EFAULT."""
    return _give_names(k, name)


def _may_name(k: KernelFace) -> Body:
    """CAP_SYS_ADMIN in the user namespace that the names belong to."""
    uts = k.current.namespaces.get("uts")
    return (yield k.call("ns_capable", ns_address(k, uts.owner if uts is not None else None), CAP_SYS_ADMIN))


@syscall("sethostname", "char *name, int len", source="kernel/sys.c")
def sys_sethostname(k: KernelFace, name: int, length: int) -> Body:
    """EPERM, EINVAL, EFAULT."""
    if not (yield from _may_name(k)):
        raise KernelError(EPERM)
    if not 0 <= length <= 64:
        raise KernelError(EINVAL)
    set_uts(k, k.usercopy.copy_from_user(name, length).split(b"\0")[0].decode("utf-8", "surrogateescape"), None)
    return 0


@syscall("setdomainname", "char *name, int len", source="kernel/sys.c")
def sys_setdomainname(k: KernelFace, name: int, length: int) -> Body:
    """EPERM, EINVAL, EFAULT."""
    if not (yield from _may_name(k)):
        raise KernelError(EPERM)
    if not 0 <= length <= 64:
        raise KernelError(EINVAL)
    set_uts(k, None, k.usercopy.copy_from_user(name, length).split(b"\0")[0].decode("utf-8", "surrogateescape"))
    return 0


@syscall("sysinfo", "struct sysinfo *info", source="kernel/sys.c")
def sys_sysinfo(k: KernelFace, info: int) -> int:
    """EFAULT."""
    word, order = k.arch.word, k.mem.byteorder
    total, free = k.physical.size, k.physical.free_pages * 4096
    up = k.clock.now_ns + time_offsets(k.current.namespaces.get("time")).boottime
    values = [up // NSEC_PER_SEC, 0, 0, 0, total, free, 0, 0, 0, 0]
    data = b"".join((v & ((1 << 8 * word) - 1)).to_bytes(word, order) for v in values)
    data += len(k.tasks.by_pid).to_bytes(2, order) + bytes(2)
    if word == 8:
        data += bytes(4)
    data += bytes(2 * word) + (1).to_bytes(4, order)
    k.usercopy.copy_to_user(info, data.ljust(112 if word == 8 else 64, b"\0"))
    return 0


@syscall("getrandom", "char *ubuf, size_t len, unsigned int flags", source="drivers/char/random.c", since="3.17")
def sys_getrandom(k: KernelFace, buf: int, count: int, flags: int) -> int:
    """Bytes from the machine's seed.  EINVAL, EFAULT."""
    if flags & ~7 or flags & 6 == 6:
        raise KernelError(EINVAL)
    count = min(count, 0x7FFFF000)
    done = 0
    while done < count:
        step = min(count - done, 1 << 16)
        k.usercopy.copy_to_user(buf + done, k.random.randbytes(step))
        check()
        done += step
    return count


@syscall("getcpu", "unsigned *cpup, unsigned *nodep, struct getcpu_cache *unused", source="kernel/sys.c")
def sys_getcpu(k: KernelFace, cpup: int, nodep: int, unused: int) -> int:
    """EFAULT."""
    if cpup:
        k.usercopy.put_user(cpup, 4, k.cpus.rq.cpu)
    if nodep:
        k.usercopy.put_user(nodep, 4, 0)
    return 0


@syscall("personality", "unsigned int personality", source="kernel/exec_domain.c")
def sys_personality(k: KernelFace, personality: int) -> int:
    """The old one."""
    old = k.current.personality
    if personality != 0xFFFFFFFF:
        k.current.personality = personality
    return old


LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2 = (
    0xFEE1DEAD,
    (0x28121969, 0x05121996, 0x16041998, 0x20112000),
)  # linux/reboot.h
LINUX_REBOOT_CMD_RESTART2 = 0xA1B2C3D4
STOPPING = (0x4321FEDC, 0xCDEF0123, 0x01234567, LINUX_REBOOT_CMD_RESTART2)  # power off, halt, restart
CTRL_ALT_DEL = (0x89ABCDEF, 0)  # on, off


@syscall("reboot", "int magic1, int magic2, unsigned int cmd, void *arg", source="kernel/reboot.c")
def sys_reboot(k: KernelFace, magic1: int, magic2: int, cmd: int, arg: int) -> Body:
    """EPERM, EINVAL; power off and restart stop the machine."""
    if not (yield k.call("capable", 22)):
        raise KernelError(EPERM)
    if magic1 & 0xFFFFFFFF != LINUX_REBOOT_MAGIC1 or magic2 & 0xFFFFFFFF not in LINUX_REBOOT_MAGIC2:
        raise KernelError(EINVAL)
    if cmd == LINUX_REBOOT_CMD_RESTART2:
        k.usercopy.strncpy_from_user(arg, 256)
    if cmd in STOPPING:
        k.cpus.powered_off = True
        k.cpu.stop()
    elif cmd not in CTRL_ALT_DEL:
        raise KernelError(EINVAL)
    return 0


@syscall(
    "riscv_flush_icache", "uintptr_t start, uintptr_t end, uintptr_t flags", source="arch/riscv/kernel/sys_riscv.c"
)
def sys_riscv_flush_icache(k: KernelFace, start: int, end: int, flags: int) -> int:
    """Code is seen as it is written."""
    if flags & ~1:
        raise KernelError(EINVAL)
    return 0


# -- scheduling ---------------------------------------------------------------------------------------------------


# -- usage --------------------------------------------------------------------------------------------------------


@syscall("getrusage", "int who, struct rusage *ru", source="kernel/sys.c")
def sys_getrusage(k: KernelFace, who: int, ru: int) -> int:
    """EINVAL, EFAULT."""
    k.cpus.charge_user()
    k.cpus.account()
    if who not in (RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD):
        raise KernelError(EINVAL)
    k.usercopy.copy_to_user(ru, k.tasks.rusage(k.tasks.usage(k.current, who)))
    return 0


__all__ = ["EFAULT", "ENODEV"]
