# Arguments that a function, a tracepoint or the stack does not have; and what a place holds, under events at it.
t=/sys/kernel/tracing
mount -t tracefs none $t 2>/dev/null
cd $t
for line in 'r:far vfs_read x=$arg2000' 'r:near vfs_read x=$arg9 y=$arg3' 't:tp sched_switch x=$arg9' 'e:ep sched.sched_switch' 'e:ew sched.sched_waking'; do
	echo "$line" >> dynamic_events
	echo "$line: $?"
done 2>/dev/null
cat dynamic_events
for event in kprobes/far kprobes/near tracepoints/tp eprobes/ep eprobes/ew; do
	test -d events/$event && echo 1 > events/$event/enable
done
dd if=/proc/version of=/dev/null bs=77 count=1 2>/dev/null
sleep 0.01
echo 0 > tracing_on
for event in far near tp ep ew; do
	grep -q " $event: " trace && echo "$event is hit"
done
grep -c ' near: .*y=0x4d' trace
# of the event and of its place: interrupts off, and how deep preemption is
for event in tp ep; do
	grep " $event: " trace | sed 's/.*\] \(.\).\(..\).*/\1 \2/' | sort | uniq
done
