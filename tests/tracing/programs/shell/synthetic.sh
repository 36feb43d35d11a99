cd /sys/kernel/tracing
t() { echo "# $2"; echo "$2" > events/$1/trigger; echo "rc $?"; }
s() { echo "# $1"; echo "$1" >> synthetic_events; echo "rc $?"; }
s 'lat u64 delta; pid_t pid; char comm[16]'
s 'lat u64 delta'
s 'lat2 unsigned long a; int b; s8 c; bool d; char *e'
s 'bad nosuch_t x'
s 'bad u64'
s 'bad u64 a u64 b'
s 'bad u64 a; u64 a'
s 'bad u64 1a'
s '1bad u64 a'
s 'bad'
s 'bad;'
s 'bad u64 a[4]'
s 'bad char x[]; int y'
s 'bad2 char x[0]'
s 'bad2 char x[300]'
s 'bad2 __data_loc char x[]'
s 'str char[] x; char y[8]'
s 'gf gfp_t x; long long y; unsigned z; short w; size_t q; u8 r;s64 t'
s '!nosuch'
s '!lat2'
s 's:foo u64 a'
s 'struct2 struct foo x'
s 'st unsigned long stack[]'
s 'spaces    u64   a ;   u32  b  ;'
s 'a/b u64 a'
s 'synthetic/bq u64 a'
echo === list; cat synthetic_events; cat dynamic_events
for e in lat str gf bad; do echo "== $e"; tail -n +9 events/synthetic/$e/format; done
t raw_syscalls/sys_enter 'hist:keys=common_pid:ts0=common_timestamp.usecs,i=id if comm=="w"'
t raw_syscalls/sys_exit 'hist:keys=common_pid:d=common_timestamp.usecs-$ts0,j=$i:onmatch(raw_syscalls.sys_enter).lat($d,common_pid,comm)'
t raw_syscalls/sys_exit 'hist:keys=common_pid:i2=$i,x=id:onmatch(raw_syscalls.sys_enter).gf($i2,id,id,id,id,id,id) if comm=="w"'
t raw_syscalls/sys_exit 'hist:keys=common_pid:i2=$i:onmatch(raw_syscalls.sys_enter).gf($i2)'
t raw_syscalls/sys_exit 'hist:keys=common_pid:i3=$i:onmatch(raw_syscalls.sys_enter).nosuch($i3)'
t raw_syscalls/sys_exit 'hist:keys=common_pid:i4=$i:onmatch(raw_syscalls.nosuch).lat($i4,common_pid,comm)'
t raw_syscalls/sys_exit 'hist:keys=common_pid:i5=$i:onmatch(sched.sched_switch).lat($i5,common_pid,comm)'
t raw_syscalls/sys_exit 'hist:keys=common_pid:i6=$i:onmatch(raw_syscalls.sys_enter).trace(gf,$i6,id,id,id,id,id,id):onmax($i6).save(id,comm) if comm=="w"'
t raw_syscalls/sys_exit 'hist:keys=common_pid:i7=$i:onchange($i7).save(id) if comm=="w"'
echo 1 > events/synthetic/gf/enable
t synthetic/gf 'hist:keys=x,y:vals=z,w:sort=x,y.descending'
t synthetic/gf 'hist:keys=z.log2:sort=z'
/w 2
echo === hists
cat events/raw_syscalls/sys_exit/trigger
cat events/synthetic/gf/hist
grep -c gf: trace; grep gf: trace | head -30
cat events/raw_syscalls/sys_enter/hist | grep -v ts0
cat events/raw_syscalls/sys_exit/hist
echo === errors; cat error_log
echo '!lat' > synthetic_events; echo rc $?; cat synthetic_events
