"""System calls written as strace writes them: `openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3`.

Driven by the declarations of @syscall: the C type and the name of a parameter say how it is shown; the tables below name
flags, and the few calls whose arguments the kernel fills in.  Lines of other tasks than the first carry `[pid N]`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from arch.abi.errno import ERRNO_NAMES
from arch.abi.signal import SIGNAL_NAMES
from arch.errors import Fault, KernelError
from simkernel.kernel.face import KernelFace
from simkernel.kernel.hostcode import host_code
from simkernel.kernel.kfunc import Param

if TYPE_CHECKING:
    from simkernel.kernel.sigpending import SigInfo
    from simkernel.kernel.task import Task

STRING_LIMIT = 32

ERROR_TEXT = {
    "EPERM": "Operation not permitted", "ENOENT": "No such file or directory", "ESRCH": "No such process",
    "EINTR": "Interrupted system call", "EIO": "Input/output error", "ENXIO": "No such device or address",
    "E2BIG": "Argument list too long", "ENOEXEC": "Exec format error", "EBADF": "Bad file descriptor",
    "ECHILD": "No child processes", "EAGAIN": "Resource temporarily unavailable", "ENOMEM": "Cannot allocate memory",
    "EACCES": "Permission denied", "EFAULT": "Bad address", "EBUSY": "Device or resource busy",
    "EEXIST": "File exists", "EXDEV": "Invalid cross-device link", "ENODEV": "No such device",
    "ENOTDIR": "Not a directory", "EISDIR": "Is a directory", "EINVAL": "Invalid argument",
    "ENFILE": "Too many open files in system", "EMFILE": "Too many open files",
    "ENOTTY": "Inappropriate ioctl for device", "ETXTBSY": "Text file busy", "EFBIG": "File too large",
    "ENOSPC": "No space left on device", "ESPIPE": "Illegal seek", "EROFS": "Read-only file system",
    "EMLINK": "Too many links", "EPIPE": "Broken pipe", "ERANGE": "Numerical result out of range",
    "ENAMETOOLONG": "File name too long", "ENOSYS": "Function not implemented", "ENOTEMPTY": "Directory not empty",
    "ELOOP": "Too many levels of symbolic links", "EOVERFLOW": "Value too large for defined data type",
    "ENOTSOCK": "Socket operation on non-socket", "EOPNOTSUPP": "Operation not supported",
    "EAFNOSUPPORT": "Address family not supported by protocol", "EADDRINUSE": "Address already in use",
    "ECONNREFUSED": "Connection refused", "ETIMEDOUT": "Connection timed out", "ENODATA": "No data available",
    "ENOTBLK": "Block device required", "EDOM": "Numerical argument out of domain", "EDEADLOCK": "Resource deadlock avoided",
    "ENOLCK": "No locks available", "ENOMSG": "No message of desired type", "EIDRM": "Identifier removed", "ECHRNG": "Channel number out of range",
    "EL2NSYNC": "Level 2 not synchronized", "EL3HLT": "Level 3 halted", "EL3RST": "Level 3 reset", "ELNRNG": "Link number out of range",
    "EUNATCH": "Protocol driver not attached", "ENOCSI": "No CSI structure available", "EL2HLT": "Level 2 halted", "EBADE": "Invalid exchange",
    "EBADR": "Invalid request descriptor", "EXFULL": "Exchange full", "ENOANO": "No anode", "EBADRQC": "Invalid request code", "EBADSLT": "Invalid slot",
    "EBFONT": "Bad font file format", "ENOSTR": "Device not a stream", "ETIME": "Timer expired", "ENOSR": "Out of streams resources",
    "ENONET": "Machine is not on the network", "ENOPKG": "Package not installed", "EREMOTE": "Object is remote", "ENOLINK": "Link has been severed",
    "EADV": "Advertise error", "ESRMNT": "Srmount error", "ECOMM": "Communication error on send", "EPROTO": "Protocol error",
    "EMULTIHOP": "Multihop attempted", "EDOTDOT": "RFS specific error", "EBADMSG": "Bad message", "ENOTUNIQ": "Name not unique on network",
    "EBADFD": "File descriptor in bad state", "EREMCHG": "Remote address changed", "ELIBACC": "Can not access a needed shared library",
    "ELIBBAD": "Accessing a corrupted shared library", "ELIBSCN": ".lib section in a.out corrupted",
    "ELIBMAX": "Attempting to link in too many shared libraries", "ELIBEXEC": "Cannot exec a shared library directly",
    "EILSEQ": "Invalid or incomplete multibyte or wide character", "ERESTART": "Interrupted system call should be restarted",
    "ESTRPIPE": "Streams pipe error", "EUSERS": "Too many users", "EDESTADDRREQ": "Destination address required", "EMSGSIZE": "Message too long",
    "EPROTOTYPE": "Protocol wrong type for socket", "ENOPROTOOPT": "Protocol not available", "EPROTONOSUPPORT": "Protocol not supported",
    "ESOCKTNOSUPPORT": "Socket type not supported", "ENOTSUP": "Operation not supported", "EPFNOSUPPORT": "Protocol family not supported",
    "EADDRNOTAVAIL": "Cannot assign requested address", "ENETDOWN": "Network is down", "ENETUNREACH": "Network is unreachable",
    "ENETRESET": "Network dropped connection on reset", "ECONNABORTED": "Software caused connection abort", "ECONNRESET": "Connection reset by peer",
    "ENOBUFS": "No buffer space available", "EISCONN": "Transport endpoint is already connected", "ENOTCONN": "Transport endpoint is not connected",
    "ESHUTDOWN": "Cannot send after transport endpoint shutdown", "ETOOMANYREFS": "Too many references: cannot splice", "EHOSTDOWN": "Host is down",
    "EHOSTUNREACH": "No route to host", "EALREADY": "Operation already in progress", "EINPROGRESS": "Operation now in progress",
    "ESTALE": "Stale file handle", "EUCLEAN": "Structure needs cleaning", "ENOTNAM": "Not a XENIX named type file",
    "ENAVAIL": "No XENIX semaphores available", "EISNAM": "Is a named type file", "EREMOTEIO": "Remote I/O error", "EDQUOT": "Disk quota exceeded",
    "ENOMEDIUM": "No medium found", "EMEDIUMTYPE": "Wrong medium type", "ECANCELED": "Operation canceled", "ENOKEY": "Required key not available",
    "EKEYEXPIRED": "Key has expired", "EKEYREVOKED": "Key has been revoked", "EKEYREJECTED": "Key was rejected by service", "EOWNERDEAD": "Owner died",
    "ENOTRECOVERABLE": "State not recoverable", "ERFKILL": "Operation not possible due to RF-kill",
}  # fmt: skip
RESTART_TEXT = {
    512: "ERESTARTSYS (To be restarted if SA_RESTART is set)",
    513: "ERESTARTNOINTR (To be restarted)",
    514: "ERESTARTNOHAND (To be restarted if no handler)",
    516: "ERESTART_RESTARTBLOCK (Interrupted by signal)",
}


def flags(
    names: dict[int, str], zero: str = "0", base: tuple[int, dict[int, str]] | None = None
) -> Callable[[int], str]:
    """A printer of bit sets: names by bit, `base` for a field of values among the bits."""

    def show(value: int) -> str:
        parts = []
        rest = value
        if base is not None:
            mask, values = base
            parts.append(values.get(rest & mask, hex(rest & mask)))
            rest &= ~mask
        for bits, name in names.items():
            if bits and rest & bits == bits:
                parts.append(name)
                rest &= ~bits
        if rest:
            parts.append(hex(rest))
        return "|".join(parts) if parts else zero

    return show


def choice(names: dict[int, str]) -> Callable[[int], str]:
    """A printer of one of several values."""
    return lambda value: names.get(value, hex(value) if value > 9 else str(value))


def signal_name(sig: int) -> str:
    """SIGINT, SIGRT_1 ..."""
    return SIGNAL_NAMES.get(sig, f"SIGRT_{sig - 32}" if 32 < sig <= 64 else str(sig))


OPEN = flags(
    {0o100: "O_CREAT", 0o200: "O_EXCL", 0o400: "O_NOCTTY", 0o1000: "O_TRUNC", 0o2000: "O_APPEND",
     0o4000: "O_NONBLOCK", 0o200000: "O_DIRECTORY", 0o400000: "O_NOFOLLOW", 0o2000000: "O_CLOEXEC",
     0o100000: "O_LARGEFILE", 0o10000000: "O_PATH"},
    base=(3, {0: "O_RDONLY", 1: "O_WRONLY", 2: "O_RDWR"}),
)  # fmt: skip
PROT = flags({1: "PROT_READ", 2: "PROT_WRITE", 4: "PROT_EXEC"}, "PROT_NONE")
MMAP = flags({0x10: "MAP_FIXED", 0x20: "MAP_ANONYMOUS", 0x100: "MAP_GROWSDOWN", 0x800: "MAP_DENYWRITE",
              0x4000: "MAP_NORESERVE", 0x8000: "MAP_POPULATE", 0x20000: "MAP_STACK",
              0x100000: "MAP_FIXED_NOREPLACE"},
             base=(15, {1: "MAP_SHARED", 2: "MAP_PRIVATE", 3: "MAP_SHARED_VALIDATE"}))  # fmt: skip
CLONE = flags({0x100: "CLONE_VM", 0x200: "CLONE_FS", 0x400: "CLONE_FILES", 0x800: "CLONE_SIGHAND",
               0x4000: "CLONE_VFORK", 0x8000: "CLONE_PARENT", 0x10000: "CLONE_THREAD", 0x40000: "CLONE_SYSVSEM",
               0x80000: "CLONE_SETTLS", 0x100000: "CLONE_PARENT_SETTID", 0x200000: "CLONE_CHILD_CLEARTID",
               0x400000: "CLONE_DETACHED", 0x1000000: "CLONE_CHILD_SETTID"},
              base=(0xFF, {17: "SIGCHLD", 0: "0"}))  # fmt: skip
AT = flags({0x100: "AT_SYMLINK_NOFOLLOW", 0x200: "AT_REMOVEDIR", 0x400: "AT_SYMLINK_FOLLOW", 0x1000: "AT_EMPTY_PATH"})
ACCESS = flags({4: "R_OK", 2: "W_OK", 1: "X_OK"}, "F_OK")
WHENCE = choice({0: "SEEK_SET", 1: "SEEK_CUR", 2: "SEEK_END", 3: "SEEK_DATA", 4: "SEEK_HOLE"})
WAIT = flags({1: "WNOHANG", 2: "WUNTRACED", 8: "WCONTINUED", 4: "WEXITED", 0x40000000: "__WALL"})
HOW = choice({0: "SIG_BLOCK", 1: "SIG_UNBLOCK", 2: "SIG_SETMASK"})
FUTEX = flags({128: "FUTEX_PRIVATE_FLAG", 256: "FUTEX_CLOCK_REALTIME"},
              base=(127, dict(enumerate(("FUTEX_WAIT", "FUTEX_WAKE", "FUTEX_FD", "FUTEX_REQUEUE", "FUTEX_CMP_REQUEUE",
                                         "FUTEX_WAKE_OP", "FUTEX_LOCK_PI", "FUTEX_UNLOCK_PI", "FUTEX_TRYLOCK_PI",
                                         "FUTEX_WAIT_BITSET", "FUTEX_WAKE_BITSET")))))  # fmt: skip
CLOCK = choice(dict(enumerate(("CLOCK_REALTIME", "CLOCK_MONOTONIC", "CLOCK_PROCESS_CPUTIME_ID",
                               "CLOCK_THREAD_CPUTIME_ID", "CLOCK_MONOTONIC_RAW", "CLOCK_REALTIME_COARSE",
                               "CLOCK_MONOTONIC_COARSE", "CLOCK_BOOTTIME"))))  # fmt: skip
FCNTL = choice({0: "F_DUPFD", 1: "F_GETFD", 2: "F_SETFD", 3: "F_GETFL", 4: "F_SETFL", 5: "F_GETLK", 6: "F_SETLK",
                7: "F_SETLKW", 1030: "F_DUPFD_CLOEXEC", 1031: "F_SETPIPE_SZ", 1032: "F_GETPIPE_SZ"})  # fmt: skip
IOCTL = choice({0x5401: "TCGETS", 0x5402: "TCSETS", 0x5403: "TCSETSW", 0x540F: "TIOCGPGRP", 0x5410: "TIOCSPGRP",
                0x5413: "TIOCGWINSZ", 0x541B: "FIONREAD", 0x5421: "FIONBIO"})  # fmt: skip
RESOURCE = choice(dict(enumerate(("RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_DATA", "RLIMIT_STACK", "RLIMIT_CORE",
                                  "RLIMIT_RSS", "RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_MEMLOCK", "RLIMIT_AS"))))  # fmt: skip
PRCTL_ARCH = choice({0x1001: "ARCH_SET_GS", 0x1002: "ARCH_SET_FS", 0x1003: "ARCH_GET_FS", 0x1004: "ARCH_GET_GS"})


def octal(value: int) -> str:
    """Permission bits."""
    return f"{value:#05o}".replace("0o", "0") if value else "000"


# (call or "*", parameter position) -> printer
PRINTERS: dict[tuple[str, int], Callable[[int], str]] = {
    ("openat", 2): OPEN, ("open", 1): OPEN, ("openat", 3): octal, ("open", 2): octal, ("mkdirat", 2): octal,
    ("mkdir", 1): octal, ("chmod", 1): octal, ("fchmod", 1): octal, ("fchmodat", 2): octal, ("umask", 0): octal,
    ("creat", 1): octal, ("mmap", 2): PROT, ("mmap", 3): MMAP, ("mmap2", 2): PROT, ("mmap2", 3): MMAP,
    ("mprotect", 2): PROT, ("newfstatat", 3): AT, ("unlinkat", 2): AT, ("faccessat2", 3): AT,
    ("access", 1): ACCESS, ("faccessat", 2): ACCESS, ("faccessat2", 2): ACCESS, ("lseek", 2): WHENCE,
    ("wait4", 2): WAIT, ("waitid", 3): WAIT, ("rt_sigaction", 0): signal_name, ("rt_sigprocmask", 0): HOW,
    ("kill", 1): signal_name, ("tkill", 1): signal_name, ("tgkill", 2): signal_name, ("futex", 1): FUTEX,
    ("clock_gettime", 0): CLOCK, ("clock_nanosleep", 0): CLOCK, ("clock_getres", 0): CLOCK, ("fcntl", 1): FCNTL,
    ("ioctl", 1): IOCTL, ("prlimit64", 1): RESOURCE, ("getrlimit", 0): RESOURCE, ("setrlimit", 0): RESOURCE,
    ("arch_prctl", 0): PRCTL_ARCH, ("dup3", 2): OPEN, ("pipe2", 1): flags({0o2000000: "O_CLOEXEC", 0o4000: "O_NONBLOCK"}),
}  # fmt: skip
STRING_NAMES = {"filename", "pathname", "path", "name", "oldname", "newname", "dev_name", "dir_name", "type", "target"}
IN_BUFFERS = {"write": (1, 2), "pwrite64": (1, 2), "sendto": (1, 2)}  # call -> (buffer, size) positions
OUT_BUFFERS = {"read": 1, "pread64": 1, "readlink": 1, "readlinkat": 2, "recvfrom": 1, "getcwd": 0, "getrandom": 0}
ADDRESS_NAMES = {"addr", "start", "brk", "newsp", "new_addr"}  # unsigned longs that are addresses
NO_RETURN = {"exit", "exit_group"}


def quote(data: bytes, limit: int | None = STRING_LIMIT, more: bool = False) -> str:
    """A C string literal as strace writes it."""
    cut = limit is not None and len(data) > limit
    out = []
    shown = data[:limit] if cut else data
    for index, byte in enumerate(shown):
        char = chr(byte)
        if char in '"\\':
            out.append("\\" + char)
        elif byte in _ESCAPES:
            out.append(_ESCAPES[byte])
        elif 32 <= byte < 127:
            out.append(char)
        else:
            digit = index + 1 < len(shown) and 48 <= shown[index + 1] < 56
            out.append(f"\\{byte:03o}" if digit else f"\\{byte:o}")
    return '"' + "".join(out) + '"' + ("..." if cut or more else "")


_ESCAPES = {9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


class Strace:
    """Prints lines through `emit`."""

    def __init__(self, k: KernelFace, emit: Callable[[str], None]) -> None:
        self.k = k
        self.emit = emit
        self.pending: dict[int, tuple[str, list[str | None], list[int]]] = {}
        self.first: int | None = None

    # -- what the kernel tells -----------------------------------------------------------------------------------

    def enter(self, task: Task, nr: int, regs: int) -> None:
        """A call begins: take what can only be read now."""
        k = self.k
        name = k.syscalls.names.get(nr, f"syscall_{nr:#x}")
        call = k.syscalls.declared.get(name)
        values = [k.regs.get(regs, field) for field in k.abi.args]
        params = call.prototype.params if call is not None else ()
        if call is None:
            shown: list[str | None] = [hex(v) for v in values]
        else:
            shown = [self._show(name, i, p, v, values) for i, (p, v) in enumerate(zip(params, values))]
            if name in ("openat", "open") and not values[len(params) - 2] & 0o20000100:
                shown = shown[:-1]
        if name == "clone":
            shown = [self._clone(values)]
        if self.first is None:
            self.first = task.pid
        if name in NO_RETURN:
            self._line(task, f"{name}({shown[0]})", "= ?")
            self._exited(task, values[0] & 0xFF, name)
            return
        self.pending[task.pid] = (name, shown, values)

    def leave(self, task: Task, nr: int, ret: int) -> None:
        """The call returns."""
        name, shown, values = self.pending.pop(task.pid, (self.k.syscalls.names.get(nr, str(nr)), ["..."], []))
        args = ", ".join(self._out(name, i, values, ret) if a is None else a for i, a in enumerate(shown))
        self._line(task, f"{name}({args})", "= " + self._result(name, ret))

    def forked(self, task: Task) -> None:
        """A new task is about to see its own return from clone()."""
        task.forked = False

    def signal(self, task: Task, info: SigInfo) -> None:
        """A signal is delivered."""
        name = signal_name(info.sig)
        code = {0: "SI_USER", 0x80: "SI_KERNEL", -6: "SI_TKILL", -1: "SI_QUEUE", -2: "SI_TIMER"}.get(info.code)
        if info.sig == 17 and info.code > 0 and info.code != 0x80:
            kind = ("", "CLD_EXITED", "CLD_KILLED", "CLD_DUMPED", "CLD_TRAPPED", "CLD_STOPPED", "CLD_CONTINUED")
            detail = f"si_code={kind[info.code]}, si_pid={info.pid}, si_uid={info.uid}, si_status={info.status}"
        elif info.sig in (4, 7, 8, 11) and info.code not in (0, 0x80):
            segv = {1: "SEGV_MAPERR", 2: "SEGV_ACCERR"}.get(info.code, str(info.code))
            detail = f"si_code={segv if info.sig == 11 else info.code}, si_addr={info.addr:#x}"
        elif code == "SI_KERNEL":
            detail = "si_code=SI_KERNEL"
        else:
            detail = f"si_code={code or info.code}, si_pid={info.pid}, si_uid={info.uid}"
        self._emit(task, f"--- {name} {{si_signo={name}, {detail}}} ---")

    def killed(self, task: Task, sig: int) -> None:
        """A signal ended the process."""
        self._emit(task, f"+++ killed by {signal_name(sig)} +++")

    # -- writing -------------------------------------------------------------------------------------------------

    def _emit(self, task: Task, text: str) -> None:
        prefix = f"[pid {task.pid:5d}] " if task.pid != self.first else ""
        with host_code():
            self.emit(prefix + text)

    def _line(self, task: Task, call: str, result: str) -> None:
        self._emit(task, f"{call:<39} {result}" if len(call) < 40 else f"{call} {result}")

    def _exited(self, task: Task, code: int, name: str) -> None:
        self._emit(task, f"+++ exited with {code} +++")

    def _result(self, name: str, ret: int) -> str:
        ret = self.k.regs.signed_word(ret & ((1 << 8 * self.k.arch.word) - 1))
        if -4096 < ret < 0:
            if -ret in RESTART_TEXT:
                return "? " + RESTART_TEXT[-ret]
            error = ERRNO_NAMES.get(-ret, str(-ret))
            return f"-1 {error} ({ERROR_TEXT.get(error, 'Unknown error')})"
        if name in ("brk", "mmap", "mmap2", "mremap") and ret:
            return hex(ret & ((1 << 8 * self.k.arch.word) - 1))
        if name == "umask":
            return octal(ret)
        return str(ret)

    # -- arguments -----------------------------------------------------------------------------------------------

    def _show(self, name: str, position: int, param: Param, value: int, values: list[int]) -> str | None:
        """Text of an argument; None when the kernel will fill it in."""
        printer = PRINTERS.get((name, position))
        signed = _signed(param, value, self.k.arch.word)
        if printer is not None:
            return printer(signed)
        if name == "execve" and position == 1:
            return self._strings(value)
        if name == "execve" and position == 2:
            return self._count(value)
        if name in IN_BUFFERS and IN_BUFFERS[name][0] == position:
            return self._buffer(value, values[IN_BUFFERS[name][1]])
        if OUT_BUFFERS.get(name) == position or (name, position) in OUT_PRINTERS:
            return None
        if param.pointer:
            if "char" in param.ctype and param.name in STRING_NAMES and param.ctype.count("*") == 1:
                return self._string(value)
            return hex(value) if value else "NULL"
        if param.name in ADDRESS_NAMES:
            return hex(value) if value else "NULL"
        if param.name == "fd" and param.size is None:  # mmap's is an unsigned long
            return str(_signed(Param("fd", "int", 4, True, False), value, self.k.arch.word))
        if param.name in ("dfd", "fd", "olddfd", "newdfd", "dirfd") and signed == -100:
            return "AT_FDCWD"
        if param.size is None and not param.signed and value > 0xFFFFFFFF:
            return hex(value)
        return str(signed)

    def _clone(self, values: list[int]) -> str:
        """As strace writes it: named arguments, those of the flags that are given."""
        flag_bits, stack, parent, child, tls = self.k.regs.clone_arguments(*values[:5])
        shown = f"child_stack={hex(stack) if stack else 'NULL'}, flags="
        names = [CLONE(flag_bits & ~0xFF)[2:]] if flag_bits & ~0xFF else []
        shown += "|".join(names + ([signal_name(flag_bits & 0xFF)] if flag_bits & 0xFF else [])) or "0"
        for bit, name, value in ((0x100000, "parent_tid", parent), (0x80000, "tls", tls)):
            shown += f", {name}={value:#x}" if flag_bits & bit else ""
        return shown + (f", child_tidptr={child:#x}" if flag_bits & 0x1200000 else "")

    def _string(self, addr: int) -> str:
        if not addr:
            return "NULL"
        try:
            return quote(self.k.usercopy.strncpy_from_user(addr, 4096), None)
        except KernelError:
            return hex(addr)

    def _buffer(self, addr: int, size: int) -> str:
        try:
            data = bytes(self.k.usercopy.user.read(addr, min(size, STRING_LIMIT)))
        except Fault:
            return hex(addr)
        return quote(data, STRING_LIMIT, size > STRING_LIMIT)

    def _pointers(self, addr: int) -> list[int]:
        out: list[int] = []
        word = self.k.arch.word
        while addr and len(out) < 4096:
            pointer = self.k.usercopy.user.read_uint(addr, word)
            if not pointer:
                break
            out.append(pointer)
            addr += word
        return out

    def _strings(self, addr: int) -> str:
        try:
            return "[" + ", ".join(self._string(p) for p in self._pointers(addr)) + "]"
        except Fault:
            return hex(addr)

    def _count(self, addr: int) -> str:
        try:
            count = len(self._pointers(addr))
        except Fault:
            return hex(addr)
        return f"{addr:#x} /* {count} var{'s' if count != 1 else ''} */"

    def _out(self, name: str, position: int, values: list[int], ret: int) -> str:
        addr = values[position]
        if ret < 0 or not addr:
            return hex(addr) if addr else "NULL"
        try:
            if name in OUT_BUFFERS:
                data = bytes(self.k.usercopy.user.read(addr, min(ret, STRING_LIMIT + 1)))
                if name == "getcwd":
                    return quote(data.split(b"\0")[0], None)
                limit = None if name.startswith("readlink") else STRING_LIMIT
                return quote(data, limit, False)
            return OUT_PRINTERS[name, position](self.k, addr)
        except Fault:
            return hex(addr)


def _signed(param: Param, value: int, word: int) -> int:
    bits = 8 * (param.size or word)
    value &= (1 << bits) - 1
    return value - (1 << bits) if param.signed and value >> (bits - 1) else value


def _fd_pair(k: KernelFace, addr: int) -> str:
    return f"[{k.usercopy.user.read_uint(addr, 4)}, {k.usercopy.user.read_uint(addr + 4, 4)}]"


def _timespec(k: KernelFace, addr: int) -> str:
    word = k.arch.word
    seconds, ns = k.usercopy.user.read_uint(addr, word), k.usercopy.user.read_uint(addr + word, word)
    return f"{{tv_sec={seconds}, tv_nsec={ns}}}"


def _wait_status(k: KernelFace, addr: int) -> str:
    status = k.usercopy.user.read_uint(addr, 4)
    if status & 0x7F == 0:
        code = status >> 8 & 0xFF
        return f"[{{WIFEXITED(s) && WEXITSTATUS(s) == {code}}}]"
    if status & 0xFF == 0x7F:
        return f"[{{WIFSTOPPED(s) && WSTOPSIG(s) == {signal_name(status >> 8 & 0xFF)}}}]"
    return f"[{{WIFSIGNALED(s) && WTERMSIG(s) == {signal_name(status & 0x7F)}}}]"


def _utsname(k: KernelFace, addr: int) -> str:
    names = [bytes(k.usercopy.user.read(addr + 65 * i, 65)).split(b"\0")[0] for i in range(2)]
    return f"{{sysname={quote(names[0])}, nodename={quote(names[1])}, ...}}"


OUT_PRINTERS: dict[tuple[str, int], Callable[[KernelFace, int], str]] = {
    ("pipe", 0): _fd_pair, ("pipe2", 0): _fd_pair, ("clock_gettime", 1): _timespec, ("clock_getres", 1): _timespec,
    ("wait4", 1): _wait_status, ("uname", 0): _utsname, ("newuname", 0): _utsname,
}  # fmt: skip
