# Names of symbols that event probes fetch: what they take, and from where.
cd /sys/kernel/tracing
echo 'e:x1 syscalls.sys_exit_lseek a=$ret:symstr' >> dynamic_events; echo rc $?
echo 'e:x2 workqueue.workqueue_execute_start a=$function:symstr b=$function:symbol c=$work:x64' >> dynamic_events; echo rc $?
echo 'e:x3 syscalls.sys_enter_lseek a=$common_pid:symstr b=@linux_banner:symstr c=\7:symstr d=+0($offset):symstr e=+u0($offset):symstr' >> dynamic_events; echo rc $?
echo 'e:x3 syscalls.sys_enter_lseek a=$comm:symstr' >> dynamic_events; echo rc $?
echo 'e:x4 syscalls.sys_enter_lseek d=+0($offset):symstr' >> dynamic_events; echo rc $?
echo 'e:x5 syscalls.sys_enter_lseek d=\7:symstr' >> dynamic_events; echo rc $?
echo 'e:x6 syscalls.sys_enter_lseek d=@linux_banner:symstr' >> dynamic_events; echo rc $?
echo 'e:x7 syscalls.sys_enter_lseek d=$offset:symstr[2]' >> dynamic_events; echo rc $?
echo 'e:x8 irq.softirq_entry d=$vec:symstr' >> dynamic_events; echo rc $?
echo 'e:y1 irq.irq_handler_entry d=$name:symstr' >> dynamic_events; echo rc $?
cat dynamic_events; cat error_log | sed 's/^\[.*\]/[T]/'
for e in x1 x5 x6 x7; do [ -d events/eprobes/$e ] && { tail -1 events/eprobes/$e/format; sed 1,8d  events/eprobes/$e/format|head -5; echo 1 > events/eprobes/$e/enable; }; done
/w 2; grep 'w-' trace | sed 's/.*: \([xy][0-9]: \)/\1/;s/+0x[0-9a-f/x]*/+OFF/' | sort | uniq -c | sort -k2 | head -20
