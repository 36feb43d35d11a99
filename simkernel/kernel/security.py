"""The security hooks that tools watch.  security/security.c.

The one security module is BPF's: a hook asks the programs attached to its bpf_lsm_ function, and allows if there are none.
Where nobody has a probe on either a hook costs a comparison.
"""

from __future__ import annotations

from arch.abi.errno import ENOMEM
from arch.abi.internal import GFP_KERNEL, GFP_KERNEL_ACCOUNT, GFP_ZERO
from arch.abi.mman import PROT_EXEC
from arch.errors import KernelError
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.lsm_hooks import HOOKS, function_of
from simkernel.mm.kmalloc import kfree, kmalloc

SECURITY = "security/security.c"


LSM = "bpf_lsm_"
HOOK_OF = {function_of(hook): hook for hook in HOOKS}
TASK_BLOB = 72  # what the modules of Debian's kernel keep of a task, in bytes


@kernel_function(
    "int security_task_alloc(struct task_struct *task, unsigned long clone_flags)", source=SECURITY, since="4.14"
)
def security_task_alloc(k: KernelFace, task: int, flags: int) -> Body:
    """Room for what modules know of a new task; nobody writes to it."""
    k.tasks.at(task).security = kmalloc(k, TASK_BLOB, GFP_KERNEL | GFP_ZERO, "security_task_alloc")
    refused = yield from call_int_hook(k, "task_alloc", task, flags)
    if refused:
        security_task_free(k, task)
    return refused


@kernel_function("void security_task_free(struct task_struct *task)", source=SECURITY)
def security_task_free(k: KernelFace, task: int) -> int:
    """A task is gone."""
    gone = k.tasks.at(task)
    ask(k, "task_free", task)
    blob, gone.security = gone.security, 0
    if blob:
        kfree(k, blob, "security_task_free")
    return 0


@kernel_function("int security_inode_create(struct inode *dir, struct dentry *dentry, umode_t mode)", source=SECURITY)
def security_inode_create(k: KernelFace, dir_: int, dentry: int, mode: int) -> Body:
    """May a regular file be made?"""
    return (yield from call_int_hook(k, "inode_create", dir_, dentry, mode))


@kernel_function("int security_inode_unlink(struct inode *dir, struct dentry *dentry)", source=SECURITY)
def security_inode_unlink(k: KernelFace, dir_: int, dentry: int) -> Body:
    """May a name be removed?"""
    return (yield from call_int_hook(k, "inode_unlink", dir_, dentry))


@kernel_function("int security_inode_mkdir(struct inode *dir, struct dentry *dentry, umode_t mode)", source=SECURITY)
def security_inode_mkdir(k: KernelFace, dir_: int, dentry: int, mode: int) -> Body:
    """May a directory be made?"""
    return (yield from call_int_hook(k, "inode_mkdir", dir_, dentry, mode))


@kernel_function("int security_file_open(struct file *file)", source=SECURITY, since="4.19")
def security_file_open(k: KernelFace, file: int) -> Body:
    """May a file be opened as it was asked for?"""
    return (yield from call_int_hook(k, "file_open", file))


@kernel_function("int security_file_open(struct file *file, const struct cred *cred)", source=SECURITY, until="4.19")
def security_file_open_4_18(k: KernelFace, file: int, cred: int) -> Body:
    """The form with credentials."""
    return (yield from call_int_hook(k, "file_open", file, cred))


@kernel_function("int security_inode_getattr(const struct path *path)", source=SECURITY, since="4.2")
def security_inode_getattr(k: KernelFace, path: int) -> Body:
    """May attributes be read?"""
    return (yield from call_int_hook(k, "inode_getattr", path))


@kernel_function("int security_create_user_ns(const struct cred *cred)", source=SECURITY, since="6.1")
def security_create_user_ns(k: KernelFace, cred: int) -> Body:
    """May a namespace of users be made?"""
    return (yield from call_int_hook(k, "userns_create", cred))


@kernel_function("int security_bpf(int cmd, union bpf_attr *attr, unsigned int size)", source=SECURITY, since="4.15")
def security_bpf(k: KernelFace, cmd: int, attr: int, size: int) -> Body:
    """May bpf(2) do that?"""
    return (yield from call_int_hook(k, "bpf", cmd, attr, size))


# Hooks that only ask, at the places where the kernel calls them.  include/linux/security.h
ASKING = (
    "int security_socket_create(int family, int type, int protocol, int kern)",
    "int security_socket_post_create(struct socket *sock, int family, int type, int protocol, int kern)",
    "int security_socket_socketpair(struct socket *socka, struct socket *sockb)",
    "int security_socket_bind(struct socket *sock, struct sockaddr *address, int addrlen)",
    "int security_socket_connect(struct socket *sock, struct sockaddr *address, int addrlen)",
    "int security_socket_listen(struct socket *sock, int backlog)",
    "int security_socket_accept(struct socket *sock, struct socket *newsock)",
    "int security_socket_sendmsg(struct socket *sock, struct msghdr *msg, int size)",
    "int security_socket_recvmsg(struct socket *sock, struct msghdr *msg, int size, int flags)",
    "int security_socket_getsockname(struct socket *sock)",
    "int security_socket_getpeername(struct socket *sock)",
    "int security_socket_setsockopt(struct socket *sock, int level, int optname)",
    "int security_socket_getsockopt(struct socket *sock, int level, int optname)",
    "int security_socket_shutdown(struct socket *sock, int how)",
    "int security_bprm_check(struct linux_binprm *bprm)",
)


def _declare(prototype: str) -> None:
    hook = prototype.split("security_")[1].split("(")[0]
    lsm = HOOK_OF[f"security_{hook}"]

    def asking(k: KernelFace, *args: int) -> Body:
        return (yield from call_int_hook(k, lsm, *args))

    kernel_function(prototype, source=SECURITY)(asking)


for _prototype in ASKING:
    _declare(_prototype)


def call_int_hook(k: KernelFace, hook: str, *args: int) -> Body:
    """`yield from`: what the programs of a hook say."""
    name = f"{LSM}{hook}"
    return (yield k.call(name, *args)) if k.text.probed.get(name) else 0


def ask(k: KernelFace, hook: str, *args: int) -> None:
    """A hook at a place where the CPU calls no function: KernelError if a program refuses.  Who has to make its arguments looks at
    `k.security_hooks.watched` before."""
    if hook in k.security_hooks.watched:
        answer = k.security_hooks.call(hook, args)
        if answer < 0:
            raise KernelError(-answer)


def prepare_creds(k: KernelFace) -> None:
    """prepare_creds(): a copy of the current task's credentials, for who asks about it; the copy itself is Python's."""
    if "cred_prepare" in k.security_hooks.watched:
        mine = k.current.cred.addr
        copy = k.mem.alloc(k.types.sizeof("struct cred"))
        try:
            ask(k, "cred_prepare", copy, mine, GFP_KERNEL_ACCOUNT)
        except KernelError:
            raise KernelError(ENOMEM, "no copy of the credentials") from None
        finally:
            k.mem.free(copy)


def ask_mmap(k: KernelFace, file: int, prot: int, flags: int) -> None:
    """security_mmap_file() of a file or 0, and ima_file_mmap() of one that is to be executed."""
    if k.security_hooks.watched:
        ask(k, "mmap_file", file, prot, prot, flags)
        if file and prot & PROT_EXEC:
            tell_subject(k)


def tell_subject(k: KernelFace) -> None:
    """security_current_getsecid_subj(), by which integrity's modules name the caller; no number is kept."""
    if "current_getsecid_subj" in k.security_hooks.watched:
        secid = k.mem.alloc(4)
        k.security_hooks.call("current_getsecid_subj", (secid,))
        k.mem.free(secid)


def hook_probed(k: KernelFace, hook: str) -> bool:
    """Would calling `security_x` be seen by somebody?"""
    return HOOK_OF[hook] in k.security_hooks.watched


def may(k: KernelFace, hook: str, *args: int) -> Body:
    """`yield from`: call a hook that has a probe; 0 otherwise."""
    if hook_probed(k, hook):
        return (yield k.call(hook, *args))
    return 0
