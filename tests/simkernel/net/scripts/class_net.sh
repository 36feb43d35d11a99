show() {
	for f in $(ls /sys/class/net/$1/); do
		[ -f /sys/class/net/$1/$f ] && echo "$f: $(cat /sys/class/net/$1/$f 2>&1 | tr '\n' '|')"
	done
	for f in $(ls /sys/class/net/$1/statistics); do echo "$f $(cat /sys/class/net/$1/statistics/$f)"; done
}
ls -ld /sys/class/net /sys/devices/virtual/net/lo /sys/class/net/lo | cut -c1-10
readlink /sys/class/net/lo /sys/class/net/lo/subsystem
cd /sys/class/net/lo && pwd -P
ls -l mtu carrier uevent operstate statistics/rx_packets | cut -c1-10
ip link set lo down
show lo | grep -v packets | grep -v bytes
ip link set lo up
echo -- up
cat operstate carrier carrier_changes flags dormant testing
for v in 1000 x -1 1234567 0x500 0 65536; do echo $v > mtu; echo "$v $? $(cat mtu)"; done
for v in 5 32767 32768 1000; do echo $v > tx_queue_len; echo "$v $? $(cat tx_queue_len)"; done
for v in 0x8 0x1049 9; do echo $v > flags; echo "$v $? $(cat flags) $(cat operstate)"; done
echo hello > ifalias; cat ifalias; echo > ifalias; cat ifalias
echo 7 > netdev_group; cat netdev_group; echo 0 > netdev_group
echo 0 > carrier; echo $?
(echo x > operstate) 2>/dev/null; echo $?
cat nothing; ls /sys/class/net/nothing
unshare -n sh -c 'cat /sys/class/net/lo/mtu; unshare -m sh -c "mount -t sysfs none /sys && ls /sys/class/net && cat /sys/class/net/lo/flags; echo 900 > /sys/class/net/lo/mtu; cat /sys/class/net/lo/mtu; ls -d /sys/devices/virtual/net/*; mount -t sysfs none /sys; echo \$?"; cat /sys/class/net/lo/mtu'
cat /sys/class/net/lo/mtu
