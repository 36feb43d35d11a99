# uprobe_events: every fetch argument, types, groups, several probes at one place, returns, filters, triggers, profile, errors.
cd /sys/kernel/tracing
show() { grep -v '^#' trace | sed 's/.*: \([a-zA-Z0-9_]*: (\)/\1/'; echo > trace; }
F=/w; A=0xc70; D=0xc90
try() { echo "== $1"; echo "$1" > uprobe_events && { cat uprobe_events; echo 1 > events/uprobes/enable; /w 2 > /dev/null; echo 0 > events/uprobes/enable; show; }; echo > uprobe_events; }
try "p:a $F:$A %di %si str=+0(%dx):string"
try "p $F:$A a=%di:u8 b=%di:s16 c=%si:x32 d=%si:u64 e=%si:s64"
try "p:grp/ev $F:$A"
try "p:a $F:$A ip=%ip:x64 s=\$stack0 st=\$stack:x64 c=\$comm i=\\42 m=\\\"text\""
try "p:a $F:$A arr=+0(%dx):u8[3] x=+0(%dx):x16[2] ch=+0(%dx):char[3] sarr=\$stack1"
try "p:a $F:$A bit=%di:b4@0/8 top=%si:b4@4/32 sym=%ip:symbol"
try "p:a $F:$A u=+0(%dx):ustring deep=+u0(%dx):u8 neg=-8(%sp):x64 at=@0x1000:u64"
try "r:a $F:$A \$retval r=\$retval:s32 c=\$comm"
try "r:a $F:$D"
try "p:a $F:$A(0)"
try "p:a $F:0xffffff"
try "p:a $F:$A %nosuch"
try "p:a $F:$A x=%di:nosuch"
try "p:a /nosuch:$A"
try "p:a /tmp:$A"
try "p:a $F:zz"
try "p:a $F"
try "p:1a $F:$A"
try "p:a/b/c $F:$A"
try "p:a $F:$A 1x=%di"
try "p:a $F:$A x=%di x=%si"
try "p:a $F:$A +0(%di"
try "p:a $F:$A x=%di:u8[0]"
try "p:a $F:$A x=%di:u8[65]"
try "p:a $F:$A x=%di:string"
try "p:a $F:$A \$retval"
try "r:a $F:$A \$arg1"
try "q:a $F:$A"
try "p10:a $F:$A"
echo "== several"; echo "p:one $F:$A %di" > uprobe_events; echo "p:two $F:$A %si" >> uprobe_events; echo "r:three $F:$A \$retval" >> uprobe_events; echo "p:one $F:$A %dx" >> uprobe_events; echo "rc $?"; echo "p:one $F:$A %di %si %dx" >> uprobe_events; echo "rc $?"; cat uprobe_events
echo 1 > events/uprobes/enable; /w 1 > /dev/null; echo 0 > events/uprobes/enable; show; cat uprobe_profile | sed 's/  */ /g'
cat dynamic_events; echo '-:two' >> uprobe_events; echo "rc $?"; echo '-:nosuch' >> uprobe_events; echo "rc $?"; cat uprobe_events; echo '-:uprobes/three' >> dynamic_events; cat uprobe_events
echo 'arg1 == 1' > events/uprobes/one/filter; cat events/uprobes/one/filter; echo 'nosuch == 1' > events/uprobes/one/filter; echo "rc $?"; echo 1 > events/uprobes/enable; /w 3 > /dev/null; echo 'rm' > /dev/null; echo "p:busy $F:$A" >> uprobe_events; echo > uprobe_events; echo "rc $?"; echo 0 > events/uprobes/enable; show; cat events/uprobes/one/format | grep -v ID; echo > uprobe_events; ls events | grep -c uprobes
sed -e 's/^\[.*\] //' error_log | head -n 60
