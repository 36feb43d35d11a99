# what is said to: synthetic
T=/sys/kernel/tracing; [ -d $T ] || T=/sys/kernel/debug/tracing
cd $T
say() { echo "== $*"; }
try() { "$@" 2>/tmp/err; echo "rc $?"; sed 's/^[^:]*: *//' /tmp/err; }
put() { echo "$1" >> "$2" 2>/tmp/err && echo "ok $1" || { echo "refused $1: $(sed 's/.*: //' /tmp/err)"; tail -4 error_log | sed 's/^\[[^]]*\] //'; } }
norm() { sed -e 's/^ *[^ ]*-[0-9]* *\[[0-9]*\] \(.....\) *[0-9.]*:/TASK \1/' -e 's/0x[0-9a-f]\{6,\}/ADDR/g'; }
say synthetic
put 'wl u64 lat; pid_t pid; char comm[16]' synthetic_events
put 'w2 u64 lat' synthetic_events
put 'w2 u64 lat; u32 b' synthetic_events
put 'w3 nope x' synthetic_events
put 'w4 char s[]; unsigned long long q; bool b; gfp_t g; s8 a; u16 bb' synthetic_events
put 'w5 u64' synthetic_events
put 'w-6 u64 a' synthetic_events
put 'w7 u64 a; u64 a' synthetic_events
put 'w8 u64 a[5]' synthetic_events
put 'w9 char a[0]' synthetic_events
put 'w10 char a[300]' synthetic_events
put 'w11' synthetic_events
put 's:w12 u64 a' dynamic_events
put 's:foo/w13 u64 a' dynamic_events
put '!w2 u64 lat' synthetic_events
put '!nope' synthetic_events
put '-:w12' dynamic_events
cat synthetic_events; cat dynamic_events
cat events/synthetic/w4/format | grep -v ^ID; cat events/synthetic/wl/format | grep -v ^ID
put 'hist:keys=pid:ts0=common_timestamp.usecs' events/sched/sched_waking/trigger
put 'hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wl($lat,next_pid,next_comm)' events/sched/sched_switch/trigger
put 'hist:keys=next_pid:l2=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wl($l2)' events/sched/sched_switch/trigger
put 'hist:keys=next_pid:l3=common_timestamp.usecs-$ts0:onmax($l3).save(next_comm,prev_pid)' events/sched/sched_switch/trigger
put 'hist:keys=next_pid:onchange($nope).snapshot()' events/sched/sched_switch/trigger
put 'hist:keys=next_pid:l4=next_prio:onchange($l4).snapshot()' events/sched/sched_switch/trigger
put 'hist:keys=next_pid:onmatch(nope.nope).wl(1)' events/sched/sched_switch/trigger
cat events/sched/sched_switch/trigger events/sched/sched_waking/trigger
put '!wl u64 lat' synthetic_events
echo 1 > events/synthetic/wl/enable; sleep 0.05; echo 0 > events/synthetic/wl/enable; grep -q 'wl: lat=' trace && echo fired
put '!hist:keys=next_pid:l4=next_prio:onchange($l4).snapshot()' events/sched/sched_switch/trigger
cat events/sched/sched_switch/trigger
