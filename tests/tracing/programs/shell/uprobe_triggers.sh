# User probes of one place; an event that cannot be on, and triggers on it.
cd /sys/kernel/tracing
O=0xc30  # where the program begins
for d in "p:u1 /w:$O" "p:u2 /w:$O c=\$comm s=+0(%sp):u64 st=\$stack0:u8 argv=+0(+8(%sp)):string i=\\5 t=\\\"lit\"" "p:u3 /w:$O argc=+0(%sp):s32 a0=+0(+8(%sp)):ustring a1=+0(+16(%sp)):string" "p:u5 /w:$O ip=%ip:x64 elf=@0x400001:string e=@+1:string x=@+4:x8[3]" "p:u6 /w:$O bad=@0:u8 bads=+0(@0):string arr=+8(%sp):x64[2]" "p:u7 /w:$O w=+0(%sp):b4@0/8 ch=+0(+8(%sp)):char oct=\\010" 'p:u8 /none:0x10' "p:u9 /w:0x10 x=%ax:symbol"; do echo "$d" >> uprobe_events; echo rc $?; done
sed "s/$O/OFF/;s/0x0000[0-9a-f]*/OFF/" uprobe_events
for i in 1 2 3 5 6 7; do tail -1 events/uprobes/u$i/format;  echo 1 > events/uprobes/u$i/enable; done
echo > trace; /w 1; /w 2 x; grep -v '^#' trace | sed 's/.*: u/u/' | sed 's/0x7ff[0-9a-f]*/STACK/g'; cat uprobe_profile | sed 's/^ *//'
for i in 1 2 3 5 6 7; do echo 0 > events/uprobes/u$i/enable; done; echo > trace
echo 'argc > 1' > events/uprobes/u3/filter; echo rc $?; echo 'argc > 2' > events/uprobes/u3/filter; cat events/uprobes/u3/filter; echo 'hist:keys=argc' > events/uprobes/u3/trigger; echo rc $?; cat events/uprobes/u3/trigger; cat events/uprobes/u3/enable; echo 1 > events/uprobes/u3/enable; /w; /w 1; /w 1 x; grep -c u3: trace; cat events/uprobes/u3/hist | grep -v '^#'
echo > uprobe_events; echo rc $?; echo 0 > events/uprobes/u3/enable; echo > uprobe_events; echo rc $?; echo '!hist:keys=argc' > events/uprobes/u3/trigger;  echo > uprobe_events; echo rc $?; cat uprobe_events
echo "p:bad /w:0x7" > uprobe_events; echo rc $?; for t in stacktrace traceoff:3 hist:keys=common_pid 'enable_event:sched:sched_switch' snapshot; do echo "$t" > events/uprobes/bad/trigger; echo rc $?; grep -v '^#' events/uprobes/bad/trigger; cat events/uprobes/bad/enable events/sched/sched_switch/enable; cat error_log | tail -3 | sed 's/^\[.*\]/[T]/'; done
mkdir instances/u; echo 1 > instances/u/events/uprobes/bad/enable; echo rc $?; cat instances/u/events/uprobes/bad/enable; echo 1 > events/uprobes/enable; echo rc $?; cat events/uprobes/enable; echo uprobes > set_event; echo rc $?; echo 'uprobes:*' >> set_event; echo rc $?; cat set_event;  echo 1 > events/enable; echo rc $?; cat events/enable; echo 0 > events/enable
echo 'traceoff' > events/sched/sched_wakeup/trigger; echo 'enable_event:uprobes:bad' > events/sched/sched_wakeup/trigger; echo rc $?; cat events/sched/sched_wakeup/trigger; echo "vfs_write:enable_event:uprobes:bad" > set_ftrace_filter; echo rc $?; cat set_ftrace_filter
rmdir instances/u; echo > uprobe_events; echo rc $?
