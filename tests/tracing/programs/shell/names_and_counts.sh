# saved names of tasks, pid files, event ids, globs over events, available lists' shape.
cd /sys/kernel/tracing
head -c 3 saved_cmdlines | wc -c; cat saved_cmdlines_size; grep -c . saved_tgids
echo x > saved_cmdlines 2>/dev/null; echo $?
wc -l < available_events; head -5 available_filter_functions; grep -c '^vfs_' available_filter_functions; grep -n '^vfs_read$' available_filter_functions
cat dyn_ftrace_total_info | awk '{print NF}'
cat printk_formats | wc -l
for e in sched_switch sched_waking sched_process_fork; do cat events/sched/$e/id; done; cat events/syscalls/sys_enter_read/id events/raw_syscalls/sys_enter/id events/ftrace/function/id events/ftrace/print/id
grep -c asm_exc /sys/kernel/debug/kprobes/blacklist; cat /sys/kernel/debug/kprobes/enabled
echo 0 > /sys/kernel/debug/kprobes/enabled; cat /sys/kernel/debug/kprobes/enabled; echo 1 > /sys/kernel/debug/kprobes/enabled; echo x > /sys/kernel/debug/kprobes/enabled; echo $?
for g in 'vfs_*' '?fs_read' '[uv]fs_read' 'vfs_read*'; do echo "$g" > set_ftrace_filter 2>/dev/null; echo "$g $? $(grep -c . set_ftrace_filter)"; done; echo > set_ftrace_filter
echo vfs_read > set_ftrace_filter; echo function > current_tracer; cat enabled_functions | cut -c1-60; echo nop > current_tracer; cat enabled_functions | wc -l; echo > set_ftrace_filter
echo 1 > function_profile_enabled 2>/dev/null; echo $?; ls trace_stat | tr '\n' ' '; head -2 trace_stat/function0; echo 0 > function_profile_enabled
cat trace_stat/function0 | head -2 | cut -c1-20
for f in $(find . -maxdepth 1 -type f | sort); do echo "$f $(stat -c '%a %s' $f)"; done
