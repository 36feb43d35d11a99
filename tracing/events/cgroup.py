"""Control groups: made, removed, entered.  include/trace/events/cgroup.h.

Each is fired under a spin lock that guards the buffer of the path.
"""

from __future__ import annotations

from tracing.events.declare import IRQS, NEVER, TraceEventDecl

GROUP = (
    ("int root", "cgrp->root->hierarchy_id"),
    ("int level", "cgrp->level"),
    ("u64 id", "cgrp->kn->id"),
    ("__data_loc char[] path", "path"),
)
cgroup_mkdir = TraceEventDecl(
    "cgroup", "cgroup_mkdir",
    since="5.10", held=(IRQS, 1),
    proto="struct cgroup *cgrp, const char *path",
    entry=GROUP,
    print='"root=%d id=%llu level=%d path=%s", REC->root, REC->id, REC->level, __get_str(path)',
)  # fmt: skip
cgroup_rmdir = cgroup_mkdir.like("cgroup_rmdir", held=(IRQS, 1))
cgroup_release = cgroup_mkdir.like("cgroup_release", held=(IRQS, 1), missing=NEVER)
cgroup_rename = cgroup_mkdir.like("cgroup_rename", missing=NEVER)
cgroup_freeze = cgroup_mkdir.like("cgroup_freeze", held=(IRQS, 1))
cgroup_unfreeze = cgroup_mkdir.like("cgroup_unfreeze", held=(IRQS, 1))
cgroup_attach_task = TraceEventDecl(
    "cgroup", "cgroup_attach_task",
    since="5.10", held=(IRQS, 1),
    proto="struct cgroup *dst_cgrp, const char *path, struct task_struct *task, bool threadgroup",
    entry=(
        ("int dst_root", "dst_cgrp->root->hierarchy_id"),
        ("int dst_level", "dst_cgrp->level"),
        ("u64 dst_id", "dst_cgrp->kn->id"),
        ("int pid", "task->pid"),
        ("__data_loc char[] dst_path", "path"),
        ("__data_loc char[] comm", "task->comm"),
    ),
    print=(
        '"dst_root=%d dst_id=%llu dst_level=%d dst_path=%s pid=%d comm=%s", REC->dst_root, REC->dst_id, '
        "REC->dst_level, __get_str(dst_path), REC->pid, __get_str(comm)"
    ),
)  # fmt: skip
cgroup_transfer_tasks = cgroup_attach_task.like("cgroup_transfer_tasks", missing=NEVER)
cgroup_notify_populated = TraceEventDecl(
    "cgroup", "cgroup_notify_populated",
    since="5.10", held=(IRQS, 2),
    proto="struct cgroup *cgrp, const char *path, int val",
    entry=(*GROUP, ("int val", "val")),
    print=(
        '"root=%d id=%llu level=%d path=%s val=%d", REC->root, REC->id, REC->level, __get_str(path), REC->val'
    ),
)  # fmt: skip
cgroup_notify_frozen = cgroup_notify_populated.like("cgroup_notify_frozen", held=(IRQS, 2))
