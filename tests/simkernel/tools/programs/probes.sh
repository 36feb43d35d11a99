# Synthetic, histogram, event and user probes from a shell.  probes.out: what a real 6.1 printed, without its messages to stderr.
cd /sys/kernel/tracing
echo 'wl u64 d; pid_t pid' > synthetic_events; cat synthetic_events
echo 'hist:keys=pid:ts=common_timestamp.usecs' > events/sched/sched_waking/trigger; echo $?
echo 'hist:keys=next_pid:d=common_timestamp.usecs-$ts:onmatch(sched.sched_waking).wl($d,next_pid)' > events/sched/sched_switch/trigger; echo $?
cat error_log | sed 's/^\[ *[0-9.]*\]/[T]/'
cat events/synthetic/wl/format | grep -v ID
echo 'hist:keys=common_pid.execname:vals=hitcount:sort=hitcount.descending:size=2048' > events/syscalls/sys_enter_read/trigger; cat events/syscalls/sys_enter_read/trigger
echo 'hist:keys=count.buckets=64:vals=fd' > events/syscalls/sys_enter_read/trigger; grep -v hitc events/syscalls/sys_enter_read/trigger
echo 'hist:keys=nothing' > events/syscalls/sys_enter_read/trigger; cat error_log | sed 's/^\[ *[0-9.]*\]/[T]/' | tail -3
echo 'e:ep/opn syscalls/sys_enter_openat file=+0($filename):ustring fl=$flags:x32' > dynamic_events; echo $?; cat dynamic_events
mkdir instances/a; echo 1 > instances/a/events/ep/opn/enable; cat /etc/none 2>/dev/null; grep -o 'opn: .*' instances/a/trace | head -3; rmdir instances/a; echo $?
echo 0 > instances/a/events/ep/opn/enable 2>/dev/null; echo > dynamic_events; echo $?; cat dynamic_events
echo 'p:up/x /bin/busybox:0x1000 %ax $stack0' >> uprobe_events; cat uprobe_events; echo 'p:up/y /bin/none:0x1000' >> uprobe_events; cat error_log | sed 's/^\[ *[0-9.]*\]/[T]/' | tail -3
echo '-:up/x' >> uprobe_events; cat uprobe_events
