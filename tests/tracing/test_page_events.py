"""What the page allocator, the LRU lists, the counters, the TLB and RCU tell, with the lines that 6.1 showed for the same script."""

import re
import shutil

import pytest

import simkernel

BUSYBOX = shutil.which("busybox")
EVENTS = (
    "kmem/mm_page_alloc", "kmem/mm_page_free", "kmem/mm_page_free_batched", "kmem/rss_stat", "pagemap/mm_lru_insertion",
    "tlb/tlb_flush", "mmap/vma_store", "mmap/exit_mmap", "rcu/rcu_utilization", "napi/napi_poll",
)  # fmt: skip
SCRIPT = f"""
cd /sys/kernel/tracing
for e in {" ".join(EVENTS)}; do echo 1 > events/$e/enable; done
(true); /bin/busybox true; nc -l -p 7778 -e true & sleep 0.05; nc 127.0.0.1 7778 < /dev/null
for e in {" ".join(EVENTS)}; do echo 0 > events/$e/enable; done
cat trace printk_formats
"""
PAGE = r"page=[0-9a-f]{16} pfn=0x[0-9a-f]+"
LINES = (
    rf"\.\.\.\.\. +[\d.]+: mm_page_alloc: {PAGE} order=0 migratetype=1 gfp_flags=GFP_HIGHUSER_MOVABLE\|__GFP_COMP\n",
    rf"\.\.\.\.\. +[\d.]+: mm_page_alloc: {PAGE} order=0 migratetype=1 gfp_flags=GFP_HIGHUSER_MOVABLE\|__GFP_COMP\|__GFP_ZERO\n",
    rf" [\d.]+: mm_page_free: {PAGE} order=0\n",
    rf" [\d.]+: mm_page_free_batched: {PAGE} order=0\n",
    r"d\.\.2\. +[\d.]+: mm_lru_insertion: folio=[0-9a-f]{16} pfn=0x[0-9a-f]+ lru=0 flags=Ma bd \n",
    r"\.\.\.1\. +[\d.]+: rss_stat: mm_id=\d+ curr=0 type=MM_ANONPAGES size=0B\n",
    r" rss_stat: mm_id=\d+ curr=1 type=MM_ANONPAGES size=[1-9]\d*B\n",
    r"d\.\.2\. +[\d.]+: tlb_flush: pages:-1 reason:flush on task switch \(0\)\n",
    r" tlb_flush: pages:1 reason:local mm shootdown \(3\)\n",
    r" tlb_flush: pages:-1 reason:local mm shootdown \(3\)\n",
    r"\.\.\.\.\. +[\d.]+: vma_store: mt_mod [0-9a-f]{16}, \([0-9a-f]{16}\), STORE, \d+, 140737488351231,",
    r"\.\.\.\.\. +[\d.]+: exit_mmap: mt_mod [0-9a-f]{16}, DESTROY",
    r" rcu_utilization: Start context switch\n.* rcu_utilization: End context switch\n",
    r" napi_poll: napi poll on napi struct [0-9a-f]{16} for device \(no_device\) work \d+ budget 64\n",
    r'\n0x[0-9a-f]+ : "Start context switch"\n',
)


@pytest.fixture(scope="module")
def text():
    if BUSYBOX is None:
        pytest.skip("needs a static busybox on this host")
    machine = simkernel.boot()
    text = machine.run([machine.install(BUSYBOX), "sh", "-c", SCRIPT], timeout_host_s=60).text
    assert machine.kernel.mm.events is None  # nobody listens any more: nothing is asked
    return text


@pytest.mark.parametrize("line", LINES)
def test_the_lines_of_the_real_kernel(text, line):
    assert re.search(line, text)


def test_what_goes_to_a_list_was_allocated(text):
    allocated = set(re.findall(r"mm_page_alloc: page=\S+ pfn=(\S+)", text))
    inserted = set(re.findall(r"mm_lru_insertion: folio=\S+ pfn=(\S+)", text))
    assert len(inserted) > 20
    assert inserted <= allocated


def test_counters_fall_to_nothing_when_an_address_space_ends(text):
    """The id is the hash that %p shows, and the last word of each counter is 0."""
    for tree in re.findall(r"exit_mmap: mt_mod 0+([0-9a-f]+), DESTROY", text):
        before = text[: text.index(f"exit_mmap: mt_mod {int(tree, 16):016x}")]
        last = re.findall(rf"rss_stat: mm_id={int(tree, 16)} curr=0 type=(\w+) size=(\d+)B", before)
        assert dict(last).get("MM_ANONPAGES") == "0"


def test_pages_of_a_disk_come_and_go():
    """Those of tmpfs do not come by filemap_add_folio(), as tests/tracing/programs/shell/filemap.sh shows; there is no disk on the oracle."""
    if BUSYBOX is None:
        pytest.skip("needs a static busybox on this host")
    machine = simkernel.boot()
    script = """
    cd /sys/kernel/tracing
    for e in add_to delete_from; do echo "s_dev == 0xfe00000" > events/filemap/mm_filemap_${e}_page_cache/filter; done
    echo 1 > events/filemap/enable
    head -c 6000 /dev/zero > /mnt/f; sync; echo 1 > /proc/sys/vm/drop_caches
    cat /mnt/f > /dev/null; cat /mnt/f > /dev/null; rm /mnt/f
    echo 0 > events/enable; cat trace
    """
    text = machine.run([machine.install(BUSYBOX), "sh", "-c", script], timeout_host_s=60).text
    told = re.findall(
        r"-\d+ +\[000\] (\S+) .*mm_filemap_(\w+)_page_cache: dev 254:0 ino \w+ pfn=(\w+) ofs=(\d+) order=0", text
    )
    add, delete = (".....", "add_to"), ("d..2.", "delete_from")
    assert [(held, name, int(place)) for held, name, _, place in told] == [
        (*what, place) for what in (add, delete, add, delete) for place in (0, 4096)
    ]  # fmt: skip
    assert [row[2] for row in told[:2]] == [row[2] for row in told[2:4]]
