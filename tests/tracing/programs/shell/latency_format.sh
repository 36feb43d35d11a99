# The option verbose in latency format, and a command's stack.
cd /sys/kernel/tracing
n() { sed '/^# f/s/on 6.*/on RELEASE/;/^#/!s/-[0-9][0-9]* */-PID /;/^#/!s/\(sh\|cat\|>\) *[0-9][0-9]* /\1 PID /;s/  *[0-9][0-9]*us[+#! *]*/ Nus/;s/\[[0-9a-f]\{8\}\] [0-9.]*ms (+[0-9.]*ms)/[WHEN]/'; }
echo vfs_open > set_ftrace_filter; echo function > current_tracer; cat /proc/version > /dev/null; echo 0 > tracing_on
echo 1 > options/latency-format; n < trace 
echo 1 > options/verbose; n < trace; echo counter > trace_clock; echo 0 > options/latency-format; cat trace
echo 1 > options/latency-format; echo 1 > tracing_on; cat /proc/version > /dev/null; echo 0 > tracing_on
sed 's/\[[0-9a-f]\{16\}\] [0-9]* (+[0-9]*)/[COUNT]/' trace | n; echo 0 > options/verbose; n < trace | sed 's/  *[0-9]*: / N: /'; echo 0 > options/latency-format
echo local > trace_clock; echo nop > current_tracer; echo 1 > tracing_on
echo 0 > options/function-trace; echo function > current_tracer; cat /proc/version > /dev/null; echo 0 > tracing_on; grep -c vfs_open trace; echo nop > current_tracer
: > trace; echo 1 > tracing_on; echo vfs_open:stacktrace:1 > set_ftrace_filter; cat /dev/null; echo 0 > tracing_on; cat set_ftrace_filter; grep -A4 stack trace
