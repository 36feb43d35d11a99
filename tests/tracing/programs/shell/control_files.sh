# bad writes to every file: errno
cd /sys/kernel/tracing; mkdir instances/i
for d in . instances/i; do for f in $(ls $d); do [ -f $d/$f ] || continue; case $f in *marker*|trace_pipe|printk_formats|dyn_ftrace_total_info) continue;; esac
for v in 0 1 -1 2 99999999999999999999 x '' '!x' 'a b' '*' ':' '0x10' '010' ; do m=$(timeout 3 sh -c "echo '$v' > $d/$f" 2>&1 | sed 's/.*: //'); echo "$d/$f '$v' ${m:-ok}"; done; 
case $f in trace_pipe*|*_raw|snapshot*|trace) ;; *) timeout 3 head -n 3 $d/$f 2>&1 | cut -c1-80 | sed 's/[0-9]\{4,\}/N/g';; esac
echo nop > $d/current_tracer 2>/dev/null; echo 1 > $d/tracing_on; echo 1410 > $d/buffer_size_kb; echo > $d/set_event 2>/dev/null; echo > $d/set_ftrace_filter 2>/dev/null;  echo > $d/set_ftrace_notrace  2>/dev/null; echo local > $d/trace_clock; echo > $d/set_event_pid; echo > $d/set_event_notrace_pid; echo > $d/set_ftrace_pid 2>/dev/null; echo 0 > $d/events/enable
done; done
