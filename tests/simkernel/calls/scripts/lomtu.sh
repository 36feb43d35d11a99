export PATH=/bin:/sbin:/usr/bin
[ "$1" ] || exec unshare -n busybox sh "$0" in
s() { echo "== $*"; "$@"; echo "st $?"; ip addr show lo; ip route show table all; ls /proc/sys/net/ipv4/conf; cat /proc/net/fib_trie; }
s ip link set lo up
s ip link set lo mtu 67
s ip addr add 127.0.0.2/8 dev lo
s ip link set lo mtu 0
s ip link set lo down
s ip link set lo up
s ip link set lo mtu 68
s ip addr add 127.0.0.2/8 dev lo
s ip link set lo mtu 1279
s ip link set lo mtu 1280
s ip link set lo down
s ip link set lo mtu 67
s ip link set lo mtu 1500
s ip link set lo up
