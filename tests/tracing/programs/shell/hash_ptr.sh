# Without hash-ptr: addresses as they are, and the first string of an event is lost.
cd /sys/kernel/tracing
for e in sched/sched_process_exec task/task_newtask sched/sched_process_fork task/task_rename sched/sched_switch irq/softirq_entry; do echo 1 > events/$e/enable; done
(true); cat /dev/null; sleep 0.02; echo 0 > events/enable; echo 0 > tracing_on
for o in 0 1; do
echo $o > options/hash-ptr
n() { grep "$1" trace | head -${2:-1} | sed 's/.*[0-9]: //;s/=[0-9a-f][0-9a-f]*\b/=N/g;s/==>.*//'; }
n sched_process_exec; n task_newtask; n sched_process_fork; n task_rename; n 'sched_switch.*prev_state=S'
done | sed 's/prev_comm=[^ ][^ ]*/prev_comm=COMM/'
echo 0 > options/hash-ptr; echo 1 > tracing_on; : > trace
echo 1 > events/kmem/kfree/enable; cat /dev/null; echo 0 > events/kmem/kfree/enable; grep -c 'ptr=ffff' trace | sed 's/[1-9][0-9]*/some/'; grep -c 'ptr=00000000[0-9a-f]*[1-9a-f]' trace
echo 'p:kk vfs_open a=$comm b=%di:x64' > kprobe_events; echo 1 > events/kprobes/kk/enable; cat /dev/null; echo 0 > events/kprobes/enable; grep 'kk:.*cat' trace | head -1 | sed 's/.*: (/(/;s,+0x0/0x[0-9a-f]*,,'
echo 1 > options/hash-ptr
