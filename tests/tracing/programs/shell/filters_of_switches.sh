# what is said to: filters
T=/sys/kernel/tracing; [ -d $T ] || T=/sys/kernel/debug/tracing
cd $T
say() { echo "== $*"; }
try() { "$@" 2>/tmp/err; echo "rc $?"; sed 's/^[^:]*: *//' /tmp/err; }
put() { echo "$1" > "$2" 2>/tmp/err && echo "ok $1" || { echo "refused $1: $(sed 's/.*: //' /tmp/err)"; tail -4 error_log | sed 's/^\[[^]]*\] //'; } }
norm() { sed -e 's/^ *[^ ]*-[0-9]* *\[[0-9]*\] \(.....\) *[0-9.]*:/TASK \1/' -e 's/0x[0-9a-f]\{6,\}/ADDR/g'; }
say filters
cd events/sched/sched_switch
for f in 'prev_pid == 1' 'prev_comm ~ "*sh"' 'prev_comm == sh' 'prev_pid > 0x10 && next_pid != 3 || prev_prio < -1' '(prev_pid' 'prev_pid)' 'nope == 1' 'prev_pid ==' 'prev_pid == a' '!(prev_pid == 1)' 'prev_comm & 3' 'prev_pid & 3' 'prev_pid ~ 3' 'common_pid == 4' 'CPU == 0' 'cpu == 0' 'COMM ~ "a*"' 'comm == "x"' 'common_type == 1' 'prev_pid == 1 &&' '&& prev_pid == 1' 'prev_comm == "unterminated' 'prev_state == 99999999999999999999' 'prev_pid = 1' 'prev_pid === 1' '1 == prev_pid' 'prev_comm ~ "a[bc]?*"' 'prev_comm != "a" && prev_comm != "b"' 'prev_pid == 1 || prev_pid == 2 && prev_pid == 3' '0' '1' 'prev_comm.ustring == "a"'; do
 cd /sys/kernel/tracing; put "$f" events/sched/sched_switch/filter; cat events/sched/sched_switch/filter; done
put 0 events/sched/sched_switch/filter
put 'prev_pid == 1' events/sched/filter; cat events/sched/filter events/sched/sched_switch/filter events/sched/sched_wakeup/filter
put 'common_pid == 1' events/sched/filter; cat events/sched/filter events/sched/sched_switch/filter events/sched/sched_wakeup/filter
put 0 events/sched/filter; cat events/sched/filter
put 'filename == "x"' events/syscalls/sys_enter_openat/filter; cat events/syscalls/sys_enter_openat/filter
put 'filename.ustring ~ "*hostname"' events/syscalls/sys_enter_openat/filter; cat events/syscalls/sys_enter_openat/filter
put 'filename.function == vfs_read' events/syscalls/sys_enter_openat/filter
echo 1 > events/syscalls/sys_enter_openat/enable; cat /etc/hostname /proc/sys/kernel/hostname >/dev/null 2>&1; echo 0 > events/syscalls/sys_enter_openat/enable
grep -c openat trace
