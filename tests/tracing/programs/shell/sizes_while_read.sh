cd /sys/kernel/tracing; echo 1 > events/sched/sched_switch/enable; echo 0 > events/sched/sched_switch/enable; echo 7 > buffer_size_kb
( echo 1 > snapshot; echo "snap $?" ) < snapshot
echo 0 > snapshot
( echo 1 > snapshot; echo "snap $?" ; cat snapshot | head -4; echo 100 > buffer_size_kb; echo "size $?") < snapshot
( echo 1 > snapshot; echo "snap $?" ) 3<>snapshot
( echo 1 > snapshot; echo "snap $?" ) 3>snapshot
echo 0 > snapshot; ( echo 64 > buffer_size_kb; echo "size $?"; cat buffer_size_kb ) < trace_pipe
( echo 32 > buffer_size_kb; echo "size $?"; cat buffer_size_kb ) < per_cpu/cpu0/trace_pipe_raw
( echo 40 > buffer_size_kb; echo "size $?"; cat buffer_size_kb ) < per_cpu/cpu0/trace
echo 0 > snapshot; ( echo 1 > snapshot; echo "snap $?" ) < per_cpu/cpu0/snapshot
( echo 0 > snapshot; echo "free $?"; echo 2 > snapshot; echo "clear $?" ) < snapshot
echo 0 > snapshot; echo 'snapshot' > events/sched/sched_switch/trigger; echo "trigger $?"; echo '!snapshot' > events/sched/sched_switch/trigger; echo 0 > snapshot
( echo 'snapshot' > events/sched/sched_switch/trigger; echo "trigger $?" ) < snapshot; cat events/sched/sched_switch/trigger | tail -1
