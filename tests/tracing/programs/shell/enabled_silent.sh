# enabled_functions has what the tracers chose, also functions that never run; max_graph_depth is an int; dynamic events go up to one that is needed
cd /sys/kernel/tracing
echo 'vfs_*' > set_ftrace_filter; echo function > current_tracer; wc -l < enabled_functions; head -n 3 enabled_functions; echo nop > current_tracer; wc -l < enabled_functions
echo 'btrfs_*' > set_ftrace_filter; echo 'ext4_*' > set_ftrace_filter; echo 'acpi_*' > set_ftrace_filter; echo function_graph > current_tracer; wc -l < enabled_functions; head -n 2 enabled_functions; tail -n 1 enabled_functions; echo nop > current_tracer
echo > set_ftrace_filter; mkdir instances/a; echo 'nfs_*' > instances/a/set_ftrace_filter; echo 'acpi_ut_*' > instances/a/set_ftrace_filter; echo function > instances/a/current_tracer; wc -l < enabled_functions; echo nop > instances/a/current_tracer; rmdir instances/a; wc -l < enabled_functions
echo acpi_os_map_memory > stack_trace_filter; echo 1 > /proc/sys/kernel/stack_tracer_enabled; cat enabled_functions; echo 0 > /proc/sys/kernel/stack_tracer_enabled; cat enabled_functions
for d in 5 4294967295 2147483648 4294967297 -1; do echo $d > max_graph_depth; echo "rc $?"; cat max_graph_depth; done
d() { echo "$1" >> dynamic_events; }
d 'p:a vfs_read'; d 's:syn int a'; d 'e:on synthetic/syn a=$a'; d 'p:b vfs_write'; echo > dynamic_events; echo "rc $?"; cat dynamic_events; echo > dynamic_events; echo "rc $?"; cat dynamic_events
d 'p:a vfs_read x=$arg3'; d 'e:one kprobes/a x=$x'; d 'p:b vfs_write'; echo > kprobe_events; echo "rc $?"; cat dynamic_events; echo 1 > events/kprobes/b/enable; echo > dynamic_events; echo "rc $?"; cat dynamic_events;  echo 0 > events/kprobes/b/enable; d '-:eprobes/one'; echo > kprobe_events; echo "rc $?"; cat dynamic_events
