"""Security hooks as they are watched: security_x() and the bpf_lsm_x() that it asks.  security/security.c, kernel/bpf/bpf_lsm.c."""

from __future__ import annotations

from bpf.isa.insn import signed32
from simkernel.kernel.lsm_hooks import DEFAULTS, HOOKS, function_of
from simkernel.kernel.security import LSM
from simkernel.kernel.security import ask as hook_asked
from simkernel.observe.face import WatchedKernel
from simkernel.observe.soft_calls import SoftCalls


def install(k: WatchedKernel, soft: SoftCalls) -> None:
    """The kernel's bodies know which hooks have a watcher."""
    names = {f"{LSM}{hook}": hook for hook in HOOKS} | {function_of(hook): hook for hook in HOOKS}
    watched = k.security_hooks.watched

    def changed() -> None:
        watched.clear()
        watched.update(names[symbol] for symbol, probes in k.text.probed.items() if probes and symbol in names)
        k.mm.on_address = (lambda addr: hook_asked(k, "mmap_addr", addr)) if "mmap_addr" in watched else None

    def ask(hook: str, args: tuple[int, ...]) -> int:
        function, empty = function_of(hook), DEFAULTS.get(hook, 0)

        def asked() -> int:
            return soft.call(f"{LSM}{hook}", args, lambda: empty)

        probed = k.text.probed.get(function)
        answer = signed32(soft.call(function, arguments(k, hook, args), asked) if probed else asked())
        return 0 if answer == empty else answer

    k.text.when_probed.append(changed)
    k.security_hooks.call = ask


def arguments(k: WatchedKernel, hook: str, args: tuple[int, ...]) -> tuple[int, ...]:
    """Those of the function, by name where it has others than the hook."""
    if k.symbols.address(f"{LSM}{hook}") is None:  # a function whose hook this version has not
        return args
    names = [param.name for param in k.text.functions[f"{LSM}{hook}"].prototype.params]
    wanted = [param.name for param in k.text.functions[function_of(hook)].prototype.params]
    if len(names) == len(wanted):
        return args
    given = dict(zip(names, args)) | {"mnt_userns": k.vfs.init_user_ns}
    return tuple(given.get(name, 0) for name in wanted)
