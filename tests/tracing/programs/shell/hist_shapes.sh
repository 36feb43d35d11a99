# what histograms show of keys and values: modifiers, sorting, sizes, strings, several of one event, pause and clear
cd /sys/kernel/tracing
log() { sed 's/^\[.*\] //' error_log; echo > error_log; }
L=syscalls/sys_enter_lseek; W=syscalls/sys_enter_write; X=syscalls/sys_exit_write; F=sched/sched_process_fork; E=sched/sched_process_exec
t() { echo "$2" >> events/$1/trigger; echo "[$2] $?"; log; }
h() { sed 's/common_pid: *[0-9]*/common_pid: PID/; s/w  *\[ *[0-9]*\]/w [PID]/; s/[0-9a-f]\{16\}/ADDR/g' events/$1/hist | grep -v '^$'; }
t $L 'hist:keys=offset'; t $L 'hist:keys=offset.hex:vals=whence,hitcount:sort=offset.descending'; t $L 'hist:keys=offset.log2'; t $L 'hist:keys=offset.buckets=2'; t $L 'hist:keys=offset.buckets=0'; t $L 'hist:keys=offset.buckets'; t $L 'hist:keys=offset.percent'; t $L 'hist:keys=offset.nosuch'; t $L 'hist:keys=offset.sym,whence.sym-offset'; t $L 'hist:keys=offset.syscall'; t $L 'hist:keys=common_pid.execname:vals=offset:sort=hitcount.descending,offset'
t $L 'hist:keys=offset,whence,fd,common_pid:size=16'; t $L 'hist:keys=offset:size=5'; t $L 'hist:keys=offset:size=1'; t $L 'hist:keys=offset:size=0'; t $L 'hist:keys=offset:size=999999999'; t $L 'hist:keys=offset:sort=nosuch'; t $L 'hist:keys=offset:sort=fd'; t $L 'hist:keys=offset:sort=offset.up'; t $L 'hist:keys=offset:sort=offset,hitcount,offset'; t $L 'hist:keys=offset:sort='; t $L 'hist:keys='; t $L 'hist:'; t $L 'hist'; t $L 'hist:vals=offset'; t $L 'hist:keys=offset:keys=fd'; t $L 'hist:keys=a,b,c,d,e'; t $L 'hist:keys=offset:vals=nosuch'; t $L 'hist:keys=offset:vals='; t $L 'hist:keys=offset:vals=fd.hex,whence.log2'; t $L 'hist:keys=offset:name=n1'; t $W 'hist:keys=count:name=n1'; t $W 'hist:keys=count.hex,fd:vals=count'; t $L 'hist:name=n1'; t $W 'hist:keys=offset:name=n1'
t $L 'hist:keys=stacktrace:vals=offset'; t $L 'hist:keys=offset:nohitcount'; t $L 'hist:keys=offset:vals=fd:nohitcount'; t $L 'hist:keys=offset:nosuch'; t $L 'hist:keys=offset:pause'; t $L 'hist:keys=offset:cont'; t $L 'hist:keys=offset:clear'; t $L 'hist:keys=whence:pause'
t $E 'hist:keys=filename'; t $E 'hist:keys=filename.hex'; t $E 'hist:keys=filename.execname'; t $F 'hist:keys=parent_comm,child_comm'; t $F 'hist:keys=child_pid.execname'; t $X 'hist:keys=ret'; t $X 'hist:keys=ret.hex,__syscall_nr.syscall'; t $X 'hist:keys=id.syscall'; t raw_syscalls/sys_enter 'hist:keys=id.syscall:vals=hitcount:sort=id if common_pid == 1'
for e in $L $W $E; do cat events/$e/trigger; done
/w 5 f
h $L | grep -v 'execname\|sh  *\]' | sed '/{ stacktrace/,/}/d' | head -150
t $L 'hist:keys=offset:clear'; h $L | tail -8; t $L 'hist:keys=whence:cont'; /w 1; t $L '!hist:keys=offset.log2'; t $L '!hist:keys=offset.log2'; t $L '!hist'; t $L '!hist:keys=whence'; t $L '!hist:keys=offset:nohitcount'
cat events/$L/trigger
