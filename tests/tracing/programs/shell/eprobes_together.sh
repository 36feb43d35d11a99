# event probes on tracepoints, on system calls, on other dynamic events; with filters, types, deletion order
cd /sys/kernel/tracing
log() { sed 's/^\[.*\] //' error_log; echo > error_log; }
e() { echo "$1" >> dynamic_events; echo "[$1] $?"; log; }
e 'e:op syscalls/sys_enter_openat file=+0($filename):ustring flags=$flags:x32'
e 'e:grp/ls syscalls/sys_enter_lseek off=$offset:s64 w=$whence:u8 fd=$fd'
e 'e syscalls/sys_exit_lseek ret=$ret'
e 'e:bad syscalls/nosuch x=$y'
e 'e:bad nosuch/sys_enter_read'
e 'e:bad syscalls/sys_enter_read x=$nosuch'
e 'e:bad syscalls.sys_enter_read x=$fd'
e 'e:ok1 syscalls.sys_enter_read y=$fd'
e 'e:bad syscalls/sys_enter_read x=%di'
e 'e:ok2 syscalls/sys_enter_read $fd $count'
e 'e:bad syscalls/sys_enter_read x=$fd:nosuch'
e 'e:c sched/sched_switch c=$prev_comm:string n=$next_pid:u16 k=$comm:string p=$COMM'
e 'e:bad syscalls/sys_enter_read x=$retval'
e 'e:bad syscalls/sys_enter_read x=$stack'
e 'e:bad syscalls/sys_enter_read x=$arg1'
e 'e:bad syscalls/sys_enter_read x=@jiffies'
e 'e:bad syscalls/sys_enter_read x=\5'
e 'e:fl syscalls/sys_enter_read x=$fd if count == 5'
e 'e:fl2 syscalls/sys_enter_read x=$fd if nosuch == 5'
e 'e:fl3 syscalls/sys_enter_read if fd == 5'
e 'e:fl4 syscalls/sys_enter_read x=$fd if'
e 'e:grp/ls syscalls/sys_enter_lseek off=$offset'
e 'e:grp/ls syscalls/sys_enter_read off=$fd'
e 'e:w kprobes/k x=$y'
e 'p:k ksys_lseek y=$arg2'
e 'e:w kprobes/k x=$y'
e 'e:ww eprobes/w x=$x'
e 'e:self eprobes/self x=$x'
e 's:syn int a; long b'
e 'e:onsyn synthetic/syn a=$a'
e 'e:onprint ftrace/print x=$ip'
e 'e:onfn ftrace/function x=$ip'
cat dynamic_events; ls -1 events/eprobes
for v in op c ok2 w; do sed 's/ID: .*/ID/' events/eprobes/$v/format; done
echo 1 > events/eprobes/op/enable; echo 1 > events/grp/enable; echo 1 > events/eprobes/w/enable; cat events/kprobes/k/enable events/syscalls/sys_enter_lseek/enable
/w 1; echo 0 > events/eprobes/enable; echo 0 > events/grp/enable
grep -v '^#' trace | grep -v 'file=.*sh' | sed 's/.*: \([a-z]*: (\)/\1/'
e '-:kprobes/k'
e '-:eprobes/w'
e '-:kprobes/k'
e '-:nosuch'
e '-:eprobes/op syscalls/sys_enter_openat'
e '-:eprobes/op2'
e '-:grp/ls'
cat dynamic_events; echo > dynamic_events; echo rc $?; cat dynamic_events
