"""`simkernel.toml`: defaults of the command line's options, for a project or a person.

    [run]
    kernel = "5.10"
    event = ["sched:sched_switch"]

    [matrix]
    kernel = "5.10,6.1"

The file is ./simkernel.toml, or the one that SIMKERNEL_CONFIG names; an empty SIMKERNEL_CONFIG means none.  What stands on the command
line goes before.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import click

CONFIG_FILE, NAMED_BY = "simkernel.toml", "SIMKERNEL_CONFIG"
MOST_BYTES, MOST_PARTS = 1 << 17, 20  # of the file, of a dotted name: the parser's time grows with their square
Defaults = dict[str, object]


class ConfigError(Exception):
    """The file cannot be used: a sentence for a person."""


def tables(commands: Collection[str]) -> dict[str, Defaults]:
    """Command -> its options, as the file has them; ConfigError.  Without a file: nothing, at the price of one stat(2)."""
    name = os.environ.get(NAMED_BY, CONFIG_FILE)
    if not name or (NAMED_BY not in os.environ and not os.path.exists(name)):
        return {}
    import tomllib

    try:
        found = tomllib.loads(_text(Path(name)))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: {error.strerror if isinstance(error, OSError) else error}") from None
    for command, table in found.items():
        if command not in commands:
            raise ConfigError(f"{name}: [{command}] is no command; there are {', '.join(commands)}")
        if not isinstance(table, dict):
            raise ConfigError(f"{name}: {command} is no table; write [{command}] above its options")
    return found


def _text(path: Path) -> str:
    """What the file holds; ValueError for more than a person writes."""
    with path.open() as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise ValueError(f"is larger than {MOST_BYTES >> 10} KiB: is it the file of another program?")
    if any(line.partition("=")[0].count(".") > MOST_PARTS for line in text.splitlines()):
        raise ValueError(f"a name has more than {MOST_PARTS} parts")
    return text


def defaults_of(command: click.Command, table: Defaults, path: str) -> Defaults:
    """Options by the names of click's parameters; ConfigError for one that the command does not have."""
    if isinstance(command, click.Group):
        out: Defaults = {}
        for name, inner in table.items():
            below = command.commands.get(name)
            if below is None or not isinstance(inner, dict):
                raise ConfigError(f"[{path}] {name}: no such command below `simkernel {path}`")
            out[name] = defaults_of(below, inner, f"{path} {name}")
        return out
    known = {word: param for param in command.params if isinstance(param, click.Option) for word in param.opts}
    out = {}
    for name, value in table.items():
        option = known.get(f"--{name}")
        if option is None or option.name is None:
            raise ConfigError(f"[{path}] {name}: `simkernel {path}` has no option --{name}")
        if option.multiple and not isinstance(value, list):
            raise ConfigError(f"[{path}] {name}: may be given several times: write a list")
        if not option.multiple and isinstance(value, (list, dict)):
            raise ConfigError(f"[{path}] {name}: is given once: write one value")
        out[option.name] = value if isinstance(value, (bool, list)) else str(value)
    return out
