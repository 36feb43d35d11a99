# histograms of syscalls that one loop makes: what the tables say.
cd /sys/kernel/tracing
show() { cat events/$1/hist | sed 's/[0-9a-f]\{12,\}/ADDR/g; s/^# trigger info/#trigger/'; }
e=syscalls/sys_enter_lseek
run() { echo "$1" > events/$e/trigger || echo "refused"; dd if=/dev/zero of=/dev/null bs=100 skip=3 count=2 2>/dev/null; for i in 1 2 3; do dd if=/w of=/dev/null bs=$((i*10)) skip=$((i*2)) count=1 2>/dev/null; done; show $e | grep -v '^$'; echo "!$1" > events/$e/trigger; }
run 'hist:keys=offset if common_pid != 0 && fd == 0'
run 'hist:keys=offset.hex,whence if fd == 0'
run 'hist:keys=offset.log2 if fd == 0'
run 'hist:keys=offset.buckets=25 if fd == 0'
run 'hist:keys=whence:vals=offset,fd:sort=offset.descending if fd == 0'
run 'hist:keys=offset:vals=offset.percent if fd == 0'
run 'hist:keys=whence:o=offset*2:vals=offset+1,$o if fd == 0'
run 'hist:keys=common_pid.execname,whence:vals=offset:sort=hitcount if fd == 0' | sed 's/:[ ]*[0-9]* \]/: PID ]/;s/\[ *[0-9]*\]/[PID]/'
run 'hist:keys=offset:size=128:pause if fd == 0'
run 'hist:keys=__syscall_nr.syscall if fd == 0'
run 'hist:keys=id.syscall if fd == 0'
e=raw_syscalls/sys_enter
run 'hist:keys=id.syscall:sort=id if id == 8 && common_pid != 1'
run 'hist:keys=id.syscall:vals=hitcount,id:sort=id if id == 8'
run 'hist:keys=common_cpu if id == 8'
run 'hist:keys=id,common_cpu:sort=common_cpu,id.descending if id == 8 || id == 257'
