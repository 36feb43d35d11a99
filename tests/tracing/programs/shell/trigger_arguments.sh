# triggers other than hist: counts, filters, removal, what is refused.
cd /sys/kernel/tracing
t=events/sched/sched_process_exit/trigger
put() { echo "$1" > $t 2>/dev/null; echo "[$1] $?"; tail -n 3 error_log | sed 's/^\[ *[0-9.]*\]/[T]/'; echo > error_log; }
for x in traceoff traceon traceoff:5 traceon:0 'traceoff:x' 'traceoff:-1' 'traceoff:' 'traceoff if pid > 3' 'traceoff:3 if pid > 3' 'traceoff if nosuch > 3' 'traceoff if' 'traceoffx' stacktrace 'stacktrace:3' snapshot 'snapshot:1' 'snapshot:1 if pid == 1' 'enable_event:sched:sched_switch' 'enable_event:sched:sched_switch:3' 'enable_event:sched:nosuch' 'enable_event:sched' 'enable_event' 'disable_event:sched:sched_process_exit' 'enable_hist:sched:sched_switch' 'disable_hist:sched:sched_switch:2' 'enable_hist:nosuch:x' '!traceoff:9' '!traceoff' '!nosuch' '' ' ' '!' 'traceon:1:2' ' traceon' 'traceon '; do put "$x"; cat $t; done
echo '!enable_event:sched:sched_switch:99' > $t; echo $?
cat events/sched/sched_switch/enable
for x in traceon stacktrace snapshot enable_event:sched:sched_switch disable_event:sched:sched_process_exit enable_hist:sched:sched_switch disable_hist:sched:sched_switch; do echo "!$x" > $t 2>/dev/null; echo "!$x $?"; done
cat $t
echo > $t; echo $?
cat events/sched/sched_switch/enable events/sched/sched_process_exit/enable
echo 1 > tracing_on; echo > trace
echo 'traceoff:1' > $t; cat $t; true | true; cat $t tracing_on; echo 1 > tracing_on; true | true; cat tracing_on; echo '!traceoff' > $t
echo 'stacktrace:1 if prio == 120' > $t; true | true; true | true; cat $t; grep -c '<stack trace>' trace; grep -A3 'stack trace' trace | sed 's/.*<stack/<stack/'; echo '!stacktrace if prio == 120' > $t; cat $t; echo '!stacktrace' > $t
for f in events/ftrace/function/trigger events/ftrace/print/trigger events/enable events/sched/trigger; do echo traceoff > $f 2>/dev/null; echo "$f $?"; cat $f 2>/dev/null | head -2; done
echo 'enable_event:syscalls:sys_enter_lseek:1' > events/syscalls/sys_enter_dup3/trigger; echo $?; cat events/syscalls/sys_enter_lseek/enable; echo 1 > events/syscalls/sys_enter_lseek/enable; cat events/syscalls/sys_enter_lseek/enable; echo 0 > events/syscalls/sys_enter_lseek/enable; cat events/syscalls/sys_enter_lseek/enable; echo '!enable_event:syscalls:sys_enter_lseek' > events/syscalls/sys_enter_dup3/trigger; cat events/syscalls/sys_enter_lseek/enable
