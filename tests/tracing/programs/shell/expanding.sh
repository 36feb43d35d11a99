# What makes buffers full-sized.
cd /sys/kernel/tracing
s() { "$@"; echo "$1 $2 $3: $(cat buffer_size_kb)"; }
w() { echo "$1" >> $2; echo "$2 $1: $(cat buffer_size_kb)"; }
echo "$(cat buffer_size_kb)"
w hi trace_marker
w 1 tracing_on
w global trace_clock
w 'p:a vfs_read' kprobe_events
w '' kprobe_events
w 'u64 == 1' events/sched/sched_switch/filter
w 0 events/sched/sched_switch/filter
w 'traceoff' events/sched/sched_wakeup/trigger
w '!traceoff' events/sched/sched_wakeup/trigger
w 'ksys_lseek:traceoff:1' set_ftrace_filter
w 'ksys_lseek:enable_event:sched:sched_switch' set_ftrace_filter
w '!ksys_lseek:enable_event:sched:sched_switch' set_ftrace_filter
w 5 set_ftrace_pid
w overwrite trace_options
w 5 set_event_notrace_pid
w '' set_event_notrace_pid
w 5 set_event_pid
w '' set_event_pid
