# handlers and actions of histograms: who matches whom, what is kept, what is refused and where the caret stands
cd /sys/kernel/tracing
log() { sed 's/^\[.*\] //' error_log; echo > error_log; }
t() { echo "$2" >> events/$1/trigger; echo "[$2] $?"; log; }
O=syscalls/sys_enter_lseek; X=syscalls/sys_exit_lseek; R=syscalls/sys_enter_read
echo 'lat u64 off; long ret; char name[16]' > synthetic_events; echo 'two int a; int b' >> synthetic_events
t $O 'hist:keys=common_pid:o=offset,w=whence'
t $X 'hist:keys=common_pid:d=$o+1:onmatch(syscalls.sys_enter_lseek).lat($o,ret,common_comm)'
t $X 'hist:keys=common_pid:e=$o:onmatch(syscalls.sys_enter_lseek).trace(lat,$o,ret,common_comm)'
t $X 'hist:keys=common_pid:f=$o:onmatch(syscalls.sys_enter_lseek).lat($o,ret)'
t $X 'hist:keys=common_pid:f=$o:onmatch(syscalls.sys_enter_lseek).lat($o,ret,ret)'
t $X 'hist:keys=common_pid:f=$o:onmatch(syscalls.sys_enter_lseek).lat($nosuch,ret,common_comm)'
t $X 'hist:keys=common_pid:f=$o:onmatch(syscalls.sys_enter_lseek).nosuch($o)'
t $X 'hist:keys=common_pid:f=$o:onmatch(syscalls.sys_enter_read).two($o,ret)'
t $X 'hist:keys=common_pid:f=$o:onmatch(nosuch.event).two($o,ret)'
t $X 'hist:keys=common_pid:f=$o:onmatch().two($o,ret)'
t $X 'hist:keys=common_pid:f=$o:onmatch(syscalls).two($o,ret)'
t $X 'hist:keys=ret:g=$w:onmatch(syscalls.sys_enter_lseek).two($w,ret)'
t $X 'hist:keys=common_pid:h=ret:onmax($h).save(common_comm,ret)'
t $X 'hist:keys=common_pid:i=ret:onmax($i).save()'
t $X 'hist:keys=common_pid:i=ret:onmax($nosuch).save(ret)'
t $X 'hist:keys=common_pid:i=ret:onmax(ret).save(ret)'
t $X 'hist:keys=common_pid:i=ret:onmax($i).snapshot(ret)'
t $X 'hist:keys=common_pid:i=ret:onmax($i).nosuch(ret)'
t $X 'hist:keys=common_pid:i=ret:onmax($i)'
t $X 'hist:keys=common_pid:i=ret:onchange($i).save(common_comm)'
t $X 'hist:keys=common_pid:j=ret:onchange($j).trace(two,ret,ret)'
t $X 'hist:keys=common_pid:k=ret:onmin($k).save(ret)'
t $X 'hist:keys=common_pid:l=ret:save(ret)'
t $R 'hist:keys=common_pid:c=count:onmax($c).save(common_comm,fd),onchange($c).two($c,fd)'
t $R 'hist:keys=common_pid:c2=count:onmax($c2).save(common_comm,fd):onchange($c2).two($c2,fd)'
for e in $O $X $R; do cat events/$e/trigger; done
echo 1 > events/synthetic/enable
/w 4
grep -v '^#' trace | grep -v ' sh-' | sed 's/.*[0-9]: //'
for e in $O $X; do sed 's/common_pid: *[0-9]*/common_pid: PID/' events/$e/hist | grep -A 40 "w \|^# trigger\|common_pid: PID" | grep -v '^$'; done
echo '!hist:keys=common_pid:o=offset,w=whence' >> events/$O/trigger; echo "rc $?"
cat events/$O/trigger
for e in $X $R $O; do while read -r l; do case "$l" in '#'*) ;; *) echo "!$l" >> events/$e/trigger; echo "rm $?";; esac; done <<F
$(cat events/$e/trigger)
F
done
for e in $O $X $R; do cat events/$e/trigger; done
echo 0 > events/synthetic/enable; echo > synthetic_events; echo "rc $?"; cat synthetic_events
