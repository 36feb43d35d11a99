# How much time real-time tasks may take: what /proc/sys/kernel takes, and what it says then.
cd /proc/sys/kernel
w() { if echo "$2" > $1 2>/dev/null; then echo "$1 $2: ok, $(cat sched_rt_period_us) $(cat sched_rt_runtime_us) $(cat sched_rr_timeslice_ms)"; else echo "$1 $2: refused, $(cat sched_rt_period_us) $(cat sched_rt_runtime_us) $(cat sched_rr_timeslice_ms)"; fi; }
for v in -2 -1 0 1 950000 1000000 1000001 2147483647 4294967296 x ''; do w sched_rt_runtime_us "$v"; done
w sched_rt_runtime_us 950000
for v in -1 0 1 949999 950000 1000000 2147483647 1000000; do w sched_rt_period_us "$v"; done
for v in -1 0 1 50 100 3; do w sched_rr_timeslice_ms "$v"; done
w sched_rt_runtime_us -1; w sched_rt_period_us 10; w sched_rt_period_us 1000000; w sched_rt_runtime_us 950000
