# instances: their files, what they share, and when one may go.
cd /sys/kernel/tracing
cd instances; for n in a b 'with space' a. .hidden a/b; do mkdir "$n" 2>/dev/null; echo "$n $?"; done; mkdir a 2>/dev/null; echo $?; ls -A | sort
cd a; ls -A | tr '\n' ' '; ls events | head -3; ls per_cpu/cpu0 | tr '\n' ' '; cat current_tracer tracing_on buffer_size_kb trace_clock; cat available_tracers; cat available_events 2>&1 | head -1
echo function > current_tracer; echo $?; echo function_graph > current_tracer 2>/dev/null; echo $?; echo nop > current_tracer
echo 1 > events/sched/sched_process_fork/enable; cat events/sched/sched_process_fork/enable ../../events/sched/sched_process_fork/enable ../b/events/sched/sched_process_fork/enable; cat set_event
true | true; grep -v '^#' trace | sed 's/pid=[0-9]*/pid=P/g' | sort | uniq | head -2; grep -v '^#' ../../trace | wc -l
echo hello > trace_marker; grep -c hello trace; grep -c hello ../../trace; grep -c hello ../b/trace
echo 100 > buffer_size_kb; cat buffer_size_kb; cat ../../buffer_size_kb; cat per_cpu/cpu0/buffer_size_kb buffer_total_size_kb
echo global > trace_clock; cat trace_clock; cat ../../trace_clock
echo 'p:x vfs_read' > ../../kprobe_events; ls events/kprobes; ls ../b/events/kprobes; echo > ../../kprobe_events 2>/dev/null; echo $?; ls events/kprobes 2>&1 | wc -l
exec 5< trace_pipe; rmdir ../a 2>/dev/null; echo "busy $?"; exec 5<&-; cd ..; rmdir a; echo "free $?"
exec 5< b/events/sched/sched_switch/id; rmdir b 2>/dev/null; echo "id $?"; exec 5<&-; ls; rmdir b 2>/dev/null; echo $?
mkdir c; echo vfs_read > c/set_ftrace_filter; echo $?; cat c/set_ftrace_filter ../set_ftrace_filter | head -2; echo 'vfs_read:traceoff' > c/set_ftrace_filter; echo $?; cat c/set_ftrace_filter; echo '!vfs_read:traceoff' >> c/set_ftrace_filter; cat c/tracing_on
echo 1 > c/snapshot; echo $?; cat c/snapshot | head -2; cat c/error_log | wc -l; echo 'bad' > c/events/sched/sched_switch/filter; tail -n 3 c/error_log | sed 's/^\[ *[0-9.]*\]/[T]/'; wc -l < ../error_log
mv c d 2>/dev/null; echo "mv $?"; touch x 2>/dev/null; echo $?; rmdir c; rmdir nosuch 2>/dev/null; echo $?; rmdir '.hidden' 'with space' 'a.' 2>/dev/null; ls -A
