# what the places of events hold (preemption, interrupts), and who stands above them on the stack
cd /sys/kernel/tracing
show() { grep -v '^#' trace | sed 's/^ *\([a-z]*\)-[0-9]* */\1 /; s/^exe \|^busybox /sh /; s/\[000\] \(.\)N/[000] \1./; s/ *[0-9]*\.[0-9]*: / T: /; s/+0x[0-9a-f]*.0x[0-9a-f]*/+N/g; s/pid=[0-9]*/pid=P/g' | head -$1; }
on() { echo > trace; echo 1 > events/$1/enable; e=$1; n=$2; shift; shift; "$@"; echo 0 > events/$e/enable; show $n; }
for e in raw_syscalls/sys_enter raw_syscalls/sys_exit syscalls/sys_enter_lseek syscalls/sys_exit_lseek; do echo "== $e"; on $e 400 /w 2 | grep '^w' | grep 'lseek\|NR 8 ' | head -1; done
echo 'p:k ksys_lseek' > kprobe_events; echo 'e:e syscalls.sys_enter_lseek' >> dynamic_events; echo 'e:f sched.sched_process_exec' >> dynamic_events
for e in kprobes/k eprobes/e sched/sched_process_exec eprobes/f task/task_rename; do echo "== $e"; on $e 1 sh -c '/w 2; kill -0 $$; busybox true'; done
echo 1 > options/stacktrace; for e in syscalls/sys_enter_lseek syscalls/sys_exit_lseek kprobes/k eprobes/e; do echo "== $e"; on $e 12 /w 2; done
echo 'r:kr vfs_read' >> kprobe_events; echo 'f:fe vfs_read' >> dynamic_events; echo 'f:fx vfs_read%return' >> dynamic_events
for e in kprobes/kr fprobes/fe fprobes/fx; do echo "== $e"; on $e 14 cat /dev/null; done
f() { echo "== function $1"; echo vfs_read > set_ftrace_filter; echo function > current_tracer; echo 1 > options/func_stack_trace; echo > trace; cat /dev/null; show 200 | sed '/^cat/,$!d' | head -7; echo nop > current_tracer; echo > set_ftrace_filter; }
echo 0 > options/stacktrace; f 'and probes that are off'
echo 1 > events/kprobes/kr/enable; f 'and a return probe'; echo 0 > events/kprobes/kr/enable
echo > dynamic_events; f alone
g() { grep vfs_ enabled_functions | sed 's/0xffff[0-9a-f]*/ADDR/g'; }
echo vfs_read > set_ftrace_filter; for t in function function_graph; do echo $t > current_tracer; g; echo 1 > set_ftrace_pid; g; echo > set_ftrace_pid; done; echo nop > current_tracer
