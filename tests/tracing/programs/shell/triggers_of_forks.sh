# what is said to: triggers
T=/sys/kernel/tracing; [ -d $T ] || T=/sys/kernel/debug/tracing
cd $T
say() { echo "== $*"; }
try() { "$@" 2>/tmp/err; echo "rc $?"; sed 's/^[^:]*: *//' /tmp/err; }
put() { echo "$1" >> "$2" 2>/tmp/err && echo "ok $1" || { echo "refused $1: $(sed 's/.*: //' /tmp/err)"; tail -4 error_log | sed 's/^\[[^]]*\] //'; } }
norm() { sed -e 's/^ *[^ ]*-[0-9]* *\[[0-9]*\] \(.....\) *[0-9.]*:/TASK \1/' -e 's/0x[0-9a-f]\{6,\}/ADDR/g'; }
say triggers
E=events/sched/sched_process_fork
for t in traceoff traceon:3 'traceoff:0' 'traceoff:x' 'stacktrace:2' 'snapshot:1' 'snapshot' 'enable_event:sched:sched_switch' 'enable_event:sched:sched_switch:2' 'disable_event:sched:sched_switch' 'enable_event:sched:nope' 'enable_event:sched' 'enable_event' 'traceoff if parent_pid == 1' 'traceoff if nope == 1' 'nope' 'traceoff' 'stacktrace if' 'hist' 'hist:keys=child_pid' 'hist:keys=nope' 'hist:vals=child_pid' 'hist:keys=parent_comm,child_comm:vals=hitcount:sort=hitcount.descending:size=128' 'hist:keys=parent_pid:size=1' 'hist:keys=parent_pid.log2' 'hist:keys=parent_pid.foo' 'hist:keys=common_pid.execname:name=n1' 'hist:name=n1:keys=parent_comm' 'hist:keys=child_pid:x=child_pid' 'hist:keys=child_pid:x=child_pid-parent_pid,y=$x*2' 'hist:keys=child_pid:z=$nope' 'hist:keys=common_timestamp.usecs' 'hist:keys=parent_pid.buckets=8' 'hist:keys=parent_pid.buckets=0' 'hist:keys=a,b,c,d,e'; do
 put "$t" $E/trigger; done
cat $E/trigger
put '!traceoff' $E/trigger; put '!nope' $E/trigger; put '!hist:keys=child_pid' $E/trigger; put '!hist:keys=child_pid' $E/trigger
cat $E/trigger
cat events/sched/sched_switch/enable
for i in 1 2 3; do (true); done
cat tracing_on
head -8 $E/hist | sed 's/[0-9]\+/N/g'
: > $E/trigger; cat $E/trigger
