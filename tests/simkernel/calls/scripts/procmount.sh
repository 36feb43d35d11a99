export PATH=/bin:/sbin:/usr/bin
mkdir -p /p
m() { echo "== $1"; mount -t proc -o "$1" none /p && { grep ' /p ' /proc/self/mountinfo | cut -d' ' -f4-; grep ' /p ' /proc/mounts; ls /p | grep '^[0-9]' | wc -l | grep -c '^0$'; ls /p/self >/dev/null; cat /p/uptime >/dev/null; umount /p; }; }
for o in hidepid=0 hidepid=1 hidepid=2 hidepid=3 hidepid=4 hidepid=5 hidepid=off hidepid=noaccess hidepid=invisible hidepid=ptraceable hidepid=x gid=7 gid=0 gid=-1 gid=x gid= subset=pid subset=x subset= subset=pid,hidepid=2 hidepid=2,gid=5,ro nosuch nosuch=1 hidepid hidepid= subset; do m $o; done
mount -t proc -o hidepid=2,gid=9 none /p; mount -o remount,hidepid=0 /p; grep ' /p ' /proc/mounts; mount -o remount,subset=pid /p;  grep ' /p ' /proc/mounts; mount -o remount,gid=0 /p; grep ' /p ' /proc/mounts; mount -o remount /p; grep ' /p ' /proc/mounts
ls /p | grep -v '^[0-9]'
stat -c '%d' /proc /p | sort -u | wc -l
umount /p; mount -t proc none /p; stat -c '%d' /proc /p | sort -u | wc -l; umount /p
