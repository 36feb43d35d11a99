# A child ends its call with an event of its own.
cd /sys/kernel/tracing
go() { echo 1 > tracing_on; echo > trace; for e in $1; do echo 1 > events/$e/enable; done; shift; "$@"; echo 0 > tracing_on; echo 0 > events/enable; grep -v '^#' trace > /tmp/t; sed -E 's/-[0-9]+ +\[000\] [^ ]+ +[0-9.]+: /: /; s/(0x|= |child_tidptr: )[0-9a-f]{2,}/\1N/g; s/^ +//' /tmp/t; }
echo "== sys_exit clone"; go "syscalls/sys_exit_clone syscalls/sys_exit_clone3 syscalls/sys_exit_fork syscalls/sys_exit_vfork" /w 0 f
echo "== enter and exit"; go "syscalls/sys_enter_clone syscalls/sys_exit_clone syscalls/sys_exit_fork syscalls/sys_enter_fork syscalls/sys_enter_exit_group syscalls/sys_enter_getppid syscalls/sys_exit_wait4" /w 0 f
echo 'id == 57 || id == 56 || id == 58 || id == 435 || id == 110' > events/raw_syscalls/sys_exit/filter; echo "== raw"; go "raw_syscalls/sys_exit" /w 0 f
