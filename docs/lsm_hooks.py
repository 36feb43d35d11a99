"""Write docs/lsm-hooks.md from the rows of simkernel/kernel/lsm_hooks.py:  python -m docs.lsm_hooks"""

from __future__ import annotations

from pathlib import Path

from simkernel.kernel.lsm_hooks import HOOK_ROWS, function_of

PAGE = Path(__file__).parent / "lsm-hooks.md"


def page() -> str:
    """Hooks that are asked, and by cause those that are not."""
    asked = [row.name for row in HOOK_ROWS if not row.cause]
    causes: dict[str, list[str]] = {}
    for row in HOOK_ROWS:
        if row.cause:
            causes.setdefault(row.cause, []).append(row.name)
    lines = [
        "# Security hooks",
        "",
        "Written from the rows of `simkernel/kernel/lsm_hooks.py` by `python -m docs.lsm_hooks`. Programs of LSM act on the hooks that are asked;",
        "kprobes, fentry and fexit see `security_NAME` (or the function that is named) and `bpf_lsm_NAME`.",
        "",
        f"## Asked: {len(asked)} of 6.1's {len(HOOK_ROWS)}",
        "",
        ", ".join(
            f"`{name}`" if function_of(name) == f"security_{name}" else f"`{name}` (`{function_of(name)}`)"
            for name in asked
        ),
        "",
        "## Not asked",
        "",
        "| why | hooks |",
        "|---|---|",
        *(f"| {cause} | {', '.join(f'`{name}`' for name in names)} |" for cause, names in causes.items()),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
