"""Many keys: what a call costs does not grow with them, and accounts and holders are those that a walk over all keys finds."""

from __future__ import annotations

import random
import time

import simkernel
from simkernel.kernel.keys.special import keys_of
from simkernel.machine import Machine

SESSION, NEW_RING = -3, "keyring"
REVOKE, CHOWN, DESCRIBE, CLEAR, LINK, UNLINK, UPDATE, INVALIDATE, JOIN = 3, 4, 6, 7, 8, 9, 2, 21, 1


def check(m: Machine) -> None:
    """The slow way."""
    keys = keys_of(m.kernel)
    for uid in {key.uid for key in keys.by_serial.values()}:
        mine = [key for key in keys.by_serial.values() if key.uid == uid]
        charged = [key for key in mine if key.in_quota]
        account = keys.accounts[uid]
        assert (account.keys, account.charged) == (len(mine), len(charged))
        assert account.bytes == sum(key.quotalen for key in charged)
    assert sum(account.keys for account in keys.accounts.values()) == len(keys.by_serial)
    alive, todo = set(), [*keys._roots.values()]
    while todo:
        key = todo.pop()
        if key.serial not in alive:
            alive.add(key.serial)
            todo += key.links.values()
    assert alive == set(keys.by_serial)
    for key in keys.by_serial.values():
        assert key.rings == {place: child for place, child in key.links.items() if child.is_keyring}
        assert key.holders == sum(key is ring.links.get(key.place) for ring in keys.by_serial.values())


def test_accounts_and_holders_are_what_a_walk_finds() -> None:
    rng = random.Random(5)
    with simkernel.boot() as m:
        task = m.user_task()
        serials = [SESSION]
        for number in range(1200):
            one, other = rng.choice(serials), rng.choice(serials)
            made = 0
            match rng.randrange(12):
                case 0 | 1 | 2:
                    made = task.syscall("add_key", "user", f"k{rng.randrange(40)}", "x" * 40, rng.randrange(1, 40), one)
                case 3:
                    made = task.syscall("add_key", NEW_RING, f"r{rng.randrange(8)}", 0, 0, one)
                case 4 | 5:
                    task.syscall("keyctl", LINK, one, other, 0, 0)
                case 6:
                    task.syscall("keyctl", UNLINK, one, other, 0, 0)
                case 7:
                    task.syscall("keyctl", UPDATE, one, "y" * 30, rng.randrange(30), 0)
                case 8:
                    task.syscall("keyctl", CHOWN, one, rng.choice((0, 1000)), -1, 0)
                case 9:
                    task.syscall(
                        "keyctl", rng.choice((REVOKE, INVALIDATE)), one, 0, 0, 0
                    ) if rng.random() < 0.3 else None
                case 10:
                    task.syscall("keyctl", CLEAR, one, 0, 0, 0) if rng.random() < 0.1 else None
                case 11:
                    task.syscall("keyctl", JOIN, 0, 0, 0, 0) if rng.random() < 0.05 else None
            if made > 0:
                serials = [SESSION, *serials[-30:], made]
            if number % 20 == 0:
                check(m)
        check(m)


def cost(count: int) -> float:
    """CPU time of some thousand calls, beside so many keys."""
    with simkernel.boot() as m:
        task = m.user_task()
        text = task.string("x")
        serials = []
        for number in range(count):
            serials.append(task.syscall("add_key", "user", f"k{number}", text, 1, SESSION))
        begin = time.process_time()
        for serial in serials[-200:]:
            task.syscall("keyctl", DESCRIBE, serial, 0, 0, 0)
            task.syscall("keyctl", UNLINK, serial, SESSION, 0, 0)
        return time.process_time() - begin


def test_what_a_call_costs_does_not_grow_with_the_keys() -> None:
    cost(200)
    assert cost(4000) < 5 * cost(200) + 0.05
