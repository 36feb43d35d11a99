# Whoever is still in a removed instance finds nothing; what triggers keep on counts as on.
cd /sys/kernel/tracing
mkdir instances/k; cd instances/k; rmdir ../k; echo $?; ls -1; cat trace; echo $?; cat events/enable; echo hello > trace_marker; cd events; cd /sys/kernel/tracing
mkdir instances/l; cd instances/l/events/sched; rmdir ../../../l; echo $?; ls -1 ..; ls -1; cat enable; cat ../../trace; cd /sys/kernel/tracing; ls -1 instances
echo traceoff > events/sched/sched_wakeup/trigger
cat events/enable events/sched/enable events/sched/sched_wakeup/enable
echo 1 > events/sched/enable; cat events/enable events/sched/enable events/sched/sched_wakeup/enable
echo 0 > events/enable; cat events/enable events/sched/enable events/sched/sched_wakeup/enable set_event
echo '!traceoff' > events/sched/sched_wakeup/trigger; cat events/enable events/sched/enable
