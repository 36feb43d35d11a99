# What does not, and how one CPU says it.
cd /sys/kernel/tracing
echo 'hist:keys=pid' > events/sched/sched_wakeup/trigger;  cat buffer_size_kb; 
echo 'enable_event:sched:sched_switch' > events/sched/sched_wakeup/trigger; cat buffer_size_kb
echo 'ksys_lseek:snapshot' > set_ftrace_filter; cat buffer_size_kb
cat per_cpu/cpu0/buffer_size_kb
echo 'snapshot' > events/sched/sched_wakeup/trigger; cat buffer_size_kb
