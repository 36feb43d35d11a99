# triggers of all kinds on one event, order, counts, conditions, soft mode, removal by pattern
cd /sys/kernel/tracing
L=events/syscalls/sys_enter_lseek; log() { sed 's/^\[.*\] //' error_log; echo > error_log; }
t() { echo "$1" >> $L/trigger; echo "[$1] $?"; log; }
cat $L/trigger
t traceon; t traceoff; t traceon; t 'traceoff:3'; t 'traceoff if fd == 3'; t 'stacktrace'; t 'stacktrace:3 if whence==0'; t snapshot; t 'enable_event:syscalls:sys_enter_getppid'; t 'enable_event:syscalls:sys_enter_getppid:2'; t 'disable_event:syscalls:sys_enter_getppid'; t 'enable_event:nosuch:x'; t 'enable_event:syscalls:nosuch'; t 'enable_event'; t 'enable_event:'; t 'enable_event:syscalls'; t 'enable_event:syscalls:sys_enter_lseek'; t 'enable_hist:syscalls:sys_enter_read'; t 'disable_hist:syscalls:sys_enter_read:5'; t nosuch; t 'traceon:'; t 'traceon:0'; t 'traceon:-5'; t 'traceon:abc'; t 'traceon:5:6'; t 'traceon if'; t 'traceon if x'; t 'traceon if fd == '; t 'traceon fd == 3'; t 'traceon:5 if fd == 3 extra'; t ''; t ' traceon'; t 'hist'; t 'hist:'; t 'hist:keys=fd'; t 'hist:key=fd'; t 'hist:keys=fd if fd > 3'; t 'hist:keys=fd'; t 'dump'; t 'dump:1'; t 'cpudump'; t 'eprobe'
cat $L/trigger $L/enable; cat events/syscalls/sys_enter_getppid/enable
t '!traceoff'; cat $L/trigger; t '!stacktrace'; t '!enable_event:syscalls:sys_enter_getppid:77'; t '!disable_event:syscalls:sys_enter_getppid'; t '!snapshot:9'; t '!snapshot'; t '!hist:keys=fd if fd > 3'; t '!hist:keys=fd'; t '!hist:keys=count'; t '!nosuch'; t '!traceon:8 if whatever'; t '!enable_hist:syscalls:sys_enter_read'; t '!traceon'
cat $L/trigger $L/enable
echo 'stacktrace' > $L/trigger; /w 1; cat $L/enable; grep -c . trace; echo 1 > $L/enable; cat $L/enable; /w 1; grep -v '^#' trace | sed 's/.*: //' ; echo 0 > $L/enable; cat $L/enable; echo > $L/trigger; cat $L/trigger; exec 4> $L/trigger; exec 4>&-; cat $L/trigger
echo 'stacktrace' > $L/trigger; : > $L/trigger;  cat $L/trigger
echo traceoff > events/ftrace/print/trigger; echo rc $?; echo m > trace_marker; cat tracing_on events/ftrace/print/trigger; echo 1 > tracing_on; echo '!traceoff' > events/ftrace/print/trigger; ls -1 events/ftrace/print events/ftrace/function; echo 'hist:keys=ip' > events/ftrace/print/trigger; echo a > trace_marker; echo b > trace_marker; grep Hits events/ftrace/print/hist
