# the tracers by name, and files that only some configurations have.
cd /sys/kernel/tracing
cat available_tracers current_tracer
for t in irqsoff preemptoff preemptirqsoff wakeup wakeup_rt wakeup_dl hwlat osnoise timerlat function_graph function blk mmiotrace nop '' ' ' 'nop x' nosuch FUNCTION 'function ' stack branch; do echo "$t" > current_tracer 2>/dev/null; echo "[$t] $? $(cat current_tracer)"; done
printf 'function' > current_tracer; cat current_tracer; printf 'nop\0' > current_tracer; echo $?; cat current_tracer; echo nop > current_tracer
for f in tracing_max_latency tracing_thresh tracing_cpumask max_graph_depth stack_max_size stack_trace stack_trace_filter function_profile_enabled tracing_on trace_clock buffer_percent buffer_subbuf_size_kb saved_cmdlines_size hwlat_detector osnoise kprobe_profile uprobe_profile dyn_ftrace_total_info timestamp_mode set_event_notrace_pid touched_functions user_events_data user_events_status; do if [ -d $f ]; then echo "$f dir"; else echo "$f: $(head -c 200 $f 2>&1 | head -3)"; fi; done 2>&1 | sed 's/[0-9]* pages:.*//'
for f in trace_pipe_raw snapshot_raw stats trace buffer_size_kb snapshot; do echo "$f $(ls -l per_cpu/cpu0/$f | cut -c1-10)"; done
echo x > tracing_on; echo $?; echo 2 > tracing_on; echo $? $(cat tracing_on); echo -1 > tracing_on; echo $?; echo ' 1 ' > tracing_on; echo $?; echo > tracing_on; echo $?; cat tracing_on
for c in local global counter uptime perf mono mono_raw boot tai x86-tsc nosuch ''; do echo $c > trace_clock 2>/dev/null; echo "$c $? $(cat trace_clock)"; done; cat timestamp_mode; echo local > trace_clock
for v in 0 1 f ff 0,1 x '' 3,ffffffff 2; do echo "$v" > tracing_cpumask 2>/dev/null; echo "[$v] $? $(cat tracing_cpumask)"; done
for v in 0 50 100 101 x -1; do echo $v > buffer_percent 2>/dev/null; echo "$v $? $(cat buffer_percent)"; done
for v in 0 1 50 128 4097 x -1 1000000000; do echo $v > saved_cmdlines_size 2>/dev/null; echo "$v $? $(cat saved_cmdlines_size)"; done
for v in 0 1 x -1; do echo $v > tracing_max_latency 2>/dev/null; echo "$v $?"; echo $v > tracing_thresh 2>/dev/null; echo "$v $? $(cat tracing_thresh)"; done; echo 0 > tracing_thresh
for v in 0 1 4 5 100 x -1 ''; do echo $v > buffer_size_kb 2>/dev/null; echo "[$v] $? $(cat buffer_size_kb)"; done
for v in 0 1 2 x; do echo $v > free_buffer 2>/dev/null; echo "[$v] $?"; done; cat buffer_size_kb; echo 1 > options/disable_on_free
echo 1408 > buffer_size_kb
for v in 1 0 2 x; do echo $v > /proc/sys/kernel/stack_tracer_enabled 2>/dev/null; echo "$v $?"; done
for v in 1 0 2 x; do echo $v > /proc/sys/kernel/ftrace_enabled 2>/dev/null; echo "$v $? $(cat /proc/sys/kernel/ftrace_enabled)"; done; echo 1 > /proc/sys/kernel/ftrace_enabled
for v in 1 0 2; do echo $v > /proc/sys/kernel/ftrace_dump_on_oops 2>/dev/null; echo "$v $? $(cat /proc/sys/kernel/ftrace_dump_on_oops)"; done
for f in tracepoint_printk traceoff_on_warning; do cat /proc/sys/kernel/$f; echo 1 > /proc/sys/kernel/$f 2>/dev/null; echo "$f $?"; done
