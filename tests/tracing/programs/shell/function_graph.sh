# function_graph: which functions, depth, options, what stands in the columns.
cd /sys/kernel/tracing
cat trace_options | grep -E 'funcgraph|sleep-time|graph-time'
ls options | grep -E 'funcgraph|graph'
cat max_graph_depth set_graph_function set_graph_notrace tracing_thresh
echo ksys_read ksys_write vfs_read vfs_write __x64_sys_getppid ksys_lseek > set_ftrace_filter
echo __x64_sys_getppid > set_graph_function
echo vfs_nothing > set_graph_function; echo rc $?
cat set_graph_function
echo ksys_read >> set_graph_function
cat set_graph_function
echo '!ksys_read' >> set_graph_function; cat set_graph_function
echo > set_graph_function; cat set_graph_function
echo ksys_write > set_graph_notrace; cat set_graph_notrace; echo > set_graph_notrace
echo x > max_graph_depth; echo rc $?
echo -1 > max_graph_depth; echo rc $?; cat max_graph_depth
echo 0 > max_graph_depth
graph() { echo "== $*"; echo > trace; echo function_graph > current_tracer; for o in $*; do echo $o > trace_options || echo bad $o; done
  sh -c 'echo $$ > set_ftrace_pid; exec /w 1' > /dev/null; echo 0 > tracing_on
  sed -E 's/[-+!#@*$]? *[0-9][0-9.]* us *\|/ N us |/; s/(sh|w)-[0-9]+/\1-PID/g; s/ +/ /g; s/[0-9]+\.[0-9]+ \|/TIME |/; s/\+0x[^)]*//; s/ on [67].[0-9].*//; s/\.N\./.../; /^ *$/d; /task: -/d' trace
  echo nop > current_tracer; echo 1 > tracing_on
  for o in $*; do case $o in no*) echo ${o#no} > trace_options;; *) echo no$o > trace_options;; esac; done; echo > set_ftrace_pid; }
graph
cat trace_options | grep -E 'funcgraph|sleep-time|graph-time'
echo 1 > max_graph_depth; graph; echo 0 > max_graph_depth
echo ksys_write > set_graph_function; graph
graph funcgraph-proc
graph funcgraph-abstime
graph nofuncgraph-cpu nofuncgraph-duration
graph funcgraph-tail
graph nofuncgraph-overhead
graph nofuncgraph-irqs
graph latency-format
echo > set_graph_function
echo 'p:k1 vfs_write' > kprobe_events; echo 1 > events/kprobes/enable; graph; echo 0 > events/kprobes/enable; echo > kprobe_events
echo 1 > events/syscalls/sys_enter_getppid/enable; graph; echo 0 > events/enable
graph latency-format funcgraph-proc; graph latency-format nofuncgraph-duration
echo vfs_write > set_graph_notrace; graph; echo > set_graph_notrace
echo funcgraph-retval > trace_options; echo rc $?
echo function_graph > current_tracer
ls options | grep -E 'funcgraph|graph'
echo 1 > options/funcgraph-abstime; echo rc $?; cat options/funcgraph-abstime
echo 2 > options/funcgraph-abstime; echo rc $?
echo 0 > options/funcgraph-abstime
echo 100 > tracing_thresh; cat tracing_thresh; cat current_tracer
echo x > tracing_thresh; echo rc $?
echo nop > current_tracer; echo 0 > tracing_thresh; cat tracing_thresh
