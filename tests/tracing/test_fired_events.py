"""Events with the values that 6.1 showed for the same script."""

import re
import shutil

import pytest

import simkernel

BUSYBOX = shutil.which("busybox")
SCRIPT = r"""
cd /sys/kernel/tracing
for e in task/task_newtask oom/oom_score_adj_update power/cpu_idle irq_vectors/local_timer_entry \
    skb/skb_copy_datagram_iovec tcp/tcp_rcv_space_adjust net/netif_rx_exit; do echo 1 > events/$e/enable; done
for e in mmap_lock cgroup kmem/kmalloc kmem/kfree; do echo 1 > events/$e/enable; done
/bin/busybox true; mkdir /sys/fs/cgroup/x; (echo 0 > /sys/fs/cgroup/x/cgroup.procs; true); rmdir /sys/fs/cgroup/x
for e in mmap_lock cgroup kmem/kmalloc kmem/kfree; do echo 0 > events/$e/enable; done
ps -o pid,comm,stat
(echo 100 > /proc/self/oom_score_adj; sleep 0.01)
i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done
nc -l -p 7777 -e echo hi & sleep 0.1; nc 127.0.0.1 7777 < /dev/null
echo 0 > events/enable
cat trace
"""
# What 6.1 prints (pids, ports and addresses as patterns; a shell called sh where ours is called busybox)
LINES = (
    r"\.\.\.\.\. +[\d.]+: kmalloc: call_site=security_task_alloc\+0x\w+/0x\w+ ptr=[0-9a-f]+ bytes_req=72 bytes_alloc=96 "
    r"gfp_flags=GFP_KERNEL\|__GFP_ZERO node=-1 accounted=false",
    r"kfree: call_site=security_task_free\+0x\w+/0x\w+ ptr=[0-9a-f]+",
    r"\.\.\.\.\. +[\d.]+: mmap_lock_start_locking: mm=[0-9a-f]+ memcg_path=/ write=false",
    r"\.\.\.\.\. +[\d.]+: mmap_lock_acquire_returned: mm=[0-9a-f]+ memcg_path=/ write=true success=true",
    r"\.\.\.\.\. +[\d.]+: mmap_lock_released: mm=[0-9a-f]+ memcg_path=/ write=false",
    r"d\.\.1\. +[\d.]+: cgroup_mkdir: root=0 id=\d+ level=1 path=/x",
    r"(?s)d\.\.2\. +[\d.]+: cgroup_notify_populated: root=0 id=\d+ level=1 path=/x val=1.*"
    r"d\.\.1\. +[\d.]+: cgroup_attach_task: dst_root=0 dst_id=\d+ dst_level=1 dst_path=/x pid=\d+ comm=\w+\n.*"
    r"d\.\.2\. +[\d.]+: cgroup_notify_populated: root=0 id=\d+ level=1 path=/x val=0.*"
    r"d\.\.1\. +[\d.]+: cgroup_rmdir: root=0 id=\d+ level=1 path=/x",
    r"\n +2 kthreadd +SW",
    r"\.\.\.\.\. +[\d.]+: task_newtask: pid=\d+ comm=\w+ clone_flags=1200000 oom_score_adj=0",
    r"\.\.\.\.\. +[\d.]+: oom_score_adj_update: pid=\d+ comm=\w+ oom_score_adj=100",
    r"d\.\.1\. +[\d.]+: cpu_idle: state=1 cpu_id=0",
    r" [\d.]+: cpu_idle: state=4294967295 cpu_id=0",
    r"d\.h\.\. +[\d.]+: local_timer_entry: vector=236",
    r"\.\.\.\.\. +[\d.]+: skb_copy_datagram_iovec: skbaddr=[0-9a-f]+ len=3",
    r"b\.\.\.\. +[\d.]+: netif_rx_exit: ret=0",
    r"\.\.\.\.\. +[\d.]+: tcp_rcv_space_adjust: family=AF_INET sport=\d+ dport=7777 saddr=127.0.0.1 daddr=127.0.0.1 "
    r"saddrv6=::ffff:127.0.0.1 daddrv6=::ffff:127.0.0.1 sock_cookie=",
)


@pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")
def test_the_lines_of_the_real_kernel():
    machine = simkernel.boot()
    text = machine.run([machine.install(BUSYBOX), "sh", "-c", SCRIPT], timeout_host_s=60).text
    for line in LINES:
        assert re.search(line, text), line


NEIGHBOURS = r"""
cd /sys/kernel/tracing
echo 1 > events/neigh/enable; echo 1 > events/timer/tick_stop/enable; echo 1 > events/mmap/vm_unmapped_area/enable
echo hi | nc -w 1 10.0.2.77 9; sleep 0.2
echo 0 > events/enable
cat trace events/mmap/vm_unmapped_area/format
"""
NEIGHBOUR_LINES = (  # as 6.1 words them; lo's neighbours are eth0's here
    r"\.\.\.\.\. +[\d.]+: neigh_create: family 2 dev eth0 entries 1 primary_key4 10\.0\.2\.77 primary_key6 :: created 1 gc_exempt 0",
    r"neigh_event_send_done: family 2 dev eth0 lladdr 000000000000 flags 00 nud_state incomplete type 01 dead 0 refcnt 2 "
    r"primary_key4 10\.0\.2\.77 primary_key6 ::ffff:10\.0\.2\.77 confirmed \d+ updated \d+ used \d+ err 1",
    r"\.\.s\.\. +[\d.]+: neigh_timer_handler: family 2 dev eth0 .* refcnt 3 .* err 0",
    r"d\.\.1\. +[\d.]+: tick_stop: success=1 dependency=NONE",
    r"\.\.\.\.\. +[\d.]+: vm_unmapped_area: addr=0x7\w+ err=0 total_vm=0x\w+ flags=0x1 len=0x1000 lo=0x1000 hi=0x7ffff7fff000 mask=0x0 ofs=0x0\n\n",
    r'hi=0x%lx mask=0x%lx ofs=0x%lx\n", __builtin_expect\(!!\(\(unsigned long\)\(void \*\)\(REC->addr\)',
)


@pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")
def test_neighbours_idle_ticks_and_searches_for_room():
    machine = simkernel.boot()
    text = machine.run([machine.install(BUSYBOX), "sh", "-c", NEIGHBOURS], timeout_host_s=60).text
    for line in NEIGHBOUR_LINES:
        assert re.search(line, text), line


CONNECT = r"""
cd /sys/kernel/tracing
for f in tcp_v4_connect __release_sock tcp_v4_do_rcv tcp_finish_connect; do echo p:$f $f >> kprobe_events; done
echo r:connected tcp_v4_connect >> kprobe_events
nc -l -p 77 -e true & sleep 0.05
echo 1 > events/kprobes/enable
nc 127.0.0.1 77 < /dev/null
echo 0 > events/kprobes/enable
cat trace
"""


@pytest.mark.skipif(BUSYBOX is None, reason="needs a static busybox on this host")
def test_an_answer_waits_until_connect_lets_go_of_the_socket():
    """As on 6.1: the SYN reaches the listener inside tcp_v4_connect(), the SYN-ACK is heard behind it."""
    machine = simkernel.boot()
    text = machine.run([machine.install(BUSYBOX), "sh", "-c", CONNECT], timeout_host_s=60).text
    seen = re.findall(r"[\d.]+: (\w+): \(", text)
    assert seen[:6] == [
        "tcp_v4_connect",
        "tcp_v4_do_rcv",
        "connected",
        "__release_sock",
        "tcp_v4_do_rcv",
        "tcp_finish_connect",
    ]
