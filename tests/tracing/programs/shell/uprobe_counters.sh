# reference counters of uprobes: which offsets do, who counts, what the process sees
cd /sys/kernel/tracing
log() { sed 's/^\[.*\] //' error_log; echo > error_log; }
u() { echo "$1" >> uprobe_events; echo "[$1] $?"; log; }
u 'p:a /w:0xc70(0x10)'
u 'p:b /w:0xc70(0x12)'
u 'p:b2 /w:0xc70'
u 'p:c /w:0xc90(0x11)'
u 'p:d /w:0xc90()'
u 'p:d /w:0xc90(x)'
u 'p:d /w:0xc90(0x10'
u 'p:d /w:0xc90 0x10)'
u 'p:d /w:0xc90(-1)'
u 'p:d /w:0xc90(0xffffffffffffffff)'
u 'r:e /w:0xc90(0x10)'
u 'r:f /w:0xc90%return(0x10)'
u 'p:f /w:0xc90%return(0x10)'
u 'p:g /w:0xc90%return'
u 'p:h /w:0xc90%nosuch'
u 'p:i /w:0xc90+8'
u 'p:i /w:c90'
u 'p:i /w:'
u 'p:i /w'
u 'p:i /nosuch:0x10'
u 'p:i /tmp:0x10'
u 'p:i /dev/null:0x10'
u 'p:i w:0xc70'
u 'p5:i /w:0xc70'
u 'r5:i /w:0xc70'
u 'p:i /w:0xc70 $arg1'
u 'p:i /w:0xc70 x=$retval'
u 'r:i /w:0xc70 x=$retval y=$stack0 z=$stack'
u 'p:j /w:0xc70 a=%di b=%si:s32 s=+0(%dx):string c=$comm u=+0(%dx):ustring'
u 'p:k /w:0xc70 x=@jiffies'
u 'p:k /w:0xc70 x=@+0x10:u32 y=\7 z=\"s":string'
u 'p:k /w:0xc70 x=@0x400000'
u 'p:grp/k2 /w:0xc70 x=+0(+0(%sp)):x8'
u 'p:a /w:0xc71'
u 'p:a /w:0xc70(0x10)'
u 'p:a /w:0xc70(0x14)'
cat uprobe_events
for e in a b b2 c e g; do echo 1 > events/uprobes/$e/enable; echo "on $e $?"; [ $e = a ] && dmesg | tail -1 | grep -o 'ref_ctr.*\|uprobe.*' | sed 's/0x[0-9a-f]*/N/g'; done
/w 2; echo "exit $?"
for e in i j k; do echo 1 > events/uprobes/$e/enable; echo "on $e $?"; done
/w 2; echo "exit $?"
cat uprobe_profile
grep -v '^#' trace | grep ' w-' | sed 's/.*[0-9]: \([a-z0-9]*: (\)/\1/; s/0x[0-9a-f]\{6,\}/ADDR/g' | sort | uniq -c
echo '-:a' >> uprobe_events; echo $?
for e in a b b2 c e g i j k; do echo 0 > events/uprobes/$e/enable; done
echo '-:a' >> uprobe_events; echo $?; echo '-:nosuch' >> uprobe_events; echo $?; log
echo > uprobe_events; echo $?; cat uprobe_events uprobe_profile
