# trace_marker and its raw sister, printk formats, saved names, error_log, events' files.
cd /sys/kernel/tracing
m() { grep -v '^#' trace | sed 's/.*: \(tracing_mark\|[0-9a-f#]\)/\1/; s/ 6c .*/ 6c/'; echo > trace; }
printf 'no newline' > trace_marker; m
printf 'two\nlines\n' > trace_marker; m
printf '' > trace_marker; echo $?; m
printf 'null\0inside' > trace_marker; m
head -c 5000 /dev/zero | tr '\0' 'a' > trace_marker; echo $?; grep -v '^#' trace | wc -lc | sed 's/ *//'; echo > trace
head -c 1200 /dev/zero | tr '\0' 'b' > trace_marker; grep -v '^#' trace | tr -cd 'b\n' | wc -lc; echo > trace
printf "\001\000\000\000abcdefghijkl" > trace_marker_raw; echo $?; m
printf '\001' > trace_marker_raw 2>/dev/null; echo $?; printf '\001\000\000\000' > trace_marker_raw 2>/dev/null; echo $?; echo > trace
head -c 4000 /dev/zero > trace_marker_raw 2>/dev/null; echo $?; grep -v "^#" trace | wc -l; echo > trace
cat trace_marker 2>&1 | head -1; echo 0 > options/markers; echo x > trace_marker; echo $?; echo 1 > options/markers; echo 0 > tracing_on; echo x > trace_marker; echo $?; echo 1 > tracing_on
printf 'tab\there "quoted" %%d \\ back\n' > trace_marker; m
printf 'utf8 \303\244 and \001 control\n' > trace_marker; m
cat error_log | wc -l; echo 'hist:keys=x' > events/sched/sched_switch/trigger 2>/dev/null; echo 'bad ~~' > events/sched/sched_switch/filter; echo 'p:' > kprobe_events; sed 's/^\[ *[0-9.]*\]/[T]/' error_log; i=0; while [ $i -lt 12 ]; do echo "x$i == 1" > events/sched/sched_switch/filter; i=$((i+1)); done 2>/dev/null; grep -c error error_log; grep Command error_log | head -2; echo > error_log; cat error_log | wc -l
for f in 'sched:sched_switch' 'sched:*' '!sched:*' 'sched:nosuch' 'nosuch:*' '*:sched_switch' 'sched_switch' '!sched_switch' ':' '*:*:*' 'sched' '!sched' 'syscalls:sys_enter_op*' '!*:*' '' '#comment' 'sched:sched_switch sched:sched_waking'; do echo "$f" > set_event 2>/dev/null; echo "[$f] $? $(grep -c . set_event)"; done; echo > set_event
for v in 0 1 2 x '' -1 '1 ' 10; do echo "$v" > events/sched/sched_switch/enable 2>/dev/null; echo "[$v] $? $(cat events/sched/sched_switch/enable events/sched/enable events/enable | tr '\n' ' ')"; done; echo 0 > events/sched/sched_switch/enable
cat events/header_page events/header_event
cat events/sched/sched_switch/hist | head -3; cat events/sched/sched_switch/inject 2>&1 | head -1; echo 'prev_pid=1' > events/sched/sched_switch/inject 2>/dev/null; echo $?
for v in 1 '1 2 3' '-1' x '' 0 99999999; do echo "$v" > set_event_pid 2>/dev/null; echo "[$v] $? $(cat set_event_pid | tr '\n' ' ')"; done; echo 5 >> set_event_pid; cat set_event_pid | wc -l; echo > set_event_pid
ls -l set_event_pid set_event_notrace_pid set_ftrace_pid README printk_formats trace_marker trace_pipe free_buffer events/enable events/sched/sched_switch/id events/sched/sched_switch/format error_log | cut -c1-10
