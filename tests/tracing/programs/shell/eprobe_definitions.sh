# event probes: definitions that are refused, and what those made of system calls say.
cd /sys/kernel/tracing
def() { echo "$1" >> dynamic_events 2>/dev/null; echo "[$1] $?"; tail -n 3 error_log | sed 's/^\[ *[0-9.]*\]/[T]/'; echo > error_log; }
def 'e syscalls/sys_enter_openat name=+0($filename):ustring'
def 'e:one syscalls/sys_enter_openat name=+0($filename):ustring flags=$flags:x32 mode=$mode'
def 'e:one syscalls/sys_enter_openat x=$mode'
def 'e:one syscalls/sys_exit_openat x=$ret'
def 'e:two syscalls.sys_exit_openat ret=$ret:s64'
def 'e:grp/three syscalls/sys_exit_openat ret=$ret:s32'
def 'e:four syscalls/nosuch x=1'
def 'e:five nosuch x=1'
def 'e:six syscalls/sys_enter_openat x=$nosuch'
def 'e:seven syscalls/sys_enter_openat x=%di'
def 'e:eight syscalls/sys_enter_openat x=$arg1'
def 'e:nine syscalls/sys_enter_openat x=$retval'
def 'e:ten syscalls/sys_enter_openat x=$comm'
def 'e:eleven syscalls/sys_enter_openat x=$stack'
def 'e:twelve syscalls/sys_enter_openat x=@jiffies'
def 'e:thirteen syscalls/sys_enter_openat x=$mode:string'
def 'e:fourteen syscalls/sys_enter_openat x=$common_pid y=$common_type'
def 'e:fifteen sched/sched_switch p=$prev_comm:string n=$next_comm q=$prev_state'
def 'e:sixteen syscalls/sys_enter_openat x=\5'
def 'e:seventeen syscalls/sys_enter_openat x=\"text"'
def 'e:eighteen syscalls/sys_enter_openat x=$flags:b4@2/32'
def 'e:nineteen syscalls/sys_enter_openat x=$flags:symbol'
def 'e:a/b/c syscalls/sys_enter_openat'
def 'e:twenty syscalls/sys_enter_openat if flags > 3'
def 'e:twentyone syscalls/sys_enter_openat x=$mode if nosuch > 3'
def 'e:twentytwo eprobes/one x=$name'
def 'e:grp/'
def 'e:'
def 'e'
def 'e:bad-name syscalls/sys_enter_openat'
def 'e5:max syscalls/sys_enter_openat'
cat dynamic_events
for e in one two ten fourteen sixteen twenty; do echo 1 > events/eprobes/$e/enable 2>/dev/null; echo "$e $?"; done
echo > trace; cat /nothing-there 2>/dev/null
for e in one two ten fourteen sixteen twenty; do echo 0 > events/eprobes/$e/enable 2>/dev/null; done
grep nothing-there -A5 trace | grep -v '^#' | head -9 | sed 's/common_type=[0-9]*//;s/ y=[0-9]*//;s/ x=[0-9][0-9]* / x=N /;s/ x=[0-9][0-9][0-9]*$/ x=N/'
def '-:one'
def '-:one'
def '-:nosuch/one'
def '-:grp/three syscalls/sys_exit_openat'
def '-:eprobes/two syscalls/sys_exit_openat ret=$ret:s64'
grep -v ^ID events/eprobes/fifteen/format
echo > dynamic_events; cat dynamic_events; ls events/eprobes 2>/dev/null
