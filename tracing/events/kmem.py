"""Memory allocator events.  include/trace/events/kmem.h."""

from __future__ import annotations

from tracing.events.declare import TraceEventDecl

kmem_cache_alloc = TraceEventDecl(
    "kmem", "kmem_cache_alloc",
    missing="only of tasks and what each has, address spaces, their areas, open files and packets",
    proto="unsigned long call_site, const void *ptr, struct kmem_cache *s, gfp_t gfp_flags, int node",
    entry=(
        ("unsigned long call_site", "call_site"),
        ("const void * ptr", "ptr"),
        ("size_t bytes_req", "s->object_size"),
        ("size_t bytes_alloc", "s->size"),
        ("unsigned long gfp_flags", "gfp_flags"),
        ("int node", "node"),
        ("bool accounted", "(gfp_flags & 0x400000) || (s->flags & 0x4000000)"),
    ),
    print=(
        '"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu gfp_flags=%s node=%d accounted=%s", (void '
        "*)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc, show_gfp_flags(REC->gfp_flags), REC->node, "
        'REC->accounted ? "true" : "false"'
    ),
)  # fmt: skip
kmalloc = TraceEventDecl(
    "kmem", "kmalloc",
    missing="only of a task's and an executed file's memory",
    proto="unsigned long call_site, const void *ptr, size_t bytes_req, size_t bytes_alloc, gfp_t gfp_flags, int node",
    entry=(
        ("unsigned long call_site", "call_site"),
        ("const void * ptr", "ptr"),
        ("size_t bytes_req", "bytes_req"),
        ("size_t bytes_alloc", "bytes_alloc"),
        ("unsigned long gfp_flags", "gfp_flags"),
        ("int node", "node"),
    ),
    print=(
        '"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu gfp_flags=%s node=%d accounted=%s", (void '
        "*)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc, show_gfp_flags(REC->gfp_flags), REC->node, "
        '(1 && (REC->gfp_flags & ( unsigned long)(( gfp_t)0x400000u))) ? "true" : "false"'
    ),
)  # fmt: skip
kfree = TraceEventDecl(
    "kmem", "kfree",
    missing="only of a task's and an executed file's memory",
    proto="unsigned long call_site, const void *ptr",
    entry=(
        ("unsigned long call_site", "call_site"),
        ("const void * ptr", "ptr"),
    ),
    print='"call_site=%pS ptr=%p", (void *)REC->call_site, REC->ptr',
)  # fmt: skip
kmem_cache_free = TraceEventDecl(
    "kmem", "kmem_cache_free",
    missing="only of tasks and what each has, address spaces, their areas, open files and packets",
    proto="unsigned long call_site, const void *ptr, const struct kmem_cache *s",
    entry=(
        ("unsigned long call_site", "call_site"),
        ("const void * ptr", "ptr"),
        ("__data_loc char[] name", "s->name"),
    ),
    print='"call_site=%pS ptr=%p name=%s", (void *)REC->call_site, REC->ptr, __get_str(name)',
)  # fmt: skip
mm_page_free = TraceEventDecl(
    "kmem", "mm_page_free",
    missing="only of pages of user space and of files",
    proto="struct page *page, unsigned int order",
    entry=(
        ("unsigned long pfn", "page_to_pfn(page)"),
        ("unsigned int order", "order"),
    ),
    print='"page=%p pfn=0x%lx order=%d", (((struct page *)vmemmap_base) + (REC->pfn)), REC->pfn, REC->order',
)  # fmt: skip
mm_page_alloc = TraceEventDecl(
    "kmem", "mm_page_alloc",
    missing="only of pages of user space and of files",
    proto="struct page *page, unsigned int order, gfp_t gfp_flags, int migratetype",
    entry=(
        ("unsigned long pfn", "page ? page_to_pfn(page) : -1"),
        ("unsigned int order", "order"),
        ("unsigned long gfp_flags", "gfp_flags"),
        ("int migratetype", "migratetype"),
    ),
    print=(
        '"page=%p pfn=0x%lx order=%d migratetype=%d gfp_flags=%s", REC->pfn != -1UL ? (((struct page '
        "*)vmemmap_base) + (REC->pfn)) : ((void *)0), REC->pfn != -1UL ? REC->pfn : 0, REC->order, "
        "REC->migratetype, show_gfp_flags(REC->gfp_flags)"
    ),
)  # fmt: skip
