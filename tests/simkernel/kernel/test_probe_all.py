"""A kprobe and a kretprobe on every function of the kernel's text, one at a time, on every architecture.

Each function's text really runs: it is called by a kernel thread with known arguments; its body is replaced by one that
returns a known value, so that nothing has to be set up for it.  The probe must see the arguments, the return probe the
value; a function on the blacklist must say why it cannot be probed.
"""

from functools import partial

import pytest

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from simkernel.machine import boot
from tracing.probes.kprobes import Kprobe, Kretprobe

ARCHES = ("x86_64", "arm64", "riscv64", "s390x")
RESULT = 0x1234_5678
# What a thread goes through while it starts, waits and switches: these keep their bodies, and have a test of their own.
OWN_PATH = ("kthread", "schedule_tail", "schedule", "__schedule", "finish_task_switch.isra.0", "default_idle_call")
NEVER_ENTERED_AGAIN = {"do_idle"}  # each CPU is in it since boot


def caller(requests, results):
    """Body of a kernel thread: call each function of `requests` when the host asks for it."""

    def body(k):
        while True:
            while not requests:
                yield k.wait(requests_queue(k), interruptible=False)
            address, args = requests.pop(0)
            results.append((yield k.call_address(address, *args)))

    return body


def requests_queue(k):
    return k.vfs.key_queue("test_probe_all")


@pytest.fixture(scope="module", params=ARCHES)
def probing(request):
    m = boot(arch=request.param)
    k = m.kernel
    requests, results = [], []
    k.cpus.wake_new(k.threads.make_kernel_thread("caller", partial(caller(requests, results), k)))
    m.settle()

    def call(address, args):
        requests.append((address, args))
        k.wake_up(requests_queue(k))
        assert k.cpus.run(lambda: results)
        return results.pop()

    yield m, call
    m.close()


def replace_body(k, name, count):
    """Let the function's text reach a body that returns RESULT."""
    k.cpu.set_enter(k.text.image.names.index(name), lambda *args: RESULT, count)


def test_every_function_can_be_probed_or_says_why_not(probing):
    m, call = probing
    k = m.kernel
    kprobes = k.observer.tracing.kprobes
    layout, mem = k.cpu.layout, k.mem
    stubs = {name for _, _, name in kprobes.blacklist()}
    blacklist = stubs | set(kprobes.black())
    probed = 0
    for name in sorted(k.text.functions):
        if name in OWN_PATH or name in NEVER_ENTERED_AGAIN:
            continue
        address = k.symbols[name].address
        entries, returns = [], []
        nargs = min(k.text.engine.words_of(k.text.functions[name][1]), len(k.arch.function_args), 4)
        args = tuple(0x1000 * (i + 1) + i for i in range(nargs))

        def on_entry(regs, entries=entries, nargs=nargs):
            entries.append(tuple(k.arch.argument(mem, regs, i, layout) for i in range(nargs)))

        def on_return(instance, regs, returns=returns):
            returns.append(layout.get(mem, regs, k.arch.return_value))

        kp, rp = Kprobe(on_entry, symbol=name), Kretprobe(on_return, symbol=name)
        if name in blacklist:
            with pytest.raises(KernelError) as error:
                kprobes.register(kp)
            assert error.value.errno == EINVAL, name
            assert "blacklist" in error.value.why, name
            continue
        replace_body(k, name, nargs)
        kprobes.register(kp)
        kprobes.register_kretprobe(rp)
        result = call(address, args)
        kprobes.unregister(kp)
        kprobes.unregister_kretprobe(rp)
        k.cpu.set_enter(k.text.image.names.index(name), None, 0)
        assert entries == [args], name
        assert returns == [RESULT], name
        assert result & 0xFFFFFFFF == RESULT & 0xFFFFFFFF or k.text.functions[name][1].ret.size in (0, 1, 2), name
        probed += 1
    assert probed > 400
    assert len(stubs) < 60


@pytest.mark.parametrize("name", OWN_PATH)
def test_functions_of_the_scheduler_are_hit_where_they_are(probing, name):
    m, _ = probing
    k = m.kernel
    entries, returns = [], []
    kp = Kprobe(entries.append, symbol=name)
    rp = Kretprobe(lambda instance, regs: returns.append(regs), symbol=name)
    k.observer.tracing.kprobes.register(kp)
    k.observer.tracing.kprobes.register_kretprobe(rp)

    def once():
        yield k.wait(None, timeout_ns=1000)

    k.cpus.wake_new(k.threads.make_kernel_thread("once", once))
    m.settle()
    k.clock.skip_to_next()
    m.settle()
    k.observer.tracing.kprobes.unregister(kp)
    k.observer.tracing.kprobes.unregister_kretprobe(rp)
    assert entries
    assert returns or name == "kthread"  # a kernel thread ends in do_exit()
