# latency between two events through variables, onmatch into a synthetic event, and its histogram
cd /sys/kernel/tracing
echo 'rw_lat u64 gap; pid_t pid; int fd; char name[16]' > synthetic_events; cat synthetic_events
cat events/synthetic/rw_lat/format | sed 's/ID: .*/ID/'
echo 'hist:keys=common_pid:ts0=common_timestamp.usecs:f=fd:s=count if count==11' > events/syscalls/sys_enter_write/trigger; echo rc $?
echo 'hist:keys=common_pid:gap=common_timestamp.usecs-$ts0,ff=$f:onmatch(syscalls.sys_enter_write).rw_lat($gap,common_pid,$ff,common_comm)' > events/syscalls/sys_enter_lseek/trigger; echo rc $?
sed 's/^\[.*\] //' error_log
echo 'hist:keys=common_pid:gap=common_timestamp.usecs-$ts0,ff=$f:onmatch(syscalls.sys_enter_write).rw_lat($gap,common_pid,$ff,comm)' > events/syscalls/sys_enter_lseek/trigger; echo rc $?
sed 's/^\[.*\] //' error_log
echo > synthetic_events; echo 'rw_lat u64 gap; pid_t pid; int fd' > synthetic_events; echo rc $?
echo 'hist:keys=common_pid:gap=common_timestamp.usecs-$ts0,ff=$f:onmatch(syscalls.sys_enter_write).rw_lat($gap,common_pid,$ff)' > events/syscalls/sys_enter_lseek/trigger; echo rc $?
echo 'hist:keys=fd,pid.execname:vals=hitcount,gap:sort=fd' > events/synthetic/rw_lat/trigger
echo 1 > events/synthetic/rw_lat/enable
/w 5
cat events/syscalls/sys_enter_lseek/trigger events/syscalls/sys_enter_write/trigger events/synthetic/rw_lat/trigger
grep -c rw_lat: trace
grep rw_lat: trace | sed 's/gap=[0-9]*/gap=N/'
sed 's/gap: *[0-9]*/gap: N/;s/\[ *[0-9]*\]/[PID]/' events/synthetic/rw_lat/hist
sed 's/ts0: *[0-9]*/ts0: N/;s/common_pid: *[0-9]*/common_pid: PID/;s/gap: *[0-9]*/gap: N/' events/syscalls/sys_enter_write/hist
sed 's/ts0: *[0-9]*/ts0: N/;s/common_pid: *[0-9]*/common_pid: PID/;s/gap: *[0-9]*/gap: N/' events/syscalls/sys_enter_lseek/hist
echo > synthetic_events; echo rc $?
cat synthetic_events
echo '!hist:keys=common_pid:gap=common_timestamp.usecs-$ts0,ff=$f:onmatch(syscalls.sys_enter_write).rw_lat($gap,common_pid,$ff)' > events/syscalls/sys_enter_lseek/trigger; echo rc $?
echo '!hist:keys=common_pid:ts0=common_timestamp.usecs:f=fd:s=count if count==11' > events/syscalls/sys_enter_write/trigger; echo rc $?
echo '-:synthetic/rw_lat' >> dynamic_events; echo rc $?
echo 0 > events/synthetic/rw_lat/enable; echo '-:synthetic/rw_lat' >> dynamic_events; echo rc $?
echo '!hist:keys=fd,pid.execname:vals=hitcount,gap:sort=fd' > events/synthetic/rw_lat/trigger;echo '-:synthetic/rw_lat' >> dynamic_events; echo rc $?
ls events/synthetic 2>&1; cat dynamic_events
sed 's/^\[.*\] //' error_log
