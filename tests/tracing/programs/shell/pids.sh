# set_event_pid, set_event_notrace_pid: words, what they let through, forks.
cd /sys/kernel/tracing
cat set_event_pid; echo $$ > set_event_pid; [ "$(cat set_event_pid)" = $$ ] && echo mine
echo 1 2 3 > set_event_pid; cat set_event_pid; echo 5 >> set_event_pid; cat set_event_pid | tr '\n' ' '; echo
echo abc > set_event_pid; echo "rc $?"; echo -5 > set_event_pid; echo "rc $?"; echo 99999999 > set_event_pid; echo "rc $?"; echo 4194304 > set_event_pid; echo "rc $?"; echo 0 > set_event_pid; echo "rc $?"; cat set_event_pid
echo '1,2' > set_event_pid; echo "rc $?"; echo '!1' > set_event_pid; echo "rc $?"; cat set_event_pid; echo > set_event_pid; cat set_event_pid; echo "empty"
(echo $BASHPID; sleep 0) > /dev/null
(sh -c 'echo $$ > set_event_pid; echo 1 > events/sched/sched_process_exec/enable; echo 1 > events/syscalls/sys_enter_getppid/enable; exec true')
echo 0 > events/enable; grep -v '^#' trace | grep -c sched_process_exec; echo > trace; echo > set_event_pid
echo 1 > options/event-fork; echo $$ > set_event_pid; echo 1 > events/sched/sched_process_exec/enable; /w true 2> /dev/null; (exec true); (true); echo 0 > events/enable; grep -c sched_process_exec: trace; [ "$(wc -w < set_event_pid)" = 1 ] && echo one; echo 0 > options/event-fork; echo > set_event_pid; echo > trace
echo $$ > set_event_notrace_pid; echo 1 > events/syscalls/sys_enter_write/enable; echo own > /dev/null; /w one > /dev/null 2>&1; echo 0 > events/enable; echo > set_event_notrace_pid; grep -v '^#' trace | grep -c "sh-$$"
cat set_ftrace_pid; echo $$ > set_ftrace_pid; [ "$(cat set_ftrace_pid)" = $$ ] && echo ftrace mine; echo > set_ftrace_pid; cat set_ftrace_pid
cat set_ftrace_notrace_pid; echo 1 > set_ftrace_notrace_pid; cat set_ftrace_notrace_pid; echo > set_ftrace_notrace_pid; cat set_ftrace_notrace_pid
