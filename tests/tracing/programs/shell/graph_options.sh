# function_graph of one function: columns by option, depth, filters, thresholds.
cd /sys/kernel/tracing
norm() { grep -v '^#' trace | sed 's/[0-9.]* us */ US /; s/[0-9]\{3,\}\.[0-9]*/TIME/; s/[+!#*@$] *US/  US/; s/ \{2,\}/  /g; s/-[0-9]\{1,\} /-PID /; s/^ *//' | grep -v '^$'; }
echo vfs_unlink > set_graph_function; echo 2 > max_graph_depth
echo function_graph > current_tracer; sed -n 1,4p trace
for o in funcgraph-abstime funcgraph-proc funcgraph-irqs nofuncgraph-cpu nofuncgraph-overhead nofuncgraph-duration; do echo $o > trace_options; echo "== $o"; sed -n 1,5p trace; done
echo nofuncgraph-abstime > trace_options; echo nofuncgraph-proc > trace_options;  echo nofuncgraph-irqs > trace_options; echo funcgraph-cpu > trace_options; echo funcgraph-overhead > trace_options; echo funcgraph-duration > trace_options; echo nop > current_tracer
echo vfs_unlink > set_graph_function
go2() { echo > trace; echo function_graph > current_tracer; touch /tmp/u; rm /tmp/u; echo nop > current_tracer; }
echo 1 > max_graph_depth; echo function_graph > current_tracer; touch /tmp/u; rm /tmp/u; norm; 
echo funcgraph-tail > trace_options; echo 0 > tracing_on; norm | tail -2; echo 1 > tracing_on
echo nofuncgraph-tail > trace_options; echo > trace; echo vfs_unlink > set_ftrace_filter; touch /tmp/u; rm /tmp/u; norm
echo sleep-time > trace_options; echo nograph-time > trace_options; echo > trace; touch /tmp/u; rm /tmp/u; norm; echo graph-time > trace_options
echo nop > current_tracer
echo vfs_unlink > set_graph_function; echo 100000000 > tracing_thresh; echo function_graph > current_tracer; echo > trace; stat /w > /dev/null; norm | wc -l; echo 0 > tracing_thresh; echo nop > current_tracer
cat set_graph_function set_graph_notrace max_graph_depth
echo function > current_tracer; echo vfs_unlink > set_ftrace_filter; echo > trace; touch /tmp/u; rm /tmp/u; grep -c vfs_unlink trace; sed -n 1,12p trace
echo noprint-parent > trace_options; grep vfs_unlink trace | sed 's/.*: //'; echo print-parent > trace_options; grep vfs_unlink trace | sed 's/.*: //'
echo sym-offset > trace_options; grep vfs_unlink trace | sed 's/.*: //; s/0x[0-9a-f]*/0xN/g'; echo nosym-offset > trace_options
echo sym-addr > trace_options; grep vfs_unlink trace | sed 's/.*: //; s/<[0-9a-f]*>/<N>/g'; echo nosym-addr > trace_options
echo context-info > trace_options; echo nocontext-info > trace_options; grep vfs_unlink trace; echo context-info > trace_options
echo irq-info > trace_options; sed -n 3,12p trace; echo noirq-info > trace_options; sed -n 3,8p trace; echo irq-info > trace_options
echo record-tgid > trace_options; sed -n 3,12p trace; echo norecord-tgid > trace_options
echo latency-format > trace_options; grep -c vfs_unlink trace; echo nolatency-format > trace_options
echo nop > current_tracer; echo > set_ftrace_filter
