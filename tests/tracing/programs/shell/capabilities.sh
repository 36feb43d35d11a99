# Checks of capabilities, as a probe on cap_capable() sees them.
cd /sys/kernel/tracing
echo 'p:c cap_capable cap=%dx opts=%cx' > kprobe_events
trace() { echo "== $*"; echo > trace; echo 1 > events/kprobes/enable; "$@" > /dev/null 2>&1; echo 0 > events/kprobes/enable; sed -n 's/+0x0[^)]*//; s/^.*: c: //p' trace | sort | uniq; }
trace nice -n -5 true
trace chown 5 /tmp
trace chmod 4755 /tmp
mkdir -p /m; trace mount -t tmpfs none /m
trace umount /m
trace mknod /tmp/n c 1 3
trace hostname x
trace date -s 2030-01-01
trace chroot / true
trace renice -5 1
trace dmesg -n 8
trace kill -0 1
trace sh -c "echo 5 > /proc/sys/kernel/sysrq"
trace sh -c "echo -5 > /proc/self/oom_score_adj"
trace mkdir /tmp/dd
trace cat /proc/1/maps
trace readlink /proc/1/exe
trace nc -l -p 77 -w 1
echo 0 > events/enable
