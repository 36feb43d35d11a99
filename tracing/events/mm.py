"""Resident pages, the LRU lists, the page cache, the TLB, areas.  include/trace/events/{kmem,pagemap,tlb,mmap,filemap}.h."""

from __future__ import annotations

from tracing.events.declare import IRQS, TraceEventDecl

rss_stat = TraceEventDecl(
    "kmem", "rss_stat",
    since="6.1",
    held=(0, 1),
    proto="struct mm_struct *mm, int member, long count",
    entry=(
        ("unsigned int mm_id", "mm_ptr_to_hash(mm)"),
        ("unsigned int curr", "current->mm == mm"),
        ("int member", "member"),
        ("long size", "count << 12"),
    ),
    print=(
        '"mm_id=%u curr=%d type=%s size=%ldB", REC->mm_id, REC->curr, __print_symbolic(REC->member, { 0, "MM_FILEPAGES" }, '
        '{ 1, "MM_ANONPAGES" }, { 2, "MM_SWAPENTS" }, { 3, "MM_SHMEMPAGES" }), REC->size'
    ),
)  # fmt: skip
mm_lru_insertion = TraceEventDecl(
    "pagemap", "mm_lru_insertion",
    since="6.1",
    held=(IRQS, 2),
    proto="struct folio *folio",
    entry=(
        ("struct folio * folio", "folio"),
        ("unsigned long pfn", "page_to_pfn(folio)"),
        ("enum lru_list lru", "folio_lru_list(folio)"),
        ("unsigned long flags", "trace_pagemap_flags(folio)"),
    ),
    print=(
        '"folio=%p pfn=0x%lx lru=%d flags=%s%s%s%s%s%s", REC->folio, REC->pfn, REC->lru, REC->flags & 0x0001u ? "M" : " ", '
        'REC->flags & 0x0002u ? "a" : "f", REC->flags & 0x0008u ? "s" : " ", REC->flags & 0x0010u ? "b" : " ", '
        'REC->flags & 0x0020u ? "d" : " ", REC->flags & 0x0040u ? "B" : " "'
    ),
)  # fmt: skip
tlb_flush = TraceEventDecl(
    "tlb", "tlb_flush",
    since="5.10",
    held=(IRQS, 2),
    proto="int reason, unsigned long pages",
    entry=(
        ("int reason", "reason"),
        ("unsigned long pages", "pages"),
    ),
    print=(
        '"pages:%ld reason:%s (%d)", REC->pages, __print_symbolic(REC->reason, { 0, "flush on task switch" }, '
        '{ 1, "remote shootdown" }, { 2, "local shootdown" }, { 3, "local mm shootdown" }, { 4, "remote ipi send" }), REC->reason'
    ),
)  # fmt: skip
_NO_ADDRESS = "__builtin_expect(!!((unsigned long)(void *)(REC->addr) >= (unsigned long)-4095), 0)"
vm_unmapped_area = TraceEventDecl(
    "mmap", "vm_unmapped_area",
    since="5.10",
    proto="unsigned long addr, struct vm_unmapped_area_info *info",
    entry=(
        ("unsigned long addr", "addr"),
        ("unsigned long total_vm", "current->mm->total_vm"),
        ("unsigned long flags", "info->flags"),
        ("unsigned long length", "info->length"),
        ("unsigned long low_limit", "info->low_limit"),
        ("unsigned long high_limit", "info->high_limit"),
        ("unsigned long align_mask", "info->align_mask"),
        ("unsigned long align_offset", "info->align_offset"),
    ),
    print=(
        '"addr=0x%lx err=%ld total_vm=0x%lx flags=0x%lx len=0x%lx lo=0x%lx hi=0x%lx mask=0x%lx ofs=0x%lx\n", '
        f"{_NO_ADDRESS} ? 0 : REC->addr, {_NO_ADDRESS} ? REC->addr : 0, REC->total_vm, REC->flags, REC->length, "
        "REC->low_limit, REC->high_limit, REC->align_mask, REC->align_offset"
    ),
)  # fmt: skip
vma_store = TraceEventDecl(
    "mmap", "vma_store",
    since="6.1", until="7.2",
    proto="struct maple_tree *mt, struct vm_area_struct *vma",
    entry=(
        ("struct maple_tree * mt", "mt"),
        ("struct vm_area_struct * vma", "vma"),
        ("unsigned long vm_start", "vma->vm_start"),
        ("unsigned long vm_end", "vma->vm_end - 1"),
    ),
    print=(
        '"mt_mod %p, (%p), STORE, %lu, %lu,", REC->mt, REC->vma, (unsigned long) REC->vm_start, (unsigned long) REC->vm_end'
    ),
)  # fmt: skip
exit_mmap = TraceEventDecl(
    "mmap", "exit_mmap",
    since="6.1",
    proto="struct mm_struct *mm",
    entry=(
        ("struct mm_struct * mm", "mm"),
        ("struct maple_tree * mt", "mm->mm_mt"),
    ),
    print='"mt_mod %p, DESTROY\n", REC->mt',
)  # fmt: skip
rcu_utilization = TraceEventDecl(
    "rcu", "rcu_utilization",
    proto="const char *s",
    entry=(("const char * s", "s"),),
    print='"%s", REC->s',
)  # fmt: skip
rseq_update = TraceEventDecl(
    "rseq", "rseq_update",
    since="5.10",
    proto="struct task_struct *t",
    entry=(("s32 cpu_id", "task_cpu(t)"),),
    print='"cpu_id=%d", REC->cpu_id',
)  # fmt: skip
rseq_ip_fixup = TraceEventDecl(
    "rseq", "rseq_ip_fixup",
    since="5.10",
    proto="unsigned long regs_ip, unsigned long start_ip, unsigned long post_commit_offset, unsigned long abort_ip",
    entry=(
        ("unsigned long regs_ip", "regs_ip"),
        ("unsigned long start_ip", "start_ip"),
        ("unsigned long post_commit_offset", "post_commit_offset"),
        ("unsigned long abort_ip", "abort_ip"),
    ),
    print=(
        '"regs_ip=0x%lx start_ip=0x%lx post_commit_offset=%lu abort_ip=0x%lx", REC->regs_ip, REC->start_ip, '
        "REC->post_commit_offset, REC->abort_ip"
    ),
)  # fmt: skip
mm_filemap_add_to_page_cache = TraceEventDecl(
    "filemap", "mm_filemap_add_to_page_cache",
    since="6.1",
    proto="struct folio *folio",
    entry=(
        ("unsigned long pfn", "page_to_pfn(folio)"),
        ("unsigned long i_ino", "folio_ino(folio)"),
        ("unsigned long index", "folio_index(folio)"),
        ("dev_t s_dev", "folio_dev(folio)"),
        ("unsigned char order", "0"),
    ),
    print=(
        '"dev %d:%d ino %lx pfn=0x%lx ofs=%lu order=%u", MAJOR(REC->s_dev), MINOR(REC->s_dev), REC->i_ino, REC->pfn, '
        "REC->index << 12, REC->order"
    ),
)  # fmt: skip
_mm_filemap_range = TraceEventDecl(
    "filemap", "mm_filemap_map_pages",
    proto="struct address_space *mapping, unsigned long index, unsigned long last_index",
    entry=(
        ("unsigned long i_ino", "mapping->host->i_ino"),
        ("dev_t s_dev", "mapping->host->i_sb->s_dev"),
        ("unsigned long index", "index"),
        ("unsigned long last_index", "last_index"),
    ),
    print=(
        '"dev=%d:%d ino=%lx ofs=%lld-%lld", MAJOR(REC->s_dev), MINOR(REC->s_dev), REC->i_ino, ((loff_t)REC->index) << 12, '
        "((((loff_t)REC->last_index + 1) << 12) - 1)"
    ),
)  # fmt: skip
mm_filemap_map_pages = _mm_filemap_range.like("mm_filemap_map_pages", since="6.12")
mm_filemap_fault = TraceEventDecl(
    "filemap", "mm_filemap_fault",
    since="6.12",
    proto="struct address_space *mapping, unsigned long index",
    entry=_mm_filemap_range.entry[:3],
    print='"dev=%d:%d ino=%lx ofs=%lld", MAJOR(REC->s_dev), MINOR(REC->s_dev), REC->i_ino, ((loff_t)REC->index) << 12',
)  # fmt: skip
mm_filemap_delete_from_page_cache = mm_filemap_add_to_page_cache.like(
    "mm_filemap_delete_from_page_cache", since="6.1", held=(IRQS, 2)
)
