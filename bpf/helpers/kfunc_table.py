"""Kernel functions that programs may call, since 6.2: one row each, in the order of the sets that register them.

A row is `name since until commit flags`: the first version with these flags (and the first without, `-` for still), the kernel's
change (`-`: found by comparing two kernels), and the KF_ flags.  Bodies stand in bpf/helpers/ under the function's name.
"""

from __future__ import annotations

from typing import Final

from bpf import uapi
from bpf.helpers.kfunc_rows import ROWS, KfuncSet, declare
from bpf.versions.attach_groups import SESSIONS_OF_PROBES, SESSIONS_OF_TRAMPOLINES

# functions with rules of their own in the verifier that are not modelled: no program with a call of one is accepted
NOT_VERIFIED: Final = frozenset(
    [
        "__bpf_trap",
        "bpf_stream_vprintk",
        "bpf_dynptr_from_file",
        "bpf_dynptr_file_discard",
        "bpf_task_work_schedule_signal",
        "bpf_task_work_schedule_resume",
    ]
)

# functions whose bodies stand in bpf/helpers/objects.py and kernel_objects.py
WITH_BODY: Final = frozenset(
    [
        "bpf_obj_new_impl",
        "bpf_obj_new",
        "bpf_obj_drop_impl",
        "bpf_obj_drop",
        "bpf_refcount_acquire_impl",
        "bpf_refcount_acquire",
        "bpf_list_push_front_impl",
        "bpf_list_push_front",
        "bpf_list_push_back_impl",
        "bpf_list_push_back",
        "bpf_list_pop_front",
        "bpf_list_pop_back",
        "bpf_list_front",
        "bpf_list_back",
        "bpf_rbtree_add_impl",
        "bpf_rbtree_add",
        "bpf_rbtree_first",
        "bpf_rbtree_remove",
        "bpf_rbtree_root",
        "bpf_rbtree_left",
        "bpf_rbtree_right",
        "bpf_throw",
        "bpf_iter_num_new",
        "bpf_iter_num_next",
        "bpf_iter_num_destroy",
        "bpf_rcu_read_lock",
        "bpf_rcu_read_unlock",
        "bpf_preempt_disable",
        "bpf_preempt_enable",
        "bpf_task_release",
        "bpf_cgroup_release",
        "bpf_cast_to_kern_ctx",
        "bpf_rdonly_cast",
        "bpf_task_acquire",
        "bpf_cgroup_acquire",
        "bpf_task_from_pid",
        "bpf_task_from_vpid",
        "bpf_cpumask_create",
        "bpf_cpumask_acquire",
        "bpf_cpumask_release",
        "bpf_cpumask_first",
        "bpf_cpumask_any_distribute",
        "bpf_cpumask_first_zero",
        "bpf_cpumask_empty",
        "bpf_cpumask_full",
        "bpf_cpumask_weight",
        "bpf_cpumask_first_and",
        "bpf_cpumask_any_and_distribute",
        "bpf_cpumask_equal",
        "bpf_cpumask_intersects",
        "bpf_cpumask_subset",
        "bpf_cpumask_and",
        "bpf_cpumask_or",
        "bpf_cpumask_xor",
        "bpf_cpumask_copy",
        "bpf_cpumask_setall",
        "bpf_cpumask_clear",
        "bpf_cpumask_set_cpu",
        "bpf_cpumask_test_and_set_cpu",
        "bpf_cpumask_clear_cpu",
        "bpf_cpumask_test_and_clear_cpu",
        "bpf_cpumask_test_cpu",
        "bpf_dynptr_is_null",
        "bpf_dynptr_is_rdonly",
        "bpf_dynptr_size",
        "bpf_dynptr_adjust",
        "bpf_dynptr_clone",
        "bpf_dynptr_slice",
        "bpf_dynptr_slice_rdwr",
        "bpf_strlen",
        "bpf_strnlen",
        "bpf_strcmp",
        "bpf_strcasecmp",
        "bpf_strchr",
        "bpf_strrchr",
        "bpf_strchrnul",
        "bpf_strstr",
        "bpf_strspn",
        "bpf_strcspn",
        "bpf_dynptr_from_skb",
        "bpf_res_spin_lock",
        "bpf_res_spin_unlock",
        "bpf_res_spin_lock_irqsave",
        "bpf_res_spin_unlock_irqrestore",
        "bpf_local_irq_save",
        "bpf_local_irq_restore",
        "bpf_dynptr_from_xdp",
        "bpf_arena_alloc_pages",
        "bpf_arena_free_pages",
        "bpf_arena_reserve_pages",
        "bpf_iter_task_new",
        "bpf_iter_task_next",
        "bpf_iter_task_destroy",
        "bpf_iter_task_vma_new",
        "bpf_iter_task_vma_next",
        "bpf_iter_task_vma_destroy",
        "bpf_iter_css_new",
        "bpf_iter_css_next",
        "bpf_iter_css_destroy",
        "bpf_iter_css_task_new",
        "bpf_iter_css_task_next",
        "bpf_iter_css_task_destroy",
        "bpf_iter_bits_new",
        "bpf_iter_bits_next",
        "bpf_iter_bits_destroy",
        "bpf_iter_kmem_cache_new",
        "bpf_iter_kmem_cache_next",
        "bpf_iter_kmem_cache_destroy",
        "bpf_iter_dmabuf_new",
        "bpf_iter_dmabuf_next",
        "bpf_iter_dmabuf_destroy",
        "bpf_get_kmem_cache",
        "bpf_cgroup_from_id",
        "bpf_cgroup_ancestor",
        "bpf_session_is_return",
        "bpf_session_cookie",
        "bpf_sock_addr_set_sun_path",
    ]
)

_GENERIC = "tracing tc xdp struct_ops syscall cgroup"
_SKB = "tc sched_act sk_skb socket_filter cgroup lwt netfilter tracing"

_SETS: tuple[tuple[KfuncSet, str], ...] = (
    (
        KfuncSet("common", "kernel/bpf/helpers.c"),
        """
        bpf_cast_to_kern_ctx            6.2  6.15 fd264ca02094 -
        bpf_cast_to_kern_ctx            6.15 -    - fastcall
        bpf_rdonly_cast                 6.2  6.15 a35b9af4ec2c -
        bpf_rdonly_cast                 6.15 -    - fastcall
        bpf_rcu_read_lock               6.2  -    9bb00b2895cb -
        bpf_rcu_read_unlock             6.2  -    9bb00b2895cb -
        bpf_dynptr_slice                6.4  -    66e3a13e7c2c ret_null
        bpf_dynptr_slice_rdwr           6.4  -    66e3a13e7c2c ret_null
        bpf_iter_num_new                6.4  -    6018e1f407cc iter_new
        bpf_iter_num_next               6.4  -    6018e1f407cc iter_next ret_null
        bpf_iter_num_destroy            6.4  -    6018e1f407cc iter_destroy
        bpf_iter_task_vma_new           6.7  -    4ac454682158 iter_new rcu
        bpf_iter_task_vma_next          6.7  -    4ac454682158 iter_next ret_null
        bpf_iter_task_vma_destroy       6.7  -    4ac454682158 iter_destroy
        bpf_iter_css_task_new           6.7  -    9c66dc94b62a iter_new trusted
        bpf_iter_css_task_next          6.7  -    9c66dc94b62a iter_next ret_null
        bpf_iter_css_task_destroy       6.7  -    9c66dc94b62a iter_destroy
        bpf_iter_css_new                6.7  -    7251d0905e75 iter_new trusted rcu_protected
        bpf_iter_css_next               6.7  -    7251d0905e75 iter_next ret_null
        bpf_iter_css_destroy            6.7  -    7251d0905e75 iter_destroy
        bpf_iter_task_new               6.7  -    c68a78ffe2cb iter_new trusted rcu_protected
        bpf_iter_task_next              6.7  -    c68a78ffe2cb iter_next ret_null
        bpf_iter_task_destroy           6.7  -    c68a78ffe2cb iter_destroy
        bpf_dynptr_adjust               6.5  -    987d0242d189 -
        bpf_dynptr_is_null              6.5  -    540ccf96ddbc -
        bpf_dynptr_is_rdonly            6.5  -    540ccf96ddbc -
        bpf_dynptr_size                 6.5  -    26662d7347a0 -
        bpf_dynptr_clone                6.5  -    361f129f3cc1 -
        bpf_dynptr_copy                 6.16 -    a498ee7576de -
        bpf_dynptr_memset               6.17 -    5fc5d8fded57 -
        bpf_modify_return_test_tp       6.10 -    3134396f173d -
        bpf_wq_init                     6.10 -    eb48f6cd41a0 -
        bpf_wq_set_callback_impl        6.10 7.0  81f1d7a583fa -
        bpf_wq_set_callback             7.0  -    - implicit_args
        bpf_wq_start                    6.10 -    8e83da9732d9 -
        bpf_preempt_disable             6.10 -    fc7566ad0a82 -
        bpf_preempt_enable              6.10 -    fc7566ad0a82 -
        bpf_iter_bits_new               6.11 -    4665415975b0 iter_new
        bpf_iter_bits_next              6.11 -    4665415975b0 iter_next ret_null
        bpf_iter_bits_destroy           6.11 -    4665415975b0 iter_destroy
        bpf_copy_from_user_str          6.12 -    65ab5ac4df01 sleepable
        bpf_copy_from_user_task_str     6.15 -    f0f8a5b58f78 sleepable
        bpf_get_kmem_cache              6.13 7.0  a992d7a3979d -
        bpf_get_kmem_cache              7.0  -    - -
        bpf_iter_kmem_cache_new         6.13 -    2e9a548009c2 iter_new sleepable
        bpf_iter_kmem_cache_next        6.13 -    2e9a548009c2 iter_next ret_null sleepable
        bpf_iter_kmem_cache_destroy     6.13 -    2e9a548009c2 iter_destroy sleepable
        bpf_local_irq_save              6.14 -    c8e2ee1f3df0 -
        bpf_local_irq_restore           6.14 -    c8e2ee1f3df0 -
        bpf_probe_read_user_dynptr      6.16 -    a498ee7576de -
        bpf_probe_read_kernel_dynptr    6.16 -    a498ee7576de -
        bpf_probe_read_user_str_dynptr  6.16 -    a498ee7576de -
        bpf_probe_read_kernel_str_dynptr 6.16 -   a498ee7576de -
        bpf_copy_from_user_dynptr       6.16 -    a498ee7576de sleepable
        bpf_copy_from_user_str_dynptr   6.16 -    a498ee7576de sleepable
        bpf_copy_from_user_task_dynptr  6.16 -    a498ee7576de sleepable
        bpf_copy_from_user_task_str_dynptr 6.16 - a498ee7576de sleepable
        bpf_iter_dmabuf_new             6.16 -    76ea95534995 iter_new sleepable
        bpf_iter_dmabuf_next            6.16 -    76ea95534995 iter_next ret_null sleepable
        bpf_iter_dmabuf_destroy         6.16 -    76ea95534995 iter_destroy sleepable
        __bpf_trap                      6.16 -    f95695f2c465 -
        bpf_strcmp                      6.17 -    e91370550f1f -
        bpf_strcasecmp                  6.18 -    - -
        bpf_strncasecmp                 7.0  -    - -
        bpf_strchr                      6.17 -    e91370550f1f -
        bpf_strchrnul                   6.17 -    e91370550f1f -
        bpf_strnchr                     6.17 -    e91370550f1f -
        bpf_strrchr                     6.17 -    e91370550f1f -
        bpf_strlen                      6.17 -    e91370550f1f -
        bpf_strnlen                     6.17 -    e91370550f1f -
        bpf_strspn                      6.17 -    e91370550f1f -
        bpf_strcspn                     6.17 -    e91370550f1f -
        bpf_strstr                      6.17 -    e91370550f1f -
        bpf_strcasestr                  6.19 -    - -
        bpf_strnstr                     6.17 -    e91370550f1f -
        bpf_strncasestr                 6.19 -    - -
        bpf_cgroup_read_xattr           6.17 -    535b070f4a80 rcu
        bpf_stream_vprintk              7.0  -    - implicit_args
        bpf_stream_print_stack          7.0  -    - implicit_args
        bpf_task_work_schedule_signal   7.0  -    - implicit_args
        bpf_task_work_schedule_resume   7.0  -    - implicit_args
        bpf_dynptr_from_file            6.19 -    - -
        bpf_dynptr_file_discard         6.19 -    - release
        bpf_timer_cancel_async          7.0  -    - -
        """,
    ),
    (
        KfuncSet("common", "kernel/bpf/rqspinlock.c"),
        """
        bpf_res_spin_lock               6.15 -    97eb35f3ad42 ret_null
        bpf_res_spin_unlock             6.15 -    97eb35f3ad42 -
        bpf_res_spin_lock_irqsave       6.15 -    97eb35f3ad42 ret_null
        bpf_res_spin_unlock_irqrestore  6.15 -    97eb35f3ad42 -
        """,
    ),
    (
        KfuncSet("common", "kernel/bpf/map_iter.c"),
        """
        bpf_map_sum_elem_count          6.6  -    515ee52b2224 trusted
        """,
    ),
    (
        KfuncSet("common", "kernel/bpf/arena.c"),
        """
        bpf_arena_alloc_pages           6.9  7.0  317460317a02 trusted sleepable
        bpf_arena_alloc_pages           7.0  -    - arena_ret arena_arg2
        bpf_arena_free_pages            6.9  7.0  317460317a02 trusted sleepable
        bpf_arena_free_pages            7.0  -    - arena_arg2
        bpf_arena_reserve_pages         6.17 -    8fc3d2d8b5ed arena_arg2
        """,
    ),
    (
        KfuncSet("common", "mm/bpf_memcontrol.c"),
        """
        bpf_get_root_mem_cgroup         7.0  -    - acquire ret_null
        bpf_get_mem_cgroup              7.0  -    - acquire ret_null rcu
        bpf_put_mem_cgroup              7.0  -    - release
        bpf_mem_cgroup_vm_events        7.0  -    - -
        bpf_mem_cgroup_memory_events    7.0  -    - -
        bpf_mem_cgroup_usage            7.0  -    - -
        bpf_mem_cgroup_page_state       7.0  -    - -
        bpf_mem_cgroup_flush_stats      7.0  -    - sleepable
        """,
    ),
    (
        KfuncSet(_GENERIC, "kernel/bpf/helpers.c"),
        """
        bpf_obj_new_impl                6.2  -    958cf2e273f0 acquire ret_null
        bpf_obj_new                     7.0  -    - acquire ret_null implicit_args
        bpf_percpu_obj_new_impl         6.7  -    36d8bdf75a93 acquire ret_null
        bpf_percpu_obj_new              7.0  -    - acquire ret_null implicit_args
        bpf_obj_drop_impl               6.2  -    ac9f06050a35 release
        bpf_obj_drop                    7.0  -    - release implicit_args
        bpf_percpu_obj_drop_impl        6.7  -    36d8bdf75a93 release
        bpf_percpu_obj_drop             7.0  -    - release implicit_args
        bpf_refcount_acquire_impl       6.4  6.7  7c50b1cb76ac acquire ret_null
        bpf_refcount_acquire_impl       6.7  -    0816b8c6bf7f acquire ret_null rcu
        bpf_refcount_acquire            7.0  -    - acquire ret_null rcu implicit_args
        bpf_list_push_front             6.2  6.4  8cab76ec6349 -
        bpf_list_push_back              6.2  6.4  8cab76ec6349 -
        bpf_list_push_front_impl        6.4  -    d2dcc67df910 -
        bpf_list_push_front             7.0  -    - implicit_args
        bpf_list_push_back_impl         6.4  -    d2dcc67df910 -
        bpf_list_push_back              7.0  -    - implicit_args
        bpf_list_add                    7.1  -    - implicit_args
        bpf_list_pop_front              6.2  -    8cab76ec6349 acquire ret_null
        bpf_list_pop_back               6.2  -    8cab76ec6349 acquire ret_null
        bpf_list_del                    7.1  -    - acquire ret_null
        bpf_list_front                  6.16 -    fb5b480205ba ret_null
        bpf_list_back                   6.16 -    fb5b480205ba ret_null
        bpf_list_is_first               7.1  -    - -
        bpf_list_is_last                7.1  -    - -
        bpf_list_empty                  7.1  -    - -
        bpf_task_acquire                6.2  6.4  90660309b0c7 acquire trusted
        bpf_task_acquire                6.4  -    d02c48fa1134 acquire rcu ret_null
        bpf_task_release                6.2  -    90660309b0c7 release
        bpf_rbtree_remove               6.3  -    bd1279ae8a69 acquire ret_null
        bpf_rbtree_add                  6.3  6.4  bd1279ae8a69 -
        bpf_rbtree_add_impl             6.4  -    d2dcc67df910 -
        bpf_rbtree_add                  7.0  -    - implicit_args
        bpf_rbtree_first                6.3  -    bd1279ae8a69 ret_null
        bpf_rbtree_root                 6.16 -    9e3e66c553f7 ret_null
        bpf_rbtree_left                 6.16 -    9e3e66c553f7 ret_null
        bpf_rbtree_right                6.16 -    9e3e66c553f7 ret_null
        bpf_cgroup_acquire              6.2  6.4  fda01efc6160 acquire trusted
        bpf_cgroup_acquire              6.4  -    1d71283987c7 acquire rcu ret_null
        bpf_cgroup_release              6.2  -    fda01efc6160 release
        bpf_cgroup_ancestor             6.2  6.4  5ca786789721 acquire trusted ret_null
        bpf_cgroup_ancestor             6.4  -    20c09d92faee acquire rcu ret_null
        bpf_cgroup_from_id              6.4  -    332ea1f697be acquire ret_null
        bpf_task_under_cgroup           6.5  -    b5ad4cdc46c7 rcu
        bpf_task_get_cgroup1            6.8  -    fe977716b40c acquire rcu ret_null
        bpf_task_from_pid               6.2  -    3f0e6f2b41d3 acquire ret_null
        bpf_task_from_vpid              6.15 -    - acquire ret_null
        bpf_throw                       6.7  -    f18b03fabaa9 -
        bpf_send_signal_task            6.13 -    6280cf718db0 -
        bpf_lookup_user_key             6.18 -    - acquire ret_null sleepable
        bpf_lookup_system_key           6.18 -    - acquire ret_null
        bpf_key_put                     6.18 -    - release
        bpf_verify_pkcs7_signature      6.18 -    - sleepable
        """,
    ),
    (
        KfuncSet("tracing struct_ops syscall", "kernel/bpf/cpumask.c"),
        """
        bpf_cpumask_create              6.3  -    516f4d3397c9 acquire ret_null
        bpf_cpumask_release             6.3  -    516f4d3397c9 release
        bpf_cpumask_acquire             6.3  -    516f4d3397c9 acquire trusted
        bpf_cpumask_first               6.3  -    516f4d3397c9 rcu
        bpf_cpumask_first_zero          6.3  -    516f4d3397c9 rcu
        bpf_cpumask_first_and           6.5  -    5ba3a7a851e3 rcu
        bpf_cpumask_set_cpu             6.3  -    516f4d3397c9 rcu
        bpf_cpumask_clear_cpu           6.3  -    516f4d3397c9 rcu
        bpf_cpumask_test_cpu            6.3  -    516f4d3397c9 rcu
        bpf_cpumask_test_and_set_cpu    6.3  -    516f4d3397c9 rcu
        bpf_cpumask_test_and_clear_cpu  6.3  -    516f4d3397c9 rcu
        bpf_cpumask_setall              6.3  -    516f4d3397c9 rcu
        bpf_cpumask_clear               6.3  -    516f4d3397c9 rcu
        bpf_cpumask_and                 6.3  -    516f4d3397c9 rcu
        bpf_cpumask_or                  6.3  -    516f4d3397c9 rcu
        bpf_cpumask_xor                 6.3  -    516f4d3397c9 rcu
        bpf_cpumask_equal               6.3  -    516f4d3397c9 rcu
        bpf_cpumask_intersects          6.3  -    516f4d3397c9 rcu
        bpf_cpumask_subset              6.3  -    516f4d3397c9 rcu
        bpf_cpumask_empty               6.3  -    516f4d3397c9 rcu
        bpf_cpumask_full                6.3  -    516f4d3397c9 rcu
        bpf_cpumask_copy                6.3  -    516f4d3397c9 rcu
        bpf_cpumask_any                 6.3  6.5  516f4d3397c9 rcu
        bpf_cpumask_any_and             6.3  6.5  516f4d3397c9 rcu
        bpf_cpumask_any_distribute      6.5  -    f983be917332 rcu
        bpf_cpumask_any_and_distribute  6.5  -    f983be917332 rcu
        bpf_cpumask_weight              6.9  -    a6de18f310a5 rcu
        bpf_cpumask_populate            6.15 -    950ad93df2fc rcu
        """,
    ),
    (
        KfuncSet("syscall", "kernel/bpf/crypto.c"),
        """
        bpf_crypto_ctx_create           6.10 -    3e1c6f35409f acquire ret_null sleepable
        bpf_crypto_ctx_release          6.10 -    3e1c6f35409f release
        bpf_crypto_ctx_acquire          6.10 -    3e1c6f35409f acquire rcu ret_null
        """,
    ),
    (
        KfuncSet("tc sched_act xdp", "kernel/bpf/crypto.c"),
        """
        bpf_crypto_decrypt              6.10 -    3e1c6f35409f rcu
        bpf_crypto_encrypt              6.10 -    3e1c6f35409f rcu
        """,
    ),
    (
        KfuncSet("lsm", "fs/bpf_fs_kfuncs.c"),
        """
        bpf_get_task_exe_file           6.12 -    d08e2045ebf0 acquire trusted ret_null
        bpf_put_file                    6.12 -    d08e2045ebf0 release
        bpf_path_d_path                 6.12 -    d08e2045ebf0 trusted
        bpf_get_dentry_xattr            6.12 -    ac13a4261afe sleepable trusted
        bpf_get_file_xattr              6.12 -    d08e2045ebf0 sleepable trusted
        bpf_set_dentry_xattr            6.15 -    56467292794b sleepable trusted
        bpf_remove_dentry_xattr         6.15 -    56467292794b sleepable trusted
        bpf_real_data_inode             7.2  -    - sleepable ret_null
        """,
    ),
    (
        KfuncSet("lsm", "fs/verity/measure.c"),
        """
        bpf_get_fsverity_digest         6.8  -    67814c00de31 trusted
        """,
    ),
    (
        KfuncSet("tracing", "kernel/trace/bpf_trace.c"),
        """
        bpf_get_file_xattr              6.8  6.12 ac9c05e0e453 sleepable trusted
        """,
    ),
    (
        KfuncSet("kprobe", "kernel/trace/bpf_trace.c", attach=SESSIONS_OF_PROBES),
        """
        bpf_session_is_return           6.10 7.0  adf46d88ae4b -
        bpf_session_cookie              6.10 7.0  5c919acef851 -
        """,
    ),
    (
        KfuncSet("kprobe tracing", "kernel/trace/bpf_trace.c", attach=SESSIONS_OF_PROBES + SESSIONS_OF_TRAMPOLINES),
        """
        bpf_session_is_return           7.0  -    - -
        bpf_session_cookie              7.0  -    - -
        """,
    ),
    (
        KfuncSet("tracing", "kernel/cgroup/rstat.c"),
        """
        css_rstat_updated               6.16 -    a97915559f5c -
        css_rstat_flush                 6.16 -    a97915559f5c sleepable
        """,
    ),
    (
        KfuncSet("tc tracing syscall", "net/bpf/test_run.c"),
        """
        bpf_kfunc_call_test_release     6.4  -    65eb006d85a2 release
        bpf_kfunc_call_memb_release     6.4  -    65eb006d85a2 release
        """,
    ),
    (
        KfuncSet(_SKB, "net/core/filter.c"),
        """
        bpf_dynptr_from_skb             6.4  -    b5964b968ac6 trusted
        """,
    ),
    (
        KfuncSet("tc sched_act", "net/core/filter.c"),
        """
        bpf_dynptr_from_skb_meta        6.18 -    6877cd392bae -
        """,
    ),
    (
        KfuncSet("xdp", "net/core/filter.c"),
        """
        bpf_dynptr_from_xdp             6.4  -    05421aecd4ed -
        bpf_xdp_pull_data               6.18 -    - -
        """,
    ),
    (
        KfuncSet("cgroup_sock_addr", "net/core/filter.c"),
        """
        bpf_sock_addr_set_sun_path      6.7  -    53e380d21441 -
        """,
    ),
    (
        KfuncSet("tc", "net/core/filter.c"),
        """
        bpf_sk_assign_tcp_reqsk         6.9  -    e472f88891ab trusted
        """,
    ),
    (
        KfuncSet("sock_ops", "net/core/filter.c"),
        """
        bpf_sock_ops_enable_tx_tstamp   6.15 -    59422464266f -
        """,
    ),
    (
        KfuncSet("tracing", "net/core/filter.c", attach=(uapi.BPF_TRACE_ITER,)),
        """
        bpf_sock_destroy                6.5  -    4ddbcb886268 trusted
        """,
    ),
    (
        KfuncSet("xdp", "net/core/xdp.c"),
        """
        bpf_xdp_metadata_rx_timestamp   6.3  -    3d76a4d3d4e5 trusted
        bpf_xdp_metadata_rx_hash        6.3  -    3d76a4d3d4e5 trusted
        bpf_xdp_metadata_rx_vlan_tag    6.8  -    e6795330f88b trusted
        """,
    ),
    (
        KfuncSet("xdp", "net/xfrm/xfrm_state_bpf.c"),
        """
        bpf_xdp_get_xfrm_state          6.8  -    94151f5aa966 acquire ret_null
        bpf_xdp_xfrm_state_release      6.8  -    94151f5aa966 release
        """,
    ),
    (
        KfuncSet("struct_ops", "net/ipv4/tcp_cubic.c"),
        """
        cubictcp_cwnd_event_tx_start    7.1  -    - -
        """,
    ),
)


def load() -> None:
    """Enter all rows."""
    for kfunc_set, text in _SETS:
        for line in text.strip().split("\n"):
            name, since, until, commit, *flags = line.split()
            words = " ".join(word for word in flags if word != "-")
            missing = ROWS[name][0].missing if name in ROWS else "" if name in WITH_BODY else "a body"
            if name in NOT_VERIFIED:
                missing = "verification, a body"
            end = None if until == "-" else until
            declare(name, kfunc_set, words, missing=missing, since=since, until=end, commit=commit)


load()
