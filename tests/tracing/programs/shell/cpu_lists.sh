# Sets of CPUs in filters, as since 6.6.
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing
cd /sys/kernel/tracing
while read -r l; do echo "CPU & CPUS{$l}" > events/sched/sched_switch/filter 2>/dev/null; echo "[$l] $?"; grep parse_error events/sched/sched_switch/filter; done <<'X'
all
ALL
none
N
N-N
n
0-N
0-0:1/1
0-0:1/2
0-0:0/1
0-0:2/1
0-0:1
all:1/2
0x0
00
0;
0 0
-
0-
-0
,
,0
0,,0
0-1
1
0-0,
N-0
all,0
0-0:1/0
0/1
a
4294967296
0\t0
X
