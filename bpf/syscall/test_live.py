"""XDP test runs with live frames: what a program lets pass is received.  net/bpf/test_run.c of Linux 6.1: bpf_test_run_xdp_live()."""

from __future__ import annotations

from collections.abc import Generator

from arch.abi.errno import EINTR
from arch.abi.limits import U32_MAX
from arch.errors import KernelError
from arch.hosttime import HOST_WORD
from bpf import uapi
from bpf.board import Redirect
from bpf.core.program import BpfProg
from bpf.packet.skbuff import NetDevice, XdpBuff
from bpf.syscall.test_functions import KernelCall, Step, TimePassed
from bpf.syscall.test_request import TestRequest

NAPI_POLL_WEIGHT = 64
BATCH_NS = 10_000  # what a batch takes here
MEMBERS = ("data_hard_start", "data", "data_meta", "data_end")


def run_live(prog: BpfProg, request: TestRequest, xdp: XdpBuff, device: NetDevice) -> Generator[Step, int, None]:
    """The frame `repeat` times; what is sent back or redirected goes where drivers and maps take it (`yield from`).  EINTR."""
    mem, bpf, repeat, batch = xdp.mem, prog.bpf, request.repeat or 1, request.batch_size or NAPI_POLL_WEIGHT
    places = {member: xdp.get(member) for member in MEMBERS}
    frame = bytes(mem.read(places["data_meta"], places["data_end"] - places["data_meta"]))
    passed: list[bytes] = []
    for number in range(1, repeat + 1):
        bpf.redirect = None
        action = prog.run(xdp.addr) & U32_MAX
        if action in (uapi.XDP_PASS, uapi.XDP_TX, uapi.XDP_REDIRECT):
            after = bytes(mem.read(xdp.get("data"), xdp.get("data_end") - xdp.get("data")))
            if action == uapi.XDP_PASS:
                passed.append(after)
            way = Redirect(device.get("ifindex")) if action == uapi.XDP_TX else bpf.redirect
            if action != uapi.XDP_PASS and way is not None and bpf.frames is not None:
                bpf.frames.redirect_frame(device.addr, prog, after, way)
        bpf.redirect = None
        mem.write(places["data_meta"], frame)
        for member, value in places.items():
            xdp.set(member, value)
        if number % batch and number < repeat:
            continue
        if bpf.frames is not None:
            bpf.frames.flush()
        if passed and bpf.host.receive_frames(device.addr, passed):
            yield KernelCall("do_softirq", ())
        passed = []
        if HOST_WORD[0] or (yield TimePassed(BATCH_NS)):
            raise KernelError(EINTR, "a signal ends the test run")
