# uprobes with filters, triggers, histograms, stacks, several processes, return probes of recursion
cd /sys/kernel/tracing
s() { grep -v '^#' trace | sed -E 's/^ +[^:]+: //; s/0x[0-9a-f]{9,}/X/g'; echo > trace; }
echo 'p:u/add /w:0xc70 a=%di:s64 b=%si:s64 s=+0(%dx):string' > uprobe_events; echo 'r:u/radd /w:0xc70 r=$retval:s64' >> uprobe_events; echo 'p:u/deep /w:0xc90 n=%di:s32' >> uprobe_events; echo 'r:u/rdeep /w:0xc90' >> uprobe_events; cat uprobe_events
echo 'a > 1' > events/u/add/filter; echo 1 > events/u/add/enable; /w 4; s; echo 0 > events/u/add/filter
echo 's == "xyz"' > events/u/add/filter; echo rc $?; /w 1; s; echo 's ~ "a*"' > events/u/add/filter; /w 1; s; echo 0 > events/u/add/filter
echo 'traceoff if a == 2' > events/u/add/trigger; /w 5; s; cat tracing_on events/u/add/trigger; echo 1 > tracing_on; echo '!traceoff' > events/u/add/trigger
echo 'hist:keys=a:vals=b' > events/u/add/trigger; /w 3; cat events/u/add/hist; echo '!hist:keys=a:vals=b' > events/u/add/trigger
echo 'hist:keys=s,a.log2' > events/u/add/trigger; /w 3; cat events/u/add/hist; echo '!hist:keys=s,a.log2' > events/u/add/trigger; echo 0 > events/u/enable; echo > trace
echo 1 > events/u/deep/enable; echo 1 > events/u/rdeep/enable; /w 4; s; echo 0 > events/u/enable
echo 1 > options/stacktrace; echo 1 > events/u/radd/enable; /w 1; grep -v '^#' trace | sed -E 's/^ +[^:]+: //; s/0x[0-9a-f]{9,}/X/g;s/ <[0-9a-f]*>//'; echo 0 > options/stacktrace; echo > trace; echo 1 > options/userstacktrace; /w 1; grep -v '^#' trace | sed -E 's/^ +[^:]+: //; s/[0-9a-f]{9,}/X/g'; echo 0 > options/userstacktrace; echo 0 > events/u/enable; echo > trace
mkdir instances/i; echo 1 > instances/i/events/u/add/enable; /w 1; s; grep -c add: instances/i/trace; echo '-:u/add' >> uprobe_events; echo rc $?; rmdir instances/i; echo '-:u/add' >> uprobe_events; echo rc $?; cat uprobe_events
echo 1 > events/u/enable; (/w 1; /w 1) & /w 1; wait; grep -c radd: trace; echo 0 > events/u/enable; awk '{print $2,$3}' uprobe_profile
echo 'p:u/cnt(0x10) /w:0xc70' >> uprobe_events; echo rc $?; echo 'p:u/x /w:0xc70 $comm $stack1 +8($stack):u16' >> uprobe_events; echo rc $?; tail -n 1 uprobe_events; echo > trace; echo 1 > events/u/x/enable; /w 1; grep -c ' x: ' trace; echo 0 > events/u/enable
cp /w /tmp/w2; echo 'p:u/w2 /tmp/w2:0xc70' >> uprobe_events; echo 1 > events/u/w2/enable; rm /tmp/w2; cat uprobe_events | tail -n 1; echo > trace; /w 1; grep -c w2: trace; echo 0 > events/u/enable; echo > uprobe_events; echo rc $?; cat uprobe_events
cp /w /tmp/w3; echo 'p:u/w3 /tmp/w3:0xc70' > uprobe_events; echo 1 > events/u/w3/enable; /tmp/w3 1; cp /w /tmp/w4; mv /tmp/w4 /tmp/w3; /tmp/w3 2; grep -c w3: trace; cat /tmp/w3 > /dev/null; echo x >> /tmp/w3; echo rc $?; echo 0 > events/u/w3/enable; echo > uprobe_events; sed 's/^\[.*\] //' error_log
