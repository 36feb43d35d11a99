"""execve: from a file to a new program.  fs/exec.c, fs/binfmt_script.c; the image of an ELF file is binfmt_elf.py's."""

from __future__ import annotations

from arch.abi.errno import E2BIG, EAGAIN, EFAULT, EINVAL, ELOOP, ENOENT, ENOEXEC
from arch.abi.fcntl import AT_EMPTY_PATH, AT_FDCWD, AT_SYMLINK_NOFOLLOW
from arch.abi.limits import PAGE_SIZE, TASK_COMM_LEN
from arch.abi.ptrace import PTRACE_EVENT_EXEC
from arch.abi.signal import SI_KERNEL, SIGSEGV
from arch.errors import KernelError
from simkernel.kernel.calls.posix_timers import exit_itimers
from simkernel.kernel.exec_creds import bprm_creds
from simkernel.kernel.exec_open import interpreter, opened
from simkernel.kernel.exec_state import ExecRequest, LinuxBinprm
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.ptrace.stops import report_exec
from simkernel.kernel.sched import cond_resched
from simkernel.kernel.security import ask, may, prepare_creds, tell_subject
from simkernel.kernel.sigpending import DEFAULT_ACTION, after_exec
from simkernel.kernel.syscall_user_dispatch import WORK_USER_DISPATCH
from simkernel.kernel.task import PF_FORKNOEXEC, PF_NOFREEZE

MAX_ARG_STRLEN = 32 * PAGE_SIZE
MAX_RECURSION = 5
PERMISSION_READ = 4  # MAY_READ, include/linux/fs.h


def read_strings(k: KernelFace, array: int, limit: int = 0x20000) -> list[bytes]:
    """A NULL-terminated array of user strings.  EFAULT, E2BIG."""
    out: list[bytes] = []
    word = k.arch.word
    while array:
        pointer = k.usercopy.get_user(array, word)
        if not pointer:
            break
        try:
            out.append(k.usercopy.strncpy_from_user(pointer, MAX_ARG_STRLEN))
        except KernelError as error:
            raise KernelError(EFAULT if error.errno == EFAULT else E2BIG) from None
        if len(out) > limit:
            raise KernelError(E2BIG)
        array += word
    return out


@syscall(
    "execve",
    "const char *filename, const char *const *argv, const char *const *envp",
    source="fs/exec.c",
)
def sys_execve(k: KernelFace, filename: int, argv: int, envp: int) -> Body:
    """Run another program in this process.  ENOENT, EACCES, ENOEXEC, E2BIG, EFAULT, ENOMEM."""
    return (yield from _execve(k, AT_FDCWD, filename, argv, envp, 0))


@syscall(
    "execveat",
    "int fd, const char *filename, const char *const *argv, const char *const *envp, int flags",
    source="fs/exec.c",
    since="3.19",
)
def sys_execveat(k: KernelFace, fd: int, filename: int, argv: int, envp: int, flags: int) -> Body:
    """The same relative to a directory descriptor."""
    return (yield from _execve(k, fd, filename, argv, envp, flags))


def _execve(k: KernelFace, fd: int, filename: int, argv: int, envp: int, flags: int) -> Body:
    name = k.usercopy.strncpy_from_user(filename, 4096)
    if not name and not flags & AT_EMPTY_PATH:
        raise KernelError(ENOENT)
    k.exec.request = ExecRequest(fd, name, read_strings(k, argv), read_strings(k, envp), flags)
    if flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW):
        raise KernelError(EINVAL)
    address = k.mirror.filename_memory(name, filename)
    ret: int = yield k.call("do_execveat_common", fd, address, argv, envp, flags)
    k.mem.free(address)
    if not ret:
        return k.regs.signed_word(k.regs.get(k.current.regs, k.abi.result))
    return ret


@kernel_function(
    "int do_execveat_common(int fd, struct filename *filename, const char *const *argv, const char *const *envp, "
    "int flags)",
    source="fs/exec.c",
    names={None: "do_execve_common", "3.19": "do_execveat_common", "6.1": "do_execveat_common.isra.0"},
)
def do_execveat_common(k: KernelFace, fd: int, filename: int, argv: int, envp: int, flags: int) -> Body:
    """Open the file, find its format, replace the image."""
    request, k.exec.request = k.exec.request, None
    assert request is not None
    fd, name, args, env, flags = request.fd, request.name, request.argv, request.envp, request.flags
    limit = max(k.current.rlimits[3][0], 128 * 1024) // 4 if k.current.rlimits[3][0] > 0 else 6 << 20
    if sum(len(s) + 1 + k.arch.word for s in (*args, *env)) > limit:
        raise KernelError(E2BIG)
    prepare_creds(k)
    early = None if k.version.at_least("5.9") else (yield from opened(k, filename, request))
    shown = name if fd == AT_FDCWD or name.startswith(b"/") else b"/dev/fd/%d" % fd + (b"/" + name if name else b"")
    bprm = LinuxBinprm(shown, request)
    files = k.current.files
    bprm.by_cloexec_fd = (
        shown is not name and files is not None and fd in files.close_on_exec
    )  # BINPRM_FLAGS_PATH_INACCESSIBLE
    if early is not None:
        bprm.give(early)
        bprm.addr = k.mirror.binprm_memory(bprm)
    else:
        k.exec.fresh = bprm
        ret = yield k.call("alloc_bprm", fd, filename, *((flags,) if k.version.at_least("6.8") else ()))
        if not bprm.addr:
            return ret
    k.exec.binprms.append(bprm)
    try:
        return (yield k.call("bprm_execve", bprm.addr, fd, filename, flags))
    finally:
        k.exec.binprms.remove(bprm)
        if bprm.opened:
            bprm.file.put()
        k.mem.free(bprm.addr)
        if bprm.interp_addr:
            k.mem.free(bprm.interp_addr)


@kernel_function(
    "struct linux_binprm *alloc_bprm(int fd, struct filename *filename)", source="fs/exec.c", since="5.9", until="6.8"
)
def alloc_bprm(k: KernelFace, fd: int, filename: int) -> int:
    """Room for what is known of the new program."""
    bprm = k.exec.taken()
    bprm.addr = k.mirror.binprm_memory(bprm)
    return bprm.addr


@kernel_function(
    "struct linux_binprm *alloc_bprm(int fd, struct filename *filename, int flags)", source="fs/exec.c", since="6.8"
)
def alloc_bprm_6_8(k: KernelFace, fd: int, filename: int, flags: int) -> Body:
    """The same, behind the open."""
    bprm = k.exec.taken()
    bprm.give((yield from opened(k, filename, bprm.request)))
    bprm.addr = k.mirror.binprm_memory(bprm)
    return bprm.addr


@kernel_function(
    "int bprm_execve(struct linux_binprm *bprm, int fd, struct filename *filename, int flags)", source="fs/exec.c"
)
def bprm_execve(k: KernelFace, address: int, fd: int, filename: int, flags: int) -> Body:
    """Under task->in_execve, which security hooks look at."""
    task = k.current.addr
    k.mirror.set_field(task, "task_struct", "in_execve", 1)
    try:
        return (yield from _try_formats(k, address, filename))
    finally:
        k.mirror.set_field(task, "task_struct", "in_execve", 0)


def _try_formats(k: KernelFace, address: int, filename: int) -> Steps[int]:
    """Try the formats; #! scripts name another file, a few levels deep."""
    bprm = k.exec.at(address)
    task = k.current
    if not bprm.opened:
        bprm.give((yield from opened(k, filename, bprm.request)))
    ask(k, "bprm_creds_for_exec", address)
    old_pid = task.pid
    for _ in range(MAX_RECURSION + 1):
        bprm.head = bprm.file.read_at(0, 256)
        k.mirror.set_field(address, "linux_binprm", "file", bprm.file.addr)
        if "file_permission" in k.security_hooks.watched:  # kernel_read() of the first bytes
            ask(k, "file_permission", bprm.file.addr, PERMISSION_READ)
        refused = yield from may(k, "security_bprm_check", address)
        if refused:
            return refused
        if k.security_hooks.watched:
            _measured(k, bprm)
        script = bprm.head[:2] == b"#!"
        if not script and k.text.any_probed((), ("load_script",)):
            yield k.call("load_script", address)
        if not script:
            break
        if bprm.by_cloexec_fd:
            raise KernelError(ENOENT, "the interpreter could not open it: the descriptor closes on exec")
        refused = yield k.call("load_script", address)
        if refused:
            return refused
    else:
        raise KernelError(ELOOP)
    if bprm.head[:4] != b"\x7fELF":
        raise KernelError(ENOEXEC)
    bprm.cred, bprm.secure = bprm_creds(k, bprm)
    if k.security_hooks.watched:
        _looked_into(k, bprm)
    ret: int = yield k.call("load_elf_binary", address)
    if ret:
        return ret
    k.trace("sched_process_exec", task.addr, old_pid, address)
    yield from report_exec(k, PTRACE_EVENT_EXEC, old_pid)
    return 0


def _measured(k: KernelFace, bprm: LinuxBinprm) -> None:
    """ima_bprm_check(): who runs it, and as whom."""
    tell_subject(k)
    if "cred_getsecid" in k.security_hooks.watched:
        secid = k.mem.alloc(4)
        k.security_hooks.call("cred_getsecid", (k.current.cred.addr, secid))
        k.mem.free(secid)


def _looked_into(k: KernelFace, bprm: LinuxBinprm) -> None:
    """The program headers are read, bprm_creds_from_file(), would_dump()."""
    ask(k, "file_permission", bprm.file.addr, PERMISSION_READ)
    ask(k, "bprm_creds_from_file", bprm.addr, bprm.file.addr)
    if "inode_permission" in k.security_hooks.watched:
        k.security_hooks.call("inode_permission", (k.vfs.inode_address(bprm.file.inode), PERMISSION_READ))


@kernel_function("int load_script(struct linux_binprm *bprm)", source="fs/binfmt_script.c")
def load_script(k: KernelFace, address: int) -> Body:
    """`#! interpreter argument`.  ENOEXEC for another format."""
    bprm = k.exec.at(address)
    if bprm.head[:2] != b"#!":
        return -ENOEXEC
    line = bprm.head[2:].split(b"\n", 1)
    if len(line) == 1 and len(bprm.head) >= 256 and not line[0].strip(b" \t").partition(b" ")[1]:
        raise KernelError(ENOEXEC)
    words = line[0].strip(b" \t\r\0").split(None, 1)
    if not words:
        raise KernelError(ENOEXEC)
    interp = words[0]
    extra = [words[1]] if len(words) > 1 else []
    bprm.argv = [interp, *extra, bprm.filename if bprm.interp == bprm.filename else bprm.interp, *bprm.argv[1:]]
    bprm.interp = interp
    if bprm.interp_addr:
        k.mem.free(bprm.interp_addr)
    bprm.interp_addr = int(k.mem.alloc(len(interp) + 1))  # bprm_change_interp()
    k.mem.write(bprm.interp_addr, interp + b"\0")
    k.mirror.set_field(address, "linux_binprm", "interp", bprm.interp_addr)
    script = bprm.give((yield from interpreter(k, interp)))
    assert script is not None
    script.put()
    return 0


@kernel_function(
    "int begin_new_exec(struct linux_binprm *bprm)",
    source="fs/exec.c",
    names={None: "flush_old_exec", "5.8": "begin_new_exec"},
)
def begin_new_exec(k: KernelFace, address: int) -> Body:
    """The point of no return: other threads end, a fresh address space, signals and descriptors reset."""
    bprm = k.exec.at(address)
    task = k.current
    k.trace("sched_prepare_exec", task.addr, address)
    ret: int = yield from _de_thread(k)
    if ret:
        return ret
    ret = yield k.call("exec_mmap", 0)
    if ret:  # the old program is gone, and there is no memory for the new one
        k.signals.force(task, SIGSEGV, SI_KERNEL, 0)
        return ret
    assert task.mm is not None
    task.mm.exe_file = bprm.file
    bprm.file.get()
    k.mirror.change_flags(task, 0, PF_FORKNOEXEC | PF_NOFREEZE)
    assert bprm.cred is not None
    task.dumpable = k.tasks.suid_dumpable if bprm.secure else 1
    if bprm.secure:
        task.pdeath_signal = 0
    ask(k, "bprm_committing_creds", address)
    task.cred = bprm.cred
    task.thread_keyring = task.process_keyring = None
    task.onexec = ""
    k.mirror.publish_cred(task)
    ask(k, "bprm_committed_creds", address)
    task.clear_child_tid = task.robust_list = task.rseq = 0
    task.restart = task.user_dispatch = None
    task.syscall_work &= ~WORK_USER_DISPATCH
    exit_itimers(k, task)
    signal = task.signal
    signal.actions = [DEFAULT_ACTION, *map(after_exec, signal.actions[1:])]
    task.sas_sp = task.sas_size = task.sas_flags = 0
    task.self_exec_id += 1
    k.mirror.store_own_memory(task)
    yield k.call("do_close_on_exec", k.mirror.get_field(task.addr, "task_struct", "files"))
    k.hw_breakpoints.flush(task)
    k.exec.perf_event_exec(task)
    name = bprm.filename.rsplit(b"/", 1)[-1][: TASK_COMM_LEN - 1]
    yield k.call("__set_task_comm", task.addr, k.mirror.scratch_string(name), 1)
    return 0


def _de_thread(k: KernelFace) -> Body:
    """de_thread(): end the others; a thread that execs becomes the leader and takes its pid."""
    task = k.current
    signal = task.signal
    if signal.group_exiting or signal.group_exec_task is not None:
        return -EAGAIN
    signal.group_exec_task = task
    k.signals.kill_other_threads(task)
    while any(t is not task and not t.exit_state for t in signal.threads):
        yield k.wait(signal.wait_chldexit, interruptible=False)
    signal.group_exec_task = None
    leader = task.group_leader
    if leader is not task:
        k.tasks.take_identity(task, leader)
        k.threads.dead.append(leader)
    return 0


@kernel_function("int exec_mmap(struct mm_struct *mm)", source="fs/exec.c", inlined=True)
def exec_mmap(k: KernelFace, mm: int) -> Body:
    """Swap the address space for an empty one."""
    task = k.current
    old = task.mm
    yield k.call("mm_release", task.addr, old.addr if old is not None else 0)
    if old is not None:
        yield from cond_resched(k)  # mmap_read_lock_killable(): who waited for vfork runs on
    k.mm.replace(task)
    return 0


@kernel_function("void __set_task_comm(struct task_struct *tsk, const char *buf, bool exec)", source="fs/exec.c")
def __set_task_comm(k: KernelFace, tsk: int, buf: int, exec_: int) -> int:
    """Rename a task: at most 15 bytes."""
    task = k.tasks.at(tsk)
    name = k.mem.read(buf, TASK_COMM_LEN).split(b"\0", 1)[0]
    k.trace("task_rename", tsk, buf)
    k.mirror.set_comm(task, name.decode("latin-1")[: TASK_COMM_LEN - 1])
    return 0
