"""docs/json.md from simkernel/cli/documents.py: `python -m docs.json_page`."""

from __future__ import annotations

from pathlib import Path

from simkernel.cli.documents import DOCUMENTS, RUN, fields

PAGE = Path(__file__).with_name("json.md")
HEAD = """# Answers as JSON

Every command takes `--json`. Its document (or one on each line, where it says so) is on stdout; what is for people goes to stderr, and the
exit status is the same. Fields are only added, never changed. `simkernel schema COMMAND` tells the same on a terminal, and
`simkernel schema --json` is JSON Schema for programs:

```console
$ simkernel schema list --json
{
 "list functions|events": {
  "$schema": "https://json-schema.org/draft/2020-12/schema",
...
$ simkernel list events 'sched:sched_wakeup*' --json
["sched:sched_wakeup", "sched:sched_wakeup_new"]
$ simkernel run --json -- busybox echo hello | python -c 'import json, sys; print(json.load(sys.stdin)["counters"]["syscalls"])'
...
```

`a.b` is field b of object a, `a[]` what stands in list a, `a.*` what stands in object a whose names are data. The files of
`run --out DIR` and of `sweep --out F.jsonl` are told in [Exports](exports.md) and [Experiments](experiments.md).
"""


def page() -> str:
    """The whole page."""
    out = [HEAD]
    for row in DOCUMENTS:
        out.append(f"## `{row.command}`\n\n{row.about}\n")
        rows = [] if row.schema is RUN and row.command != "run" else list(fields(row.schema))
        if rows:
            out.append("| field | type | what |\n|---|---|---|")
            out += [f"| `{path or '(the whole)'}` | {kind} | {what} |" for path, kind, what in rows]
            out.append("")
    return "\n".join(out).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
