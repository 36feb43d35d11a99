# options/fields: every field of an entry by its name, whatever the event's own text is
cd /sys/kernel/tracing
echo nohash-ptr > trace_options 2>/dev/null
echo 1 > options/fields; echo $?; grep -c '^fields$' trace_options
t() { e=$1; shift; echo "== $e"; echo > trace; echo 1 > events/$e/enable || return; "$@" > /dev/null 2>&1; echo 0 > events/$e/enable
grep -v '^#' trace | grep -v ' rcu_\| kworker\| ksoftirqd\|migration/\| kcompact\|<idle>\|kdamon' | sed 's/^ *[^ ]*-[0-9]* *\[[0-9]*\] [^ ]* *[0-9.]*: //; s/\(pid=0x\)[0-9a-f]* ([0-9]*)/\1PID/g; s/0x[0-9a-f]\{7,\} (-\{0,1\}[0-9]*)/BIG/g; s/0x[0-9a-f]\{7,\}/BIG/g; s/+0x[0-9a-f]*.0x[0-9a-f]* (-[0-9]*)/+N/g; s/+0x[0-9a-f]*.0x[0-9a-f]*/+N/g; s/ id=0x[0-9a-f]* ([0-9]*)/ id=N/; s/root=0 id=[0-9]*/root=0 id=N/; s/filename_unlinkat/do_unlinkat/' | head -${N:-2}; }
t syscalls/sys_enter_lseek /w 2
t syscalls/sys_exit_lseek /w 2
t syscalls/sys_enter_unlink rm -f /tmp/none
t raw_syscalls/sys_exit true
t sched/sched_process_exec busybox true
t task/task_rename sh -c true
t task/task_newtask sh -c 'true & wait'
t signal/signal_generate sh -c 'kill -URG $$'
t sched/sched_wakeup_new sh -c 'true & wait'
t oom/oom_score_adj_update sh -c 'echo 5 > /proc/self/oom_score_adj'
t cgroup/cgroup_mkdir sh -c 'mkdir -p /cg; mount -t cgroup2 c /cg; mkdir /cg/a; rmdir /cg/a; umount /cg'
t sock/inet_sock_set_state sh -c 'nc -l -p 9 -w 1'
cp /bin/busybox "/tmp/true	x"; cp /bin/busybox /tmp/true; N=3 t sched/sched_process_exec sh -c '"/tmp/true	x"; /tmp/true'
echo 'p:k1 vfs_unlink m=\7:u8 n=\0:u8 t=\9:u8 sp=\32:u8 del=\127:u8 a0=\160:u8 c1=\65:x8 s=\"word" i=\-3:s16 u=\200:u8 x=\255:x8 y=\4096:x32 z=\-1:s64 w=\5:x64 b=\12:b2@2/32 d=\-7:s8' >> kprobe_events; echo $?
t kprobes/k1 sh -c 'echo > /tmp/q; rm /tmp/q'
echo 'p:k3 vfs_unlink a=$comm arr=@linux_banner:x8[4] arr2=@linux_banner:u16[2] arr3=@linux_banner:u8[3] arr5=@linux_banner:u8[16]' >> kprobe_events; echo $?
t kprobes/k3 sh -c 'echo > /tmp/q; rm /tmp/q'
echo 'r:k4 vfs_unlink ret=$retval:s32' >> kprobe_events; t kprobes/k4 sh -c 'echo > /tmp/q; rm /tmp/q'
echo 'e:e1 syscalls.sys_enter_lseek off=$offset:s64 c=$comm:string' >> dynamic_events; t eprobes/e1 /w 2
echo 'syn pid_t p; long q; char n[]; char m[16]' >> synthetic_events; echo 'hist:keys=common_pid:o=offset,n=common_pid.execname' > events/syscalls/sys_enter_lseek/trigger; echo $?
echo 'syn3 pid_t p; long q' >> synthetic_events; echo 'hist:keys=common_pid:p=$o:onmatch(syscalls.sys_enter_lseek).trace(syn3,common_pid,ret)' > events/syscalls/sys_exit_lseek/trigger; echo $?; t synthetic/syn3 /w 2
echo > trace; echo hello > trace_marker; printf '\3\0\0\0abcdef' > trace_marker_raw; grep -v '^#' trace | sed 's/.*[0-9]: //; s/TYPE 1[0-9]/TYPE N/; s/buf:.*/buf/'
echo vfs_unlink > set_ftrace_filter; echo function > current_tracer; echo > trace; sh -c 'echo > /tmp/q; rm /tmp/q'; grep -v '^#' trace | sed 's/.*[0-9]: //; s/0x[0-9a-f]*/ADDR/g; s/(-[0-9]*)/(N)/g; s/+ADDR.ADDR/+N/g; s/filename_unlinkat/do_unlinkat/'; echo nop > current_tracer
echo function_graph > current_tracer; echo > trace; sh -c 'echo > /tmp/q; rm /tmp/q'; grep -v '^#' trace | sed 's/[0-9.]* us/N us/g; s/0x[0-9a-f]*/N/g; s/([0-9]*)/(N)/g' | grep -v '^ *-\|=>' | sed 's/.*|/|/'; echo nop > current_tracer
echo 1 > options/stacktrace; t sched/sched_process_exec busybox true | grep -v '=>'; echo 0 > options/stacktrace
mkdir instances/i; cat instances/i/options/fields; echo 0 > instances/i/options/fields; cat options/fields; rmdir instances/i
echo 0 > options/fields; t kprobes/k4 sh -c 'echo > /tmp/q; rm /tmp/q'
