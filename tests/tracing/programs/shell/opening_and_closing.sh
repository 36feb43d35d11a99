cd /sys/kernel/tracing
printf '#!/bin/busybox sh\n/w 1\n' > /tmp/s.sh; chmod 755 /tmp/s.sh; printf x > /tmp/bad; chmod 755 /tmp/bad; echo x > /tmp/worse
for f in do_open_execat open_exec path_openat vfs_open do_dentry_open security_file_open alloc_bprm bprm_execve begin_new_exec 'do_execveat_common*' load_script __x64_sys_execve ksys_dup3 do_dup2 close_fd filp_close exit_files put_files_struct ksys_lseek vfs_llseek; do echo $f >> set_ftrace_filter; done
echo function > current_tracer
for c in "/w 1" /tmp/s.sh /tmp/bad /tmp/worse /nosuch; do echo "== $c"; echo > trace; echo 1 > tracing_on; $c 2>/dev/null; echo 0 > tracing_on; grep -v '^#' trace | grep -v kworker | sed 's/^ *//;s/-.*: / /'; done
echo function_graph > current_tracer; echo > trace; echo 1 > tracing_on; /w 1; echo 0 > tracing_on; grep -v '^#' trace | sed 's/^.*|//' | grep -v -e '--' -e '=>' -e '^ *$'
echo nop > current_tracer; echo > set_ftrace_filter
echo 1 > events/syscalls/sys_exit_close/enable; echo 'p:put __fput' > kprobe_events; echo 1 > events/kprobes/put/enable
echo > trace; echo 1 > tracing_on; /w 1; echo 0 > tracing_on; grep 'w-.*:' trace | sed 's/^.*[0-9]: //;s/+0x.*//' | awk '/sys_close/{n++} n==2&&k++<2'
echo 0 > events/enable; echo 'p:open do_open_execat file=+0(+0(%si)):string flags=%dx:x32' > kprobe_events
echo 1 > events/kprobes/open/enable; echo > trace; echo 1 > tracing_on; /tmp/s.sh; echo 0 > tracing_on; grep 'open:' trace | sed 's/^.*open: //;s/+0x.*)/)/'
