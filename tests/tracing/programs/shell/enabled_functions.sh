# Who traces a function: enabled_functions, with the trampolines of x86.
T=/sys/kernel/tracing; cd $T
e() { echo "-- $*"; cat -A enabled_functions | sed 's/0xffff[0-9a-f]*/ADDR/g'; }
echo vfs_open > set_ftrace_filter
echo function > current_tracer; e function
echo 1 > options/func-no-repeats; e no-repeats
echo 1 > options/func_stack_trace; e both
echo 0 > options/func-no-repeats; e stack
echo 0 > options/func_stack_trace
echo 1 > set_ftrace_pid; e pid
echo > set_ftrace_pid; e nopid
echo function_graph > current_tracer; e graph
echo 1 > set_ftrace_pid; e graph pid
echo > set_ftrace_pid
echo nop > current_tracer; e nop
echo 'p vfs_open' > kprobe_events; e not on
echo 1 > events/kprobes/enable; e kprobe
echo function > current_tracer; e kprobe + function
echo nop > current_tracer
echo 'r:ret vfs_open' >> kprobe_events;  echo 1 > events/kprobes/enable; e kprobe kretprobe
echo 0 > events/kprobes/p_vfs_open_0/enable; e kretprobe
echo 0 > events/kprobes/enable; e
echo 'p:mid vfs_open+5' >> kprobe_events; echo 1 > events/kprobes/mid/enable; e middle
echo 0 > events/kprobes/enable
mkdir instances/i; echo vfs_open > instances/i/set_ftrace_filter; echo function > instances/i/current_tracer; e instance
echo function > current_tracer; e instance + top
echo 1 > events/kprobes/p_vfs_open_0/enable; e instance + top + kprobe
echo 0 > events/kprobes/enable
echo nop > current_tracer; echo nop > instances/i/current_tracer; rmdir instances/i; e
echo > kprobe_events
echo vfs_open:traceon >> set_ftrace_filter; e command
echo vfs_open:stacktrace:3 >> set_ftrace_filter; e commands
echo '!vfs_open:traceon' >> set_ftrace_filter; e stacktrace
echo '!vfs_open:stacktrace:0' >> set_ftrace_filter; e
echo vfs_open > stack_trace_filter; echo 1 > /proc/sys/kernel/stack_tracer_enabled; e stack tracer; echo 0 > /proc/sys/kernel/stack_tracer_enabled; e
echo 'vfs_open:enable_event:sched:sched_switch' >> set_ftrace_filter; e event;  echo '!vfs_open:enable_event:sched:sched_switch' >> set_ftrace_filter
echo 'vfs_open:snapshot' >> set_ftrace_filter; e snapshot;  echo '!vfs_open:snapshot' >> set_ftrace_filter
echo 'vfs_open vfs_read' > set_ftrace_filter; echo vfs_open > set_graph_function; echo function_graph > current_tracer; e
echo 1 > function_profile_enabled
echo nop > current_tracer
echo 0 > /proc/sys/kernel/ftrace_enabled; echo function > current_tracer; cat current_tracer; e off; echo 1 > /proc/sys/kernel/ftrace_enabled; e on
