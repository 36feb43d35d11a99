# IPv6: addresses with their trials, routes, neighbours, groups; what is refused; pings.
ip netns add a; ip netns add b
ip link add v0 netns a address 02:00:00:00:00:01 type veth peer name v1 netns b address 02:00:00:00:00:02
ip -n a -6 addr; ip -n a -6 route show table all; ip -n a -6 rule
ip -n a link set lo up; ip -n a link set v0 up; ip -n b link set lo up
ip -n a -6 addr; ip -n a -6 route show table all
ip -n b link set v1 up
ip -n a -6 addr show dev v0
sleep 3
ip -n a maddr
ip -6 -n a -force -b - <<B
addr
route show table all
addr add 2001:db8::1/64 dev v0 nodad
addr show dev v0
route show table all
addr add 2001:db8::1/64 dev v0
addr add ff02::5/64 dev v0
addr add 2001:db8:5::1 peer 2001:db8:6::/64 dev v0 nodad
addr show dev v0
route
addr del 2001:db8:5::1 peer 2001:db8:6::/64 dev v0
addr del 2001:db8:5::9/64 dev v0
route get 2001:db8::2
route get ::1
route get 2001:db8::1
route get 2001:db9::1
route get fe80::1 dev v0
route get ff02::1 dev v0
route add 2001:db8:9::/48 via 2001:db8::2
route add 2001:db8:9::/48 via 2001:db8::2
route add 2001:db8:a::/48 dev v0 metric 5
route add default via fe80::ff:fe00:2 dev v0
route add unreachable 2001:db8:b::/48
route add blackhole 2001:db8:c::/48
route add prohibit 2001:db8:d::/48
route add 2001:db8:e::/48 via 2001:db8:77::1
route add 2001:db8:e::/48 via 2001:db8::1
route add 2001:db8:e::/48 via fe80::2
route add 2001:db8:e::/48 dev nonsuch
route
route get 2001:db8:9::5
route get 2001:db8:b::5
route get 2001:db8:c::5
route get 2001:db8:d::5
route get 2001:4860::1
route replace 2001:db8:a::/48 dev v0 metric 6
route append 2001:db8:9::/48 via 2001:db8::3
route
route del 2001:db8:9::/48 via 2001:db8::3
route del 2001:db8:a::/48
route del 2001:db8:a::/48 metric 6
route del 2001:db8:a::/48 metric 6
route del 2001:db8:77::/48
route
neigh
neigh add 2001:db8::77 lladdr 02:00:00:00:00:77 dev v0
neigh
B
ip -n b addr add 2001:db8::2/64 dev v1 nodad
ip netns exec a ping -6 -c 1 -n 2001:db8::2
ip netns exec a ping -6 -c 1 -n ::1
ip netns exec a ping -6 -c 1 -n -W 1 2001:db8::99
ip netns exec a ping -6 -c 1 -n -s 4000 2001:db8::2
ip netns exec a ping -6 -c 1 -n fe80::ff:fe00:2%v0
ip netns exec a cat /proc/net/igmp6 /proc/net/dev_mcast /proc/net/sockstat6
ip -n b addr add 2001:db8::5/64 dev v1 nodad
ip -n a addr add 2001:db8::5/64 dev v0
sleep 3
ip -n a -6 addr show dev v0
ip -n a link set v0 down
ip -n a -6 addr; ip -n a -6 route show table all
ip -n a link set v0 up; sleep 3
ip -n a -6 addr show dev v0; ip -n a -6 route show table all
ip netns exec a sh -c "echo 1 > /proc/sys/net/ipv6/conf/v0/disable_ipv6"
ip -n a -6 addr; ip -n a -6 route show table all
ip -n a addr add 2001:db8::9/64 dev v0
ip netns exec a sh -c "echo 0 > /proc/sys/net/ipv6/conf/v0/disable_ipv6"
ip -n a -6 route
ip -n a link set v0 mtu 1200
ip -n a -6 addr
