"""syslog(2): the kernel log, and how loud the console is.  kernel/printk/printk.c."""

from __future__ import annotations

from arch.abi.capability import CAP_SYS_ADMIN, CAP_SYSLOG
from arch.abi.errno import EINVAL, EPERM
from arch.abi.kern_levels import (
    SYSLOG_ACTION_CLEAR,
    SYSLOG_ACTION_CLOSE,
    SYSLOG_ACTION_CONSOLE_LEVEL,
    SYSLOG_ACTION_CONSOLE_OFF,
    SYSLOG_ACTION_CONSOLE_ON,
    SYSLOG_ACTION_OPEN,
    SYSLOG_ACTION_READ,
    SYSLOG_ACTION_READ_ALL,
    SYSLOG_ACTION_READ_CLEAR,
    SYSLOG_ACTION_SIZE_BUFFER,
    SYSLOG_ACTION_SIZE_UNREAD,
)
from arch.errors import KernelError
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.printk import LOG_BUF_LEN
from simkernel.kernel.security import ask

FOR_EVERYBODY = (SYSLOG_ACTION_READ_ALL, SYSLOG_ACTION_SIZE_BUFFER)  # unless the log is restricted
LOUDEST = 8


def check_syslog_permissions(k: KernelFace, action: int) -> None:
    """EPERM."""
    restricted = k.log.restrict or action not in FOR_EVERYBODY
    if restricted and not (k.capable(CAP_SYSLOG) or k.capable(CAP_SYS_ADMIN)):
        raise KernelError(EPERM, "the log is not for everybody")


@syscall("syslog", "int type, char *buf, int len", source="kernel/printk/printk.c")
def sys_syslog(k: KernelFace, action: int, buf: int, length: int) -> Body:
    """Read the kernel log (dmesg), clear it, ask for its sizes; silence the console.  EINVAL, EPERM, EFAULT, EINTR."""
    log = k.log
    check_syslog_permissions(k, action)
    ask(k, "syslog", action)
    if action in (SYSLOG_ACTION_READ, SYSLOG_ACTION_READ_ALL, SYSLOG_ACTION_READ_CLEAR):
        if not buf or length < 0:
            raise KernelError(EINVAL)
        if not length:
            return 0
        if action == SYSLOG_ACTION_READ:
            while log.read_valid(log.syslog_seq) is None:
                ret = yield k.wait(log.wait)
                if ret < 0:
                    return ret
            data = log.syslog_print(length)
        else:
            data = log.print_all(length, action == SYSLOG_ACTION_READ_CLEAR)
        k.usercopy.copy_to_user(buf, data)
        return len(data)
    if action == SYSLOG_ACTION_CONSOLE_LEVEL:
        if not 1 <= length <= LOUDEST:
            raise KernelError(EINVAL, "no level of the console")
        log.set_console_loglevel(length)
    elif action == SYSLOG_ACTION_CLEAR:
        log.clear()
    elif action == SYSLOG_ACTION_CONSOLE_OFF:
        log.console_off()
    elif action == SYSLOG_ACTION_CONSOLE_ON:
        log.console_on()
    elif action == SYSLOG_ACTION_SIZE_UNREAD:
        return log.unread()
    elif action == SYSLOG_ACTION_SIZE_BUFFER:
        return LOG_BUF_LEN
    elif action not in (SYSLOG_ACTION_CLOSE, SYSLOG_ACTION_OPEN):
        raise KernelError(EINVAL)
    return 0
