# what is said to: instances and files
T=/sys/kernel/tracing; [ -d $T ] || T=/sys/kernel/debug/tracing
cd $T
say() { echo "== $*"; }
try() { "$@" 2>/tmp/err; echo "rc $?"; sed 's/^[^:]*: *//' /tmp/err; }
put() { echo "$1" > "$2" 2>/tmp/err && echo "ok $1" || { echo "refused $1: $(sed 's/.*: //' /tmp/err)"; tail -4 error_log | sed 's/^\[[^]]*\] //'; } }
norm() { sed -e 's/^ *[^ ]*-[0-9]* *\[[0-9]*\] \(.....\) *[0-9.]*:/TASK \1/' -e 's/0x[0-9a-f]\{6,\}/ADDR/g'; }
say instances and files
try mkdir instances/foo; try mkdir instances/foo; try mkdir instances/a/b; ls instances/foo | tr '\n' ' '; echo
cat instances/foo/current_tracer instances/foo/trace_clock instances/foo/buffer_size_kb instances/foo/tracing_on
put function instances/foo/current_tracer; put nope instances/foo/current_tracer; put nop instances/foo/current_tracer
put global instances/foo/trace_clock; put mono instances/foo/trace_clock; put nope instances/foo/trace_clock; cat instances/foo/trace_clock
put 64 instances/foo/buffer_size_kb; cat instances/foo/buffer_size_kb instances/foo/buffer_total_size_kb; put 0 instances/foo/buffer_size_kb; put x instances/foo/buffer_size_kb; put -1 instances/foo/buffer_size_kb
for o in raw norawx noprint-parent print-parent blah stacktrace nostacktrace hex bin; do put $o instances/foo/trace_options; done; cat instances/foo/trace_options | head -12
put '1 2 3' set_event_pid; cat set_event_pid; put 'x' set_event_pid; put '' set_event_pid; cat set_event_pid
put 4 set_ftrace_pid; cat set_ftrace_pid; put '-1' set_ftrace_pid; put '' set_ftrace_pid; cat set_ftrace_pid
put 'vfs_*' set_ftrace_filter; sed 1q set_ftrace_filter | wc -l; put '!vfs_read' set_ftrace_filter; grep -c vfs_read set_ftrace_filter; put 'nope_fn' set_ftrace_filter; put 'vfs_read:traceoff:2' set_ftrace_filter; tail -1 set_ftrace_filter; put '!vfs_read:traceoff' set_ftrace_filter; put 'vfs_read:nope' set_ftrace_filter; put '' set_ftrace_filter; cat set_ftrace_filter
put 'vfs_read' set_ftrace_notrace; cat set_ftrace_notrace; put '' set_ftrace_notrace; cat set_ftrace_notrace
put 'sched:sched_switch' set_event; put 'syscalls:*openat*' set_event; cat set_event; put '!sched:*' set_event; cat set_event; put '*:nope' set_event; put ':mod:x' set_event; : > set_event; cat set_event
put 100 tracing_thresh; cat tracing_thresh; put 0 tracing_thresh; put 3 tracing_max_latency; cat tracing_max_latency
put 101 buffer_percent; put 100 buffer_percent; cat buffer_percent; put 50 buffer_percent
put 3 tracing_cpumask; put 1 tracing_cpumask; cat tracing_cpumask; put z tracing_cpumask; put 0 tracing_cpumask; cat tracing_cpumask
put 2 tracing_on; put 0 tracing_on; cat tracing_on; put x tracing_on; put 1 tracing_on
put 300 saved_cmdlines_size; cat saved_cmdlines_size; put 0 saved_cmdlines_size
put 5 max_graph_depth; cat max_graph_depth; put 0 max_graph_depth
put 2 options/overwrite; put 0 options/overwrite; cat options/overwrite; put 1 options/overwrite
try rmdir instances/foo; try rmdir instances/foo; try rmdir events; try mkdir foo; try rm trace; try touch x
