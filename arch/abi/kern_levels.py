"""Levels and facilities of lines of the kernel log, and what syslog(2) does with it.  include/linux/kern_levels.h, include/linux/syslog.h."""

from __future__ import annotations

KERN_EMERG, KERN_ALERT, KERN_CRIT, KERN_ERR, KERN_WARNING, KERN_NOTICE, KERN_INFO, KERN_DEBUG = range(8)

LOG_KERN, LOG_USER = 0, 1  # facilities: the kernel's own lines, and those of user space that name none

# syslog(2): include/linux/syslog.h
SYSLOG_ACTION_CLOSE, SYSLOG_ACTION_OPEN, SYSLOG_ACTION_READ, SYSLOG_ACTION_READ_ALL = range(4)
SYSLOG_ACTION_READ_CLEAR, SYSLOG_ACTION_CLEAR, SYSLOG_ACTION_CONSOLE_OFF, SYSLOG_ACTION_CONSOLE_ON = range(4, 8)
SYSLOG_ACTION_CONSOLE_LEVEL, SYSLOG_ACTION_SIZE_UNREAD, SYSLOG_ACTION_SIZE_BUFFER = range(8, 11)
