# Commands of set_ftrace_filter that act: which acts first, what their counts say, how they are taken away.
cd /sys/kernel/tracing
e() { "$@"; echo "rc $?"; }
add() { e sh -c "echo '$1' >> set_ftrace_filter"; }
show() { grep : set_ftrace_filter | sort; cat tracing_on; }
add 'ksys_lseek:traceoff:2'; add 'ksys_lseek:traceon'; show
/w 1; show; /w 1; show; /w 2; show
add '!ksys_lseek:traceoff'; show
add '!ksys_lseek:traceon'; show
add 'ksys_lseek:traceon:2';  add 'ksys_lseek:traceoff'; show; /w 1; show; /w 3; show
add '!ksys_lseek:traceoff';  show; add '!ksys_lseek:traceon:7'; show; echo 1 > tracing_on
add 'ksys_lseek:enable_event:syscalls:sys_enter_getppid:3'; show
cat events/syscalls/sys_enter_getppid/enable
/w 2; show; grep -c getppid trace; cat events/syscalls/sys_enter_getppid/enable
add 'ksys_lseek:disable_event:syscalls:sys_enter_getppid'; show
/w 2; show; grep -c getppid trace; cat events/syscalls/sys_enter_getppid/enable
add '!ksys_lseek:enable_event:syscalls:sys_enter_getppid'; show; cat events/syscalls/sys_enter_getppid/enable
add '!ksys_lseek:disable_event:syscalls:sys_enter_getppid'; show; cat events/syscalls/sys_enter_getppid/enable
add 'ksys_lseek:enable_event:syscalls:sys_enter_getppid:2'; add '!ksys_lseek:enable_event:syscalls:sys_enter_getppid:2'; show
add 'ksys_lseek:disable_event:syscalls:sys_enter_getppid:1'; echo 1 > events/syscalls/sys_enter_getppid/enable;  cat events/syscalls/sys_enter_getppid/enable; echo > trace
/w 2; show; grep -c getppid trace; cat events/syscalls/sys_enter_getppid/enable
add '!ksys_lseek:disable_event:syscalls:sys_enter_getppid'; show; cat events/syscalls/sys_enter_getppid/enable; echo 0 > events/enable; echo > trace
add 'ksys_lseek:stacktrace:2'; show; /w 3; show; grep -c 'stack trace' trace; add '!ksys_lseek:stacktrace'; show
echo > trace; add 'ksys_lseek:snapshot:1'; show; echo before > trace_marker; /w 1; show; grep -c before snapshot; cat snapshot | tail -1 | sed 's/.*: //'; add '!ksys_lseek:snapshot'; show
add 'ksys_lseek:traceoff:1'; add 'ksys_lseek:traceoff:3'; show
add 'ksys_l*:traceoff'; show; add '!ksys_l*:traceoff'; show
add 'ksys_lseek:traceoff:1'; echo > set_ftrace_filter; show; add '!ksys_lseek:traceoff'
add 'ksys_lseek:traceoff:0'; add 'ksys_lseek:traceoff:'; add 'ksys_lseek:traceoff:-1'; add 'ksys_lseek:traceoff:1x'; add ':traceoff'; add 'ksys_lseek:'; show; add '!ksys_lseek:traceoff'
cat buffer_size_kb; mkdir instances/a; echo 'ksys_lseek:traceoff:1' > instances/a/set_ftrace_filter; cat instances/a/set_ftrace_filter; cat instances/a/tracing_on;  /w 1;  cat instances/a/tracing_on; grep : set_ftrace_filter instances/a/set_ftrace_filter; rmdir instances/a; echo rc $?
