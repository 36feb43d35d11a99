cd /sys/kernel/tracing
t() { echo "# $1"; echo "$1" >> uprobe_events; echo "rc $?"; }

A=0xc70; D=0xc90
t "p:u/a /w:$A %di %si %dx"
t "p:u/b /w:$A +0(%dx):string +0(%dx):ustring \$comm \$stack0 \$stack"
t "r:u/c /w:$A \$retval \$retval:s32"
t "p:u/d /w:$A @+0 @0 %ip"
t "p:u/e /w:$D n=%di:s8"
t "r:u/f /w:$D \$retval"
t "p:u/g /w:nosuch"
t "p:u/g /nosuch:0x1000"
t "p:u/g /w"
t "p:u/g /w:0x0"
t "p:u/g /tmp:0x0"
t "p:u/g /w:0xfffffff"
t "p:u/g /w:$A(0x10)"
t "p:u/g /w:$A(zz)"
t "p:u/g /w:$A%return"
t "p:u/h /w:$A \$arg1"
t "p:u/h /w:$A \$retval"
t "p:u/h /w:$A \\1 \\\"x\""
t "p:u/i /w:$A +0(%dx):u8[3] +0(%dx):char[3] %di:b4@0/8"
t "p:u/j /w:$A @0x1004480 @+0x10"
t "p:u/k /w:$A %zz"
t "p:u/l /w:$A %di:symbol"
t "p /w:$A"
t "r /w:$A"
t "p:/w:$A"
t "p:u2/ /w:$A"
t "p100:u/z /w:$A"
t "r1:u/z /w:$A"
t "-:u/nosuch"
t "p:u/m /w:$A @0x1004488:string +0(@0x1004480):u8"
echo == list; cat uprobe_events; cat dynamic_events | wc -l
for e in a b c i m; do tail -n +9 events/u/$e/format; done
echo 1 > events/u/enable; echo 1 > events/uprobes/enable
/w 3
grep -v '^#' trace
echo == profile; cat uprobe_profile
echo == err; cat error_log
