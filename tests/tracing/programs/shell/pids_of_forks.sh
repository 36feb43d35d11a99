# set_event_pid, notrace, event-fork, function-fork, set_ftrace_pid with children
cd /sys/kernel/tracing
c() { grep -c "$1" trace; echo > trace; }
echo 1 > events/syscalls/sys_enter_getppid/enable
sh -c 'echo $$ > set_event_pid; exec /w 3 f'; c getppid; wc -l < set_event_pid; echo > set_event_pid
echo 1 > options/event-fork; sh -c 'echo $$ > set_event_pid; exec /w 3 f'; c getppid; cat set_event_pid | wc -l; echo 0 > options/event-fork; echo > set_event_pid
sh -c 'echo $$ > set_event_notrace_pid; exec /w 3 f'; c getppid; echo > set_event_notrace_pid
echo 1 > options/event-fork; sh -c 'echo $$ > set_event_notrace_pid; exec /w 3 f'; c getppid; cat set_event_notrace_pid | wc -l; echo 0 > options/event-fork; echo > set_event_notrace_pid
sh -c 'echo $$ > set_event_pid; echo $$ > set_event_notrace_pid; exec /w 3'; c getppid; echo > set_event_notrace_pid; echo > set_event_pid
echo 0 > events/enable; echo __x64_sys_getppid __do_sys_getppid > set_ftrace_filter; cat set_ftrace_filter; echo __do_sys_getppid > set_ftrace_filter; echo function > current_tracer
sh -c 'echo $$ > set_ftrace_pid; exec /w 3 f'; c getppid; cat set_ftrace_pid | wc -l; echo > set_ftrace_pid
echo 1 > options/function-fork;  sh -c 'echo $$ > set_ftrace_pid; exec /w 3 f'; c getppid; cat set_ftrace_pid | wc -l; echo > set_ftrace_pid; cat set_ftrace_pid; echo 0 > options/function-fork
sh -c 'echo $$ > set_ftrace_notrace_pid; exec /w 3 f'; c getppid; echo > set_ftrace_notrace_pid; cat set_ftrace_notrace_pid
echo function_graph > current_tracer; sh -c 'echo $$ > set_ftrace_pid; exec /w 3 f'; c getppid; echo > set_ftrace_pid; sh -c 'echo $$ > set_ftrace_notrace_pid; exec /w 2 f'; c getppid; echo > set_ftrace_notrace_pid; echo nop > current_tracer; echo > set_ftrace_filter
echo 99 98 97 > set_ftrace_pid; cat set_ftrace_pid; echo 96 >> set_ftrace_pid; cat set_ftrace_pid; echo x > set_ftrace_pid; echo rc $?; cat set_ftrace_pid; echo -1 > set_ftrace_pid; echo rc $?; echo 1073741824 > set_ftrace_pid; echo rc $?; echo 4194305 > set_ftrace_pid; echo rc $?; echo > set_ftrace_pid; cat set_ftrace_pid
mkdir instances/p; echo 1 > instances/p/events/syscalls/sys_enter_getppid/enable; sh -c 'echo $$ > instances/p/set_event_pid; exec /w 4'; /w 2; grep -c getppid instances/p/trace; cat set_event_pid; rmdir instances/p
printf '1 2\n3\t4' > set_event_pid; cat set_event_pid; printf '' > set_event_pid; cat set_event_pid; printf '5' >> set_event_pid;  cat set_event_pid; printf '0x10 010' > set_event_pid; cat set_event_pid; echo '7 bad 8' > set_event_pid; echo rc $?; cat set_event_pid; echo > set_event_pid
