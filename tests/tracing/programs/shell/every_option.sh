# every option: off and on, what trace_options says, who refuses.
cd /sys/kernel/tracing
cat trace_options
for o in options/*; do n=${o#options/}; v=$(cat $o); for x in 1 0 2 x ''; do echo $x > $o 2>/dev/null; echo "$n $x $? $(cat $o)"; done; echo $v > $o 2>/dev/null; echo "$n back $(cat $o)"; done
for w in nosuch noirq-info irq-info nooverwrite overwrite 'print-parent extra' ' print-parent' 'noprint-parent ' '' no nono funcgraph-irqs nofuncgraph-cpu sleep-time; do echo "$w" > trace_options 2>/dev/null; echo "[$w] $?"; done
cat trace_options
echo vfs_fsync > set_ftrace_filter; echo function_graph > current_tracer; ls options | wc -l; cat trace_options | grep funcgraph
for w in funcgraph-irqs nofuncgraph-cpu funcgraph-proc funcgraph-tail nosleep-time nograph-time funcgraph-duration funcgraph-abstime nofuncgraph-overhead; do echo $w > trace_options; echo "$w $?"; done
cat trace_options | grep -n graph
echo vfs_fsync > set_ftrace_filter; echo function > current_tracer; cat trace_options | grep func; ls options | grep func
echo 1 > options/func_stack_trace; cat options/func_stack_trace; echo 1 > options/func-no-repeats; cat options/func-no-repeats; echo 0 > options/func_stack_trace; echo 0 > options/func-no-repeats
echo nop > current_tracer; cat trace_options | grep test; ls options | grep test; echo test_nop_refuse > trace_options; echo $?; echo test_nop_accept > trace_options; echo $?; cat options/test_nop_accept
mkdir instances/a; cat instances/a/trace_options | tr '\n' ' '; ls instances/a/options | tr '\n' ' '; echo 1 > instances/a/options/sym-offset; echo $?; echo 1 > instances/a/options/record-tgid; echo $?; rmdir instances/a
