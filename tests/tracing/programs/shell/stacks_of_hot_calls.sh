# The option stacktrace, turned on when an event at a call's end has often been recorded: the way into the kernel is there as before.
cd /sys/kernel/tracing
for e in exit enter; do
	[ $e = exit ] && f='ret == 6' || f='count == 6'
	echo "$f" > events/syscalls/sys_${e}_write/filter
	many() { i=0; while [ $i -lt 300 ]; do echo hello > /dev/null; i=$((i+1)); done; }
	many
	echo 1 > events/syscalls/sys_${e}_write/enable
	many
	echo > trace
	echo 1 > options/stacktrace
	many
	echo 0 > events/syscalls/sys_${e}_write/enable
	echo 0 > options/stacktrace
	grep '^ =>' trace | sort | uniq -c
	echo > trace
	echo "hist:keys=stacktrace if $f" > events/syscalls/sys_${e}_write/trigger
	many
	grep -v '^#' events/syscalls/sys_${e}_write/hist | sed 's/+0x.*//'
	echo '!hist:keys=stacktrace' > events/syscalls/sys_${e}_write/trigger
	echo 0 > events/syscalls/sys_${e}_write/filter
done
