cd /sys/kernel/tracing
cat /proc/kallsyms | grep -v '\[' | grep ' t ' | awk '{print $3}' | sort | uniq -d | wc -l
cat /proc/kallsyms | grep -v '\[' | grep ' [tT] ' | awk '{print $3}' | sort | uniq -d | wc -l
t() { echo "# $1"; echo "$1" >> kprobe_events; echo "rc $?"; }
t 'p:a cpu_show'; t 'p:b type_show'; t 'p:c type_show+2'; t 'r:d type_show'; t 'p:e _stext'; t 'p:f init_once'; cat kprobe_events; cat error_log; 
echo type_show > set_ftrace_filter; cat set_ftrace_filter; echo '__ftrace_invalid_address___*' > set_ftrace_filter; echo rc $?; wc -l < set_ftrace_filter; echo 5 > set_ftrace_filter;  cat set_ftrace_filter; echo > set_ftrace_filter; echo '__ftrace_invalid_address___744' > set_ftrace_filter; echo $?; cat set_ftrace_filter
