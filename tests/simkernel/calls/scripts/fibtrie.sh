export PATH=/bin:/sbin:/usr/bin
[ "$1" ] || exec unshare -n busybox sh "$0" in
s() { echo "== $1"; cat /proc/net/fib_trie; sed '/Counters/,/skipped/d' /proc/net/fib_triestat; }
c() { echo "== $1"; cat /proc/net/fib_triestat; }
s empty; ip route show table all
ip link set lo up; s lo
c counters
ip addr add 10.1.2.3/24 dev lo; s v0
for i in 1 2 3 4 5 6 7 8 9; do ip route add 10.$i.0.0/16 dev lo; done; s nine
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do ip route add 172.16.0.$i dev lo; done; s twenty
c counters
ip route add default dev lo; ip route add 0.0.0.0/0 dev lo metric 5; ip route add 10.1.0.0/16 dev lo metric 7; ip route add unreachable 11.0.0.0/8; ip route add blackhole 12.0.0.0/8 table 77; ip route add prohibit 13.0.0.0/8 table 333;  ip route add throw 13.0.0.0/8; s many
for i in 1 3 5 7 9 11 13 15 17 19; do ip route del 172.16.0.$i dev lo; done; s odd
for i in 2 4 6 8 10 12 14 ; do ip route del 172.16.0.$i dev lo; done; s few
for i in 10.1.2.3 10.1.2.9 10.9.1.1 172.16.0.3 172.16.0.20 1.1.1.1 127.0.0.1 127.3.4.5; do ip route get $i; done; c counters
ip rule add from 1.2.3.4 table 77; s unmerged
for i in 10.1.2.3 10.1.2.9 10.9.1.1 172.16.0.3 172.16.0.20 1.1.1.1 127.0.0.1 127.3.4.5; do ip route get $i; done; c counters
ip addr add 10.1.2.4/24 dev lo; ip addr add 44.5.6.7/30 dev lo;  s more
ip link set lo down; s down
ip link set lo up; s up
ip addr del 10.1.2.3/24 dev lo; s deleted
