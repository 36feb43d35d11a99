"""Who is refused a BPF token.  kernel/bpf/token.c.

A token hands on rights over BPF to a user namespace, through a bpffs that was made for it.  Every super block of bpffs here
belongs to the initial namespace, which needs no tokens.
"""

from __future__ import annotations

from arch.abi.capability import CAP_BPF
from arch.abi.errno import EINVAL, EOPNOTSUPP, EPERM
from arch.errors import KernelError
from simkernel.fs.bpffs import BpfSuper
from simkernel.kernel.user_namespace import user_ns
from simkernel.observe.face import WatchedKernel


def token_refused(k: WatchedKernel, fd: int) -> KernelError:
    """bpf_token_create(): the first check that fails.  EBADF."""
    path = k.vfs.fget(fd).f_path
    if path.dentry is not path.mnt.mnt_sb.s_root or not isinstance(path.mnt.mnt_sb, BpfSuper):
        return KernelError(EINVAL, "not the root of a bpffs")
    if user_ns(k.current) is not None or not k.capable(CAP_BPF):
        return KernelError(EPERM, "not in the namespace that it was made for")
    return KernelError(EOPNOTSUPP, "the initial namespace needs no token")
