"""An experiment: how long a transfer takes over a line that loses packets.

simkernel sweep samples/experiments/loss.py --seeds 0-9
"""

import struct

GRID = {"loss": [0.0, 0.2], "kernel": ["6.1"]}
SEEDS = range(3)


def address(port):
    return struct.pack("<H", 2) + port.to_bytes(2, "big") + bytes((127, 0, 0, 1)) + bytes(8)


def experiment(machine, *, loss, size=20000):
    machine.netem("lo", delay_ms=2, loss=loss)
    got = []

    def server(u):
        sock = yield u.socket(2, 1, 0)
        yield u.bind(sock, address(99), 16)
        yield u.listen(sock, 1)
        conn = yield u.accept4(sock, 0, 0, 0)
        buffer = u.alloc(4096)
        while (count := (yield u.read(conn, buffer, 4096))) > 0:
            got.append(count)

    def client(u):
        sock = yield u.socket(2, 1, 0)
        yield u.connect(sock, address(99), 16)
        buffer = u.alloc(1000)
        for _ in range(size // 1000):
            yield u.write(sock, buffer, 1000)
        yield u.close(sock)

    begin = machine.kernel.clock.now_ns
    tasks = [machine.workload(server, "server"), machine.workload(client, "client")]
    for task in tasks:
        machine.wait(task)
    return {"seconds": (machine.kernel.clock.now_ns - begin) / 1e9, "bytes": sum(got)}
