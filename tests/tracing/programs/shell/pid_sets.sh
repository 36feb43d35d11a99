# who is followed: sets of pids of events and functions, of forks, of instances, with odd words
cd /sys/kernel/tracing
w() { echo "$2" $3 > $1; echo "[$1 $2] $?"; sed 's/^[0-9]\{2,\}$/PID/' $1; }
for f in set_event_pid set_event_notrace_pid set_ftrace_pid set_ftrace_notrace_pid; do
w $f 1; w $f '1 2 3'; w $f '3 2 2 1'; w $f 0; w $f -1; w $f abc; w $f '5 x 7'; w $f 4194304; w $f 4194303; w $f 99999999999; w $f ' 6  7 '; w $f 0x10; w $f '1,2'
echo 8 >> $f; cat $f; echo >> $f; cat $f; echo > $f; cat $f; : > $f; cat $f; done
n() { grep -v '^#' trace | grep -c "$1"; }
echo 1 > events/syscalls/sys_enter_lseek/enable; echo 1 > events/syscalls/sys_enter_getppid/enable
sh -c 'echo $$ > set_event_pid; exec /w 2 f' ; echo "own: $(n lseek) $(n getppid)"
echo 1 > options/event-fork; echo > trace; sh -c 'echo $$ > set_event_pid; exec /w 2 f' ; echo "forks: $(n lseek) $(n getppid)"; grep -c . set_event_pid
echo 0 > options/event-fork; echo > trace;  sh -c 'echo $$ > set_event_notrace_pid; /w 1; exec /w 2 f'; echo "not: $(n lseek) $(n getppid)"; grep -c . set_event_notrace_pid set_event_pid; echo > set_event_notrace_pid
echo > set_event_pid; echo > trace; sh -c 'echo $$ > set_event_pid; echo $$ > set_event_notrace_pid; exec /w 2'; echo "both: $(n lseek)"; echo > set_event_pid; echo > set_event_notrace_pid
mkdir instances/p; echo 1 > instances/p/events/syscalls/sys_enter_lseek/enable; echo > trace; sh -c 'echo $$ > instances/p/set_event_pid; exec /w 2'; /w 1; echo "inst: $(n lseek) $(grep -c lseek: instances/p/trace) $(grep -c 'lseek(' instances/p/trace)"; cat set_event_pid; rmdir instances/p
echo 0 > events/enable; echo ksys_lseek > set_ftrace_filter; echo function > current_tracer
echo > trace; sh -c 'echo $$ > set_ftrace_pid; exec /w 2 f'; /w 1; echo "fn: $(n ksys_lseek)"
echo 1 > options/function-fork; echo > trace; sh -c 'echo $$ > set_ftrace_pid; /w 3'; echo "fn forks: $(n ksys_lseek)"; echo 0 > options/function-fork
echo > set_ftrace_pid; echo > trace; sh -c 'echo $$ > set_ftrace_notrace_pid; exec /w 2'; /w 1; echo "fn not: $(n ksys_lseek)"; echo > set_ftrace_notrace_pid
echo nop > current_tracer; echo > set_ftrace_filter; echo > trace
echo 1 > events/sched/sched_process_fork/enable; echo 1 > events/sched/sched_process_exit/enable; echo 1 > events/sched/sched_process_exec/enable; echo 1 > events/sched/sched_process_wait/enable
sh -c 'echo $$ > set_event_pid; /w 1 f; :' ; echo 0 > events/enable; grep -v '^#' trace | sed 's/.*[0-9]: //; s/pid=[0-9]*/pid=PID/g'; echo > set_event_pid
