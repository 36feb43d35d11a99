# Lines of hist triggers and of filters, right and wrong, and what error_log says of them.
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing
cd /sys/kernel/tracing
S=events/sched/sched_switch; W=events/sched/sched_wakeup; N=events/raw_syscalls/sys_enter
t() { : > error_log; echo "$2" 2>/dev/null >> $1; r=$?; echo "== ${1##*/events/}: $2 -> $r"; sed 's/^\[[^]]*\] //' error_log; }
echo 'wake u64 lat; pid_t pid; char comm[16]' > synthetic_events
while read -r f line; do case $f in S) t $S/trigger "$line";; W) t $W/trigger "$line";; N) t $N/trigger "$line";; F) t $S/filter "$line";; G) t $N/filter "$line";; esac; done <<'X'
S hist:keys=prev_pid
S hist:keys=prev_pid:vals=prev_prio
S hist:keys=prev_pid,next_pid,prev_prio,next_prio
S hist:keys=prev_pid:vals=nosuch
S hist:keys=nosuch
S hist:keys=
S hist:
S hist
S hist:vals=prev_prio
S hist:keys=prev_pid.execname
S hist:keys=prev_comm.execname
S hist:keys=prev_pid.nosuch
S hist:keys=prev_pid.log2
S hist:keys=prev_pid.buckets=10
S hist:keys=prev_pid.buckets
S hist:keys=prev_pid.buckets=0
S hist:keys=prev_pid.buckets=x
S hist:keys=prev_pid.sym
S hist:keys=prev_pid.hex,next_pid.hex
S hist:keys=prev_pid.percent
S hist:keys=prev_pid:vals=prev_prio.percent,hitcount.graph
S hist:keys=prev_pid:vals=hitcount,prev_prio,next_prio,prev_state
S hist:keys=prev_pid:vals=prev_comm
S hist:keys=prev_pid:sort=hitcount
S hist:keys=prev_pid:sort=nosuch
S hist:keys=prev_pid:sort=prev_pid.descending,hitcount.ascending
S hist:keys=prev_pid:sort=prev_pid.up
S hist:keys=prev_pid:sort=prev_pid,hitcount,prev_pid
S hist:keys=prev_pid:sort=
S hist:keys=prev_pid:size=128
S hist:keys=prev_pid:size=1
S hist:keys=prev_pid:size=9999999
S hist:keys=prev_pid:size=x
S hist:keys=prev_pid:size=
S hist:keys=prev_pid:nosuch=1
S hist:keys=prev_pid:name=foo
S hist:keys=prev_pid:name=
S hist:keys=next_pid:name=foo
S hist:keys=prev_pid:clock=mono
S hist:keys=prev_pid:clock=nosuch
S hist:keys=prev_pid:pause
S hist:keys=prev_pid:cont
S hist:keys=prev_pid:clear
S hist:keys=prev_pid:pause:nohitcount
S hist:keys=prev_pid:nohitcount
S hist:keys=prev_pid:vals=prev_prio:nohitcount
S hist:keys=common_pid
S hist:keys=common_timestamp
S hist:keys=common_cpu,common_comm
S hist:keys=common_stacktrace
S hist:keys=stacktrace
S hist:keys=cpu
S hist:keys=common_timestamp.usecs
S hist:keys=prev_pid.usecs
S hist:keys=prev_pid if prev_pid > 0
S hist:keys=prev_pid if nosuch > 0
S hist:keys=prev_pid if
S hist:keys=prev_pid:x=prev_prio
S hist:keys=prev_pid:x=prev_prio+next_prio:vals=$x
S hist:keys=prev_pid:y=prev_prio*2:z=$y-1
S hist:keys=prev_pid:y=prev_prio/0
S hist:keys=prev_pid:y=prev_prio+
S hist:keys=prev_pid:y=(prev_prio+1)*2
S hist:keys=prev_pid:y=-prev_prio
S hist:keys=prev_pid:y=1+2+3+4+5
S hist:keys=prev_pid:y=prev_prio.log2
S hist:keys=prev_pid:y=18446744073709551615
S hist:keys=prev_pid:y=18446744073709551616
S hist:keys=prev_pid:y=0x10
S hist:keys=prev_pid:y=$nosuch
S hist:keys=prev_pid:vals=$nosuch
W hist:keys=pid:ts0=common_timestamp.usecs
S hist:keys=next_pid:wl=common_timestamp.usecs-$ts0:onmatch(sched.sched_wakeup).wake($wl,next_pid,next_comm)
S hist:keys=next_pid:wl=common_timestamp.usecs-$ts0:onmatch(sched.sched_wakeup).wake($wl,next_pid)
S hist:keys=next_pid:wl=common_timestamp.usecs-$ts0:onmatch(sched.sched_wakeup).wake($wl,next_comm,next_pid)
S hist:keys=next_pid:onmatch(sched.nosuch).wake(next_pid)
S hist:keys=next_pid:onmatch(sched).wake(next_pid)
S hist:keys=next_pid:onmatch(sched.sched_wakeup).nosuch(next_pid)
S hist:keys=next_pid:onmatch(sched.sched_wakeup).trace(wake,$wl,next_pid,next_comm)
S hist:keys=next_pid:onmatch(sched.sched_wakeup)
S hist:keys=next_pid:onmatch(sched.sched_wakeup).trace()
S hist:keys=next_pid:onmax($wl).save(next_comm)
S hist:keys=next_pid:onmax(nosuch).save(next_comm)
S hist:keys=next_pid:m=common_timestamp.usecs-$ts0:onmax($m).save(next_comm,prev_pid)
S hist:keys=next_pid:m2=common_timestamp.usecs-$ts0:onmax($m2).snapshot()
S hist:keys=next_pid:m3=common_timestamp.usecs-$ts0:onchange($m3).save(nosuch)
S hist:keys=next_pid:onchange($m4)
S hist:keys=next_pid:onfoo(x)
N hist:keys=id.syscall
N hist:keys=id.syscall,common_pid.execname:vals=hitcount:sort=hitcount.descending if id == 1
N hist:keys=args
N hist:keys=args[0]
N hist:keys=id.sym-offset
N hist:keys=id.string
N hist:keys=id.stacktrace
F prev_pid == 1
F prev_pid ==
F prev_pid == x
F prev_pid = 1
F prev_comm == "sh"
F prev_comm == 'sh'
F prev_comm ~ "s*"
F prev_comm ~ sh
F prev_comm > "sh"
F prev_comm == "sh
F prev_pid ~ 1
F (prev_pid == 1
F prev_pid == 1)
F && prev_pid == 1
F prev_pid == 1 || prev_pid == 2 && !(next_pid == 3)
F !prev_pid == 1
F !!(prev_pid == 1)
F prev_pid & 1
F prev_pid != -1
F prev_pid == 99999999999999999999
F prev_pid == 0x1f
F prev_pid == 010
F CPU == 0
F cpu == 0
F CPU & CPUS{0-1}
F prev_pid & CPUS{0}
F CPU & CPUS{x}
F CPUS{0}
F comm == "sh"
F COMM ~ "a*"
F stacktrace == 1
F common_pid == 1
F prev_state & 1 || common_flags == 0
F prev_pid == 1 extra
F 
F 0
F 1
F .function == vfs_read
F prev_pid.function == vfs_read
F next_comm.ustring == "a"
G args == 1
G id == 1 && args[0] == 1
G id.function == vfs_read
X
cat $S/trigger $W/trigger $N/trigger $S/filter $N/filter
