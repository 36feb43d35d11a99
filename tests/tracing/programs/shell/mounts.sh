# tracefs mounted a second time, with and without options, and mounted again.
mkdir -p /tmp/t1 /tmp/t2
perm() { stat -c '%A %u %g' $1 $1/trace $1/events $1/events/sched/enable $1/current_tracer $1/instances 2>&1; }
perm /sys/kernel/tracing
mount -t tracefs nodev /tmp/t1; echo $?; perm /tmp/t1; grep tracefs /proc/mounts
echo hello > /tmp/t1/trace_marker; grep -c hello /sys/kernel/tracing/trace
mkdir /tmp/t1/instances/i; ls /sys/kernel/tracing/instances; rmdir /sys/kernel/tracing/instances/i; ls /tmp/t1/instances
mount -o remount,gid=100 /tmp/t1; echo $?; perm /tmp/t1; perm /sys/kernel/tracing; grep tracefs /proc/mounts
mount -o remount,uid=5,gid=7,mode=755 /tmp/t1; echo $?; perm /tmp/t1; grep tracefs /proc/mounts
mount -o remount,mode=750 /tmp/t1; echo $?; perm /tmp/t1; grep tracefs /proc/mounts
mount -o remount,bogus=1 /tmp/t1; echo $?
mount -o remount,uid=x /tmp/t1 2>&1 | head -c 30; echo
mkdir /tmp/t1/instances/j; perm /tmp/t1/instances/j; rmdir /tmp/t1/instances/j
mount -t tracefs -o uid=1,gid=2,mode=711 nodev /tmp/t2; echo $?; perm /tmp/t2; perm /tmp/t1; grep tracefs /proc/mounts
mount -t tracefs -o nonsense nodev /tmp/t2; echo $?
mount -o remount,ro /tmp/t2; echo $?; echo x > /tmp/t2/trace_marker; echo $?; echo y > /sys/kernel/tracing/trace_marker; echo $?; grep tracefs /proc/mounts
umount /tmp/t2; umount /tmp/t1; grep tracefs /proc/mounts; ls /tmp/t1 | wc -l
mount -o remount,rw /sys/kernel/tracing; chmod 700 /sys/kernel/tracing/trace; chown 3:4 /sys/kernel/tracing/trace; stat -c '%A %u %g' /sys/kernel/tracing/trace; mount -o remount,gid=9 /sys/kernel/tracing; stat -c '%A %u %g' /sys/kernel/tracing/trace /sys/kernel/tracing/events/sched/sched_switch/id
mount -t tracefs -o defaults nodev /tmp/t1; echo $?; stat -f -c '%T %t' /tmp/t1; touch /tmp/t1/x; echo $?; mkdir /tmp/t1/x; echo $?; rm /tmp/t1/trace; echo $?; ln -s a /tmp/t1/b; echo $?; mv /tmp/t1/trace /tmp/t1/c; echo $?; umount /tmp/t1
# debugfs has the same options, for its root
dperm() { stat -c '%A %u %g' $1 $1/kprobes $1/kprobes/list; grep debugfs /proc/mounts; }
mount -t debugfs none /tmp/t1; echo $?; dperm /tmp/t1
mount -o remount,gid=3 /tmp/t1; echo $?; dperm /tmp/t1
mount -o remount,uid=2,mode=0755 /sys/kernel/debug; echo $?; dperm /tmp/t1
mount -t debugfs -o uid=8,bogus none /tmp/t2; echo $?; dperm /tmp/t2
mount -o remount,mode=8 /tmp/t1; echo $?; mount -o remount,gid=-5 /tmp/t1; echo $?; mount -o remount,mode=07777 /tmp/t1; echo $?; dperm /tmp/t2
umount /tmp/t1 /tmp/t2; dperm /sys/kernel/debug; cat /sys/kernel/debug/tracing/current_tracer
