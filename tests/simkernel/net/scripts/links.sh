# Namespaces, veth pairs, dummies: made, changed, moved, deleted, and what is refused.
ip netns add a; ip netns add a; ip netns add b; ip netns list
ip -b - <<B
netns exec a ip link
-n a -d addr
-n a route show table all
-n a rule
-n a neigh
B
ip -n a link; ip -n a -d addr; ip -n a rule
ip -n a link add v0 address 02:00:00:00:00:01 type veth peer name v1 address 02:00:00:00:00:02
ip -n a link set v1 netns b
ip -n b -s link show v1
ip -n a addr add 10.1.1.1/24 dev v0
ip -n b addr add 10.1.1.2/24 dev v1
ip -n a -force -b - <<B
link
-d link show v0
addr
route
link set v0 up
addr show v0
B
ip -n b link set v1 up
ip -n a -force -b - <<B
-4 addr show v0
-4 route show table all
link set v0 mtu 10
link set v0 mtu 1400
link set v0 name v1
link set v0 master v0
link set v0 address 01:00:00:00:00:01
link set v0 address 02:00:00:00:00:11
link set v0 txqueuelen 7
link set v0 group 3
link set v0 alias wire
link set v0 promisc on
link set v0 arp off
link show v0
link set v0 arp on
link set v0 down
link show v0
-4 route show table all
link set v0 name w0
link property add dev w0 altname second
link show second
link property del dev w0 altname second
link set w0 netns b name v1
link set w0 netns b
link
B
ip -n b link show type veth
ip -n b link del w0
ip -n b link
ip netns del a; ip netns del a; ip netns list
ip netns exec nope true
ip -n b -force -b - <<B
link set lo netns b
link set lo netns 1
link add dm0 address 02:00:00:00:00:21 type dummy
link add dm0 type dummy
link add type dummy
link add x type nosuch
link add dm9 index 77 address 02:00:00:00:00:22 type dummy
link add dm9 index 77 type dummy
link set dm0 mtu 70000
link set dm0 name dm1
link set dm1 name dm/1
link show dm1
link set dm1 up
link show dm1
link set dm1 name dm2
link set dm1 carrier off
link show dm1
link set dm1 carrier on
link show dm1
link del lo
link del nope
link del dm1
link show dm1
link del group 0
B
