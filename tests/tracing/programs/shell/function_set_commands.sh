# commands and globs of set_ftrace_filter, set_ftrace_notrace and the graph's files.
cd /sys/kernel/tracing
put() { echo "$2" >> $1 2>/dev/null; echo "[$1 $2] $?"; }
put set_ftrace_filter vfs_read
put set_ftrace_filter 'vfs_w*'
put set_ftrace_filter '*_llseek_noexist'
put set_ftrace_filter '*llseek*c*t'
put set_ftrace_filter 'vfs_[rw]e*k'
put set_ftrace_filter 'nosuchfunction'
put set_ftrace_filter '!vfs_read'
put set_ftrace_filter '!vfs_nothing'
put set_ftrace_filter '5'
put set_ftrace_filter '0'
put set_ftrace_filter '99999999'
put set_ftrace_filter 'vfs_read vfs_open'
put set_ftrace_filter ':mod:nosuch'
put set_ftrace_filter 'vfs*:mod:*'
put set_ftrace_filter 'vfs_fsync:mod:ext4'
sort set_ftrace_filter
echo > set_ftrace_filter; sort set_ftrace_filter
put set_ftrace_filter 'vfs_read:traceon'
put set_ftrace_filter 'vfs_read:traceoff:5'
put set_ftrace_filter 'vfs_read:traceoff:5'
put set_ftrace_filter 'vfs_read:traceoff:x'
put set_ftrace_filter 'vfs_read:stacktrace'
put set_ftrace_filter 'vfs_read:snapshot:1'
put set_ftrace_filter 'vfs_read:dump'
put set_ftrace_filter 'vfs_read:cpudump:2'
put set_ftrace_filter 'vfs_read:enable_event:sched:sched_switch'
put set_ftrace_filter 'vfs_read:enable_event:sched:sched_switch:3'
put set_ftrace_filter 'vfs_write:disable_event:sched:sched_switch:0'
put set_ftrace_filter 'vfs_read:enable_event:sched'
put set_ftrace_filter 'vfs_read:enable_event:sched:nosuch'
put set_ftrace_filter 'vfs_read:enable_event'
put set_ftrace_filter 'vfs_read:bogus'
put set_ftrace_filter 'vfs_read:'
put set_ftrace_filter ':traceoff'
put set_ftrace_filter 'vfs_r*:traceon:2'
put set_ftrace_filter 'nosuch:traceon'
sort set_ftrace_filter
put set_ftrace_filter '!vfs_read:traceoff'
put set_ftrace_filter '!vfs_read:traceoff:0'
put set_ftrace_filter '!vfs_readv:traceon'
put set_ftrace_filter '!vfs_read:bogus'
sort set_ftrace_filter
echo > set_ftrace_filter; sort set_ftrace_filter
for c in 'vfs_read:traceon' 'vfs_r*:traceon' 'vfs_read:stacktrace' 'vfs_read:snapshot' 'vfs_read:dump' 'vfs_read:cpudump' 'vfs_read:enable_event:sched:sched_switch' 'vfs_write:disable_event:sched:sched_switch'; do put set_ftrace_filter "!$c"; done
sort set_ftrace_filter
put set_ftrace_notrace 'vfs_read:traceon'
put set_ftrace_notrace 'vfs_re*'
cat set_ftrace_notrace
echo > set_ftrace_notrace
put set_graph_function vfs_read
put set_graph_function 'vfs_w*'
put set_graph_function '!vfs_writev'
put set_graph_function nosuch
put set_graph_function vfs_read:traceon
cat set_graph_function
echo > set_graph_function; cat set_graph_function
put set_graph_notrace vfs_read
put set_graph_notrace '!vfs_read'
cat set_graph_notrace
put set_ftrace_pid 77777
put set_ftrace_pid abc
put set_ftrace_pid '-1'
put set_ftrace_pid '!5'
put set_ftrace_pid 99999999999
grep -c . set_ftrace_pid
echo > set_ftrace_pid; cat set_ftrace_pid
put set_ftrace_notrace_pid 7
cat set_ftrace_notrace_pid
echo > set_ftrace_notrace_pid
echo 3 > max_graph_depth; cat max_graph_depth; echo x > max_graph_depth; echo $?; echo 0 > max_graph_depth
