# error_log: its length, clearing, truncation, per instance, which parser says what
cd /sys/kernel/tracing
cat error_log; L=events/syscalls/sys_enter_read
log() { sed 's/^\[.*\] //' error_log; echo > error_log; }
for f in 'fd == ' 'fd' 'fd ==' 'fd = 3' 'fd == x' 'fd ~ "x"' 'fd > 3 &&' '(fd > 3' 'fd > 3)' 'fd > 3 && (count < 5 || buf' 'nosuch == 1' 'fd & 3' 'fd =! 3' 'fd == 0x' 'fd == 99999999999999999999' 'fd == -1' '!fd == 3' '!(fd == 3)' 'fd == 3 || fd == 4 && !(count == 5)' 'common_pid == 3' 'comm == "x"' 'comm ~ "x*"' 'COMM != x' 'CPU == 0' 'cpu == 9' 'common_foo == 1' 'fd == "3"' "fd == '3'" 'fd==3' 'fd==3&&count==4' 'fd===3' 'fd <> 3' 'fd.nosuch == 3' 'buf == 0xfff' 'buf & 1' 'stacktrace == 1' 'fd == 3 garbage' '&& fd == 3' '()' '((fd==3))' '0' '1' '!' 'fd !~ "3"' 'comm !~ "sh"' 'comm > "a"' 'comm == ' 'comm == "' 'comm == "abc' 'CPUS{0}' 'cpu & CPUS{0}' 'fd in 3' 'function == x' 'common_type == 1' 'common_flags == 1' 'common_preempt_count == 1'; do echo "$f" > $L/filter; echo "[$f] $?"; cat $L/filter; log; done
for f in 'prev_comm ~ "*sh"' 'prev_comm ~ "s?"' 'prev_comm == sh' 'prev_comm == "averyveryverylongnamethatdoesnotfit"' 'prev_comm < 1' 'prev_pid ~ 1' 'prev_comm ~ sh' "prev_comm == 'a b'"; do echo "$f" > events/sched/sched_switch/filter; echo "[$f] $?"; cat events/sched/sched_switch/filter; log; done
echo 'fd == 3' > events/syscalls/filter; echo rc $?; cat events/syscalls/filter; cat events/syscalls/sys_enter_read/filter events/syscalls/sys_enter_getppid/filter; log
echo 0 > events/syscalls/filter; cat events/syscalls/filter; echo 'nosuch == 1' > events/syscalls/filter;  echo rc $?;  cat events/syscalls/filter; log; echo '(' > events/syscalls/filter; echo rc $?; cat events/syscalls/filter; log; echo 0 > events/syscalls/filter
i=0; while [ $i -lt 12 ]; do echo "no$i == 1" > $L/filter; i=$((i+1)); done 2>/dev/null; grep -c Command error_log; log | head -n 4
mkdir instances/e; echo 'bad ==' > instances/e/events/syscalls/sys_enter_read/filter; cat error_log; sed 's/^\[.*\] //' instances/e/error_log; cat instances/e/events/syscalls/sys_enter_read/filter; rmdir instances/e
echo 'x' >> error_log; echo rc $?; ls -l error_log | cut -c1-10
