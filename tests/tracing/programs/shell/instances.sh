cd /sys/kernel/tracing
mkdir instances/a; echo $?; ls -1 instances/a; mkdir instances/a; mkdir instances/a/b; mkdir instances/a/instances; mkdir events/x; rmdir events/sched; rmdir instances/a/events;rm instances/a/trace; mkdir -p instances/b instances/c
cd instances/a; cat current_tracer available_tracers trace_options | head -5
echo 1 > events/syscalls/sys_enter_getppid/enable; cat events/enable ../../events/syscalls/sys_enter_getppid/enable ../b/events/syscalls/sys_enter_getppid/enable
/w 3; grep -v '#' trace | sed 's/.*sys_/sys_/'; cat ../../trace ../b/trace | head -30
echo hi > trace_marker; grep -c hi trace ../../trace ../b/trace
echo 'id==110' > ../b/events/raw_syscalls/sys_enter/filter; cat events/raw_syscalls/sys_enter/filter ../b/events/raw_syscalls/sys_enter/filter
echo 1 > ../b/events/raw_syscalls/enable; /w 1; echo 0 > ../b/events/enable; cat ../b/trace | grep 'sys_enter' | sed 's/.*sys_/sys_/'
sleep 100 < /dev/null & sleep 0.1; exec 5< trace_pipe; rmdir ../a; echo rc $?; exec 5<&-; kill %1
echo 'traceoff:1' > events/syscalls/sys_enter_lseek/trigger; cat events/syscalls/sys_enter_lseek/trigger; /w 3; cat tracing_on ../../tracing_on; grep -v '#' trace | sed 's/.*sys_/sys_/'; cat events/syscalls/sys_enter_lseek/trigger
echo '!traceoff' > events/syscalls/sys_enter_lseek/trigger; echo 1 > tracing_on
for t in 'stacktrace:2' 'snapshot' 'enable_event:syscalls:sys_enter_sync:1' 'disable_event:syscalls:sys_enter_sync' 'traceon' 'hist:keys=offset' 'foo' 'traceon:0' 'traceon:-1' 'traceon:x' 'stacktrace if fd > 1' 'enable_event:nosuch:x' 'enable_event:syscalls:sys_enter_lseek' 'snapshot:3 if offset==0' '!traceon' '!foo' '!stacktrace:2' '!stacktrace' 'traceon if nosuch==1' 'traceon iff fd==1' 'traceon:3:4' 'enable_event:sched' 'enable_hist:syscalls:sys_enter_read' 'enable_event:syscalls:sys_enter_sync:1'; do echo "# $t"; echo "$t" > events/syscalls/sys_enter_lseek/trigger; echo "rc $?"; done; cat events/syscalls/sys_enter_lseek/trigger events/syscalls/sys_enter_sync/enable events/syscalls/sys_enter_lseek/enable
/w 2 >/dev/null; cat events/syscalls/sys_enter_sync/enable; cat events/syscalls/sys_enter_lseek/trigger;  cat events/syscalls/sys_enter_lseek/hist
echo function > current_tracer; echo rc $?; cat ../../current_tracer; echo function > ../../current_tracer; echo rc2 $?; cat ../../current_tracer; echo nop > current_tracer; echo nop > ../../current_tracer
echo function_graph > current_tracer; echo rc $?; echo vfs_read > set_ftrace_filter; cat set_ftrace_filter ../../set_ftrace_filter | head; echo function > current_tracer; /w 1; echo nop > ../../current_tracer; echo 0 > tracing_on; grep w- trace | sed 's/.*TS//; s/.*: //'; echo nop > current_tracer; echo > set_ftrace_filter
echo counter > trace_clock; cat trace_clock ../../trace_clock; echo 64 > buffer_size_kb; cat buffer_size_kb ../../buffer_size_kb; echo overwrite > trace_options; echo nooverwrite > trace_options; cat options/overwrite ../../options/overwrite
cd ..; rmdir a; echo $?; rmdir b c; echo $?; ls -1; rmdir nosuch; touch x; mkdir 'x y'; ls -1; rmdir 'x y'
