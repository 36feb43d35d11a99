"""bpf(2) commands on maps.  kernel/bpf/syscall.c: map_create(), map_lookup_elem() ... bpf_map_do_batch()."""

from __future__ import annotations

from arch.abi.errno import EBUSY, EINVAL, ENOENT, ENOSPC, ENOTSUPP, EPERM
from arch.abi.fcntl import O_RDONLY, O_WRONLY
from arch.errors import KernelError
from bpf import uapi
from bpf.board import CLASSIC_UNTIL
from bpf.core.load import object_name
from bpf.maps import functions
from bpf.maps.base import BpfMap, MapAttr
from bpf.maps.btf import check_map_btf
from bpf.maps.hash import HashMap
from bpf.maps.queue import BloomFilterMap, QueueMap
from bpf.maps.rhash import ResizableHashMap
from bpf.maps.rows import MAP_TYPES
from bpf.maps.types import has_map_type
from bpf.syscall.attr import Call, ask, btf_of_fd, check_token, file_mode, new_map_fd
from bpf.syscall.test_functions import KernelCall, Steps
from bpf.versions import features

NR_NODES = 1
NO_NODE = 0xFFFFFFFF  # -1

FROZEN_BY_WRITERS = "6.5"  # c4c84f6fb2c4: who may write through the descriptor may freeze the map


def map_create(call: Call) -> int:
    """BPF_MAP_CREATE."""
    call.check()
    attr, version = call.attr, call.version
    if attr.btf_vmlinux_value_type_id:
        if attr.map_type != uapi.BPF_MAP_TYPE_STRUCT_OPS or attr.btf_key_type_id or attr.btf_value_type_id:
            raise KernelError(EINVAL)
    elif attr.btf_key_type_id and not attr.btf_value_type_id:
        raise KernelError(EINVAL)
    row = MAP_TYPES.get(attr.map_type)
    if attr.map_extra and not (row is not None and row.map_extra):
        raise KernelError(EINVAL)
    mode = file_mode(attr.map_flags)
    if attr.map_flags & uapi.BPF_F_NUMA_NODE and version.at_least("4.14"):
        if attr.numa_node not in (*range(NR_NODES), NO_NODE):
            raise KernelError(EINVAL)
    if not has_map_type(version, attr.map_type) or attr.map_flags & ~features.known_flags(version, "map_flags"):
        raise KernelError(EINVAL)
    if attr.map_type == uapi.BPF_MAP_TYPE_STRUCT_OPS and not call.bpf.built_with("BPF_JIT"):
        raise KernelError(EINVAL, "the kernel is built without CONFIG_BPF_JIT")
    new = call.bpf.new_map(_map_attr(call))
    try:
        check_token(call, "map_flags", "map_token_fd")
        new.name = object_name(attr.bytes_of("map_name")) if version.at_least("4.15") else ""
        _set_types(call, new)
        ask(call, "bpf_map_alloc_security", new.address)
    except KernelError:
        new.free()
        raise
    new.get_user()
    call.bpf.publish_map(new)
    return new_map_fd(call, new, mode)


def _map_attr(call: Call) -> MapAttr:
    attr = call.attr
    return MapAttr(
        attr.map_type,
        attr.key_size,
        attr.value_size,
        attr.max_entries,
        attr.map_flags & ~uapi.BPF_F_TOKEN_FD,
        attr.signed("inner_map_fd"),
        attr.numa_node,
        attr.bytes_of("map_name"),
        attr.map_ifindex,
        attr.signed("btf_fd"),
        attr.btf_key_type_id,
        attr.btf_value_type_id,
        attr.btf_vmlinux_value_type_id,
        attr.map_extra,
    )


def _set_types(call: Call, new: BpfMap) -> None:
    """BTF of key and value, if given."""
    attr = call.attr
    if not (attr.btf_key_type_id or attr.btf_value_type_id or attr.btf_vmlinux_value_type_id):
        return
    found = btf_of_fd(call, attr.signed("btf_fd"))
    new.btf = found.btf
    new.btf_object = found
    found.get()  # a map that is not to be gives it back, too
    if attr.btf_value_type_id:
        check_map_btf(new, found.btf, attr.btf_key_type_id, attr.btf_value_type_id, call.host.vmlinux_btf)
        new.set_special()


def _may(call: Call, target: BpfMap, fd: int, *, read: bool = False, write: bool = False) -> None:
    """map_get_sys_perms(): how the descriptor was opened; a frozen map cannot be written."""
    mode = call.host.fd_flags(fd) & 3
    if read and mode == O_WRONLY:
        raise KernelError(EPERM)
    if write and (mode == O_RDONLY or target.frozen):
        raise KernelError(EPERM)
    if not target.offered:
        target.offer()


def _check_lock(target: BpfMap, flags: int) -> None:
    if flags & uapi.BPF_F_LOCK and not target.has_spin_lock():
        raise KernelError(EINVAL)


def _copy_key(call: Call, target: BpfMap, address: int) -> bytes:
    """__bpf_copy_key(): maps without keys take no key."""
    if target.key_size:
        return call.user.read(address, target.key_size)
    if address and call.version.at_least(CLASSIC_UNTIL):
        raise KernelError(EINVAL)
    return b""


def map_lookup_elem(call: Call) -> int | Steps:
    """BPF_MAP_LOOKUP_ELEM."""
    call.check()
    attr = call.attr
    flags = attr.flags
    if flags & ~uapi.BPF_F_LOCK:
        raise KernelError(EINVAL)
    fd = attr.signed("map_fd")
    target = call.bpf.map_of_fd(fd)
    _may(call, target, fd, read=True)
    _check_lock(target, flags)
    key = _copy_key(call, target, attr.key)
    if isinstance(target, BloomFilterMap):
        target.peek(call.user.read(attr.value, target.value_size))
        return 0
    if name := functions.watched(call.host, target, "lookup"):
        return _looked_up(call, name, target, key, flags)
    call.user.write(attr.value, target.user_lookup(key, flags))
    return 0


def _looked_up(call: Call, name: str, target: BpfMap, key: bytes, flags: int) -> Steps:
    """The lookup by a call of its function: a value that it does not find is not there."""
    with call.bpf.scratch(target.key_size) as key_at:
        call.host.mem.write(key_at, key)
        with call.bpf.instrumentation_off():
            found = yield KernelCall(name, (target.address, key_at))
        if not found:
            raise KernelError(ENOENT)
    call.user.write(call.attr.value, target.user_lookup(key, flags))
    return 0


def map_update_elem(call: Call) -> int | Steps:
    """BPF_MAP_UPDATE_ELEM."""
    call.check()
    attr = call.attr
    fd = attr.signed("map_fd")
    target = call.bpf.map_of_fd(fd)
    _may(call, target, fd, write=True)
    if call.version.at_least("5.1"):
        _check_lock(target, attr.flags)
    key = _copy_key(call, target, attr.key)
    value = call.user.read(attr.value, target.user_value_size)
    if name := functions.watched(call.host, target, "update"):
        return _called(call, name, target, key, value, attr.flags)
    target.user_update(key, value, attr.flags)
    return 0


def _called(call: Call, name: str, target: BpfMap, key: bytes, *more: bytes | int) -> Steps:
    """The operation by a call of its function, with what programs see in kernel memory."""
    with call.bpf.scratch(target.key_size) as key_at, call.bpf.scratch(target.value_size) as value_at:
        call.host.mem.write(key_at, key)
        arguments = [target.address, key_at]
        for each in more:
            if isinstance(each, bytes):
                call.host.mem.write(value_at, each)
            arguments.append(value_at if isinstance(each, bytes) else each)
        with call.bpf.instrumentation_off():
            answer = yield KernelCall(name, tuple(arguments))
        functions.answered(answer)
    return 0


def map_delete_elem(call: Call) -> int | Steps:
    """BPF_MAP_DELETE_ELEM."""
    call.check()
    fd = call.attr.signed("map_fd")
    target = call.bpf.map_of_fd(fd)
    _may(call, target, fd, write=True)
    key = _copy_key(call, target, call.attr.key)
    if name := functions.watched(call.host, target, "delete"):
        return _called(call, name, target, key)
    target.user_delete(key)
    return 0


def map_get_next_key(call: Call) -> int:
    """BPF_MAP_GET_NEXT_KEY: a NULL key asks for the first one, since 4.12."""
    call.check()
    attr = call.attr
    fd = attr.signed("map_fd")
    target = call.bpf.map_of_fd(fd)
    _may(call, target, fd, read=True)
    key: bytes | None = None
    if attr.key or call.version.before("4.12"):
        key = _copy_key(call, target, attr.key)
    call.user.write(attr.next_key, target.next_key(key))
    return 0


def map_lookup_and_delete_elem(call: Call) -> int:
    """BPF_MAP_LOOKUP_AND_DELETE_ELEM: queues and stacks, since 5.14 hash maps too."""
    call.check()
    attr = call.attr
    flags = attr.flags
    if flags & ~uapi.BPF_F_LOCK:
        raise KernelError(EINVAL)
    fd = attr.signed("map_fd")
    target = call.bpf.map_of_fd(fd)
    _may(call, target, fd, read=True, write=True)
    if flags and isinstance(target, QueueMap):
        raise KernelError(EINVAL)
    _check_lock(target, flags)
    key = _copy_key(call, target, attr.key)
    since = MAP_TYPES[target.map_type].lookup_and_delete
    if since is None or call.version.before(since):
        raise KernelError(ENOTSUPP)
    call.user.write(attr.value, target.lookup_and_delete(key, flags))
    return 0


def map_freeze(call: Call) -> int:
    """BPF_MAP_FREEZE."""
    call.check()
    fd = call.attr.signed("map_fd")
    target = call.bpf.map_of_fd(fd)
    if target.map_type == uapi.BPF_MAP_TYPE_STRUCT_OPS or target.timer_off >= 0 or target.kptrs:
        raise KernelError(ENOTSUPP)
    by_descriptor = call.version.at_least(FROZEN_BY_WRITERS)
    if by_descriptor:
        _may(call, target, fd, write=True)
    if target.writecnt or target.frozen:
        raise KernelError(EBUSY)
    if not by_descriptor and not call.bpf.capable("bpf"):
        raise KernelError(EPERM)
    target.frozen = True
    target.offer()
    return 0


# ---- batches ----

_BATCH = {
    uapi.BPF_MAP_LOOKUP_BATCH: "lookup",
    uapi.BPF_MAP_LOOKUP_AND_DELETE_BATCH: "lookup_and_delete",
    uapi.BPF_MAP_UPDATE_BATCH: "update",
    uapi.BPF_MAP_DELETE_BATCH: "delete",
}


def map_batch(call: Call) -> int:
    """The four batch commands: bpf_map_do_batch()."""
    call.check()
    attr = call.attr
    what = _BATCH[call.cmd]
    fd = attr.signed("map_fd")
    target = call.bpf.map_of_fd(fd)
    _may(call, target, fd, read=what.startswith("lookup"), write=what != "lookup")
    if what not in target.direct_batch():
        raise KernelError(ENOTSUPP)
    if attr.elem_flags & ~uapi.BPF_F_LOCK:
        raise KernelError(EINVAL)
    _check_lock(target, attr.elem_flags)
    of_hash = what.startswith("lookup") and isinstance(target, HashMap)
    if of_hash and attr.flags:
        raise KernelError(EINVAL)
    if not attr.count:
        return 0
    call.user.put(attr.place("count"), 4, 0)
    if of_hash and isinstance(target, ResizableHashMap):
        return _lookup_from(call, target, what == "lookup_and_delete")
    if of_hash:
        assert isinstance(target, HashMap)
        return _lookup_buckets(call, target, what == "lookup_and_delete")
    if what == "lookup":
        return _lookup_each(call, target)
    return _change_each(call, target, what)


def _change_each(call: Call, target: BpfMap, what: str) -> int:
    """generic_map_update_batch(), generic_map_delete_batch(): as far as it goes, and how far that was."""
    attr, user = call.attr, call.user
    done, size = 0, target.user_value_size
    error: KernelError | None = None
    while done < attr.count:
        try:
            key = user.read(attr.keys + done * target.key_size, target.key_size)
            if what == "update":
                target.user_update(key, user.read(attr.values + done * size, size), attr.elem_flags)
            else:
                target.user_delete(key)
        except KernelError as refused:
            error = refused
            break
        done += 1
    user.put(attr.place("count"), 4, done)
    if error is not None:
        raise error
    return 0


def _lookup_each(call: Call, target: BpfMap) -> int:
    """generic_map_lookup_batch(): ENOENT at the end of the map."""
    attr, user = call.attr, call.user
    done, size = 0, target.user_value_size
    last = user.read(attr.in_batch, target.key_size) if attr.in_batch else None
    error: KernelError | None = None
    while done < attr.count:
        try:
            key = target.next_key(last)
        except KernelError as refused:
            error = refused
            break
        try:
            value = target.user_lookup(key, attr.elem_flags)
        except KernelError as refused:
            if refused.errno != ENOENT:
                raise
            last = key
            continue
        user.write(attr.keys + done * target.key_size, key)
        user.write(attr.values + done * size, value)
        done += 1
        last = key
    user.put(attr.place("count"), 4, done)
    if done and last is not None:
        user.write(attr.out_batch, last)
    if error is not None:
        raise error
    return 0


def _lookup_from(call: Call, target: ResizableHashMap, delete: bool) -> int:
    """__rhtab_map_lookup_and_delete_batch(): so many; the batch is the key of the next one.  ENOENT: there is none."""
    attr, user, size = call.attr, call.user, target.user_value_size
    taken: list[bytes] = []
    after: bytes | None = None
    try:
        if attr.in_batch:
            after = user.read(attr.in_batch, target.key_size)
            target.check_cursor(after)
        else:
            after = target.next_key(None)
        while len(taken) < attr.count:
            user.write(attr.keys + len(taken) * target.key_size, after)
            user.write(attr.values + len(taken) * size, target.user_lookup(after, attr.elem_flags))
            taken.append(after)
            after = target.next_key(after)
    except KernelError as refused:
        if refused.errno != ENOENT:
            raise
        after = None
    if delete:
        for key in taken:
            target.delete(key)
    user.put(attr.place("count"), 4, len(taken))
    if after is None:
        raise KernelError(ENOENT)
    user.write(attr.out_batch, after)
    return 0


def _lookup_buckets(call: Call, target: HashMap, delete: bool) -> int:
    """__htab_map_lookup_and_delete_batch(): whole buckets; the batch is the number of the next bucket."""
    attr, user = call.attr, call.user
    batch = user.get(attr.in_batch, 4) if attr.in_batch else 0
    if batch >= target.n_buckets:
        raise KernelError(ENOENT)
    total, size, answer = 0, target.user_value_size, 0
    while True:
        batch = target.next_bucket(batch)
        keys = target.batch_buckets()[1](batch) if batch < target.n_buckets else []
        if len(keys) > attr.count - total:
            answer = ENOSPC if total == 0 else 0
            break
        for key in keys:
            user.write(attr.keys + total * target.key_size, key)
            user.write(attr.values + total * size, target.user_lookup(key, 0))
            total += 1
        if delete:
            for key in keys:
                target.delete(key)
        batch += 1
        if batch >= target.n_buckets:
            batch, answer = target.n_buckets, ENOENT
            break
    user.put(attr.out_batch, 4, batch)
    user.put(attr.place("count"), 4, total)
    if answer:
        raise KernelError(answer)
    return 0
