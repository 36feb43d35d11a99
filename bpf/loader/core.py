"""CO-RE: make field offsets, sizes, existence and enum values in a program those of the kernel at hand.

tools/lib/bpf/relo_core.c.  The compiler recorded what each such instruction meant (.BTF.ext); the same is looked up
in the kernel's BTF by name, and the instruction patched.  Where nothing matches, the instruction becomes a call of a
helper that does not exist (195896080, 0xbad2310): harmless in dead code, and the verifier says so otherwise.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, EOPNOTSUPP
from bpf.btf import Btf, BtfError
from bpf.btf.codec import essential_name
from bpf.btf.ext import CoreKind, CoreRelo
from bpf.isa.insn import Insn
from bpf.loader.core_match import match_spec, same_kind
from bpf.loader.core_patch import patch
from bpf.loader.core_spec import KIND_TEXT, Spec, SpecError, kind_name, parse_spec
from bpf.loader.core_value import Result, result_of
from bpf.loader.errors import LoadError


class Relocator:
    """All CO-RE relocations of one object against one kernel."""

    def __init__(self, local: Btf, targets: list[Btf], messages: list[str] | None = None) -> None:
        self.local = local
        self.targets = targets
        self.messages = messages if messages is not None else []
        self._candidates: dict[int, list[tuple[Btf, int]]] = {}

    def candidates(self, type_id: int) -> list[tuple[Btf, int]]:
        """Types of the kernel with the same essential name and kind."""
        found = self._candidates.get(type_id)
        if found is None:
            t = self.local[type_id]
            name = essential_name(t.name)
            found = [(btf, i) for btf in self.targets for i in btf.candidates(name) if same_kind(btf[i].kind, t.kind)]
            self._candidates[type_id] = found
        return found

    def resolve(self, program: str, number: int, relo: CoreRelo) -> Result:
        """What one relocation comes to; LoadError with libbpf's words where libbpf gives up."""
        head = f"prog '{program}': relo #{number}"
        try:
            t = self.local[relo.type_id]
        except BtfError as error:
            raise LoadError(f"{head}: {error}") from None
        try:
            local = parse_spec(self.local, relo)
        except (SpecError, BtfError) as error:
            errno = error.errno if isinstance(error, SpecError) else EINVAL
            what = f"[{relo.type_id}] {KIND_TEXT[t.kind]} {t.name or '<anon>'} + {relo.access}"
            raise LoadError(f"{head}: parsing {what} failed: {-errno}") from None
        if relo.kind == CoreKind.TYPE_ID_LOCAL:
            return Result(local.root, local.root, validate=False)
        if not t.name:
            text = f"<{kind_name(relo.kind)}> ({relo.kind}) relocation doesn't support anonymous types"
            raise LoadError(f"{head}: {text}", EOPNOTSUPP)
        try:
            return self._choose(head, local, relo)
        except SpecError as error:
            if error.errno == EOPNOTSUPP:
                what = f"{kind_name(relo.kind)} ({relo.kind}) at insn #{relo.insn_off // 8}"
                raise LoadError(f"{head}: unrecognized CO-RE relocation {what}", EOPNOTSUPP) from None
            raise LoadError(f"{head}: failed to relocate: {-error.errno}", error.errno) from None
        except BtfError as error:
            raise LoadError(f"{head}: {error}") from None

    def _choose(self, head: str, local: Spec, relo: CoreRelo) -> Result:
        matching: list[tuple[Btf, int]] = []
        chosen: tuple[Spec, Result] | None = None
        for btf, type_id in self.candidates(relo.type_id):
            spec = match_spec(local, btf, type_id)
            if spec is None:
                continue
            result = result_of(local, spec, relo.kind)
            matching.append((btf, type_id))
            if chosen is None:
                chosen = spec, result
            elif spec.bit_offset != chosen[0].bit_offset:
                text = f"field offset ambiguity: {spec.bit_offset} != {chosen[0].bit_offset}"
                raise LoadError(f"{head}: {text}")
            elif (result.poison, result.new) != (chosen[1].poison, chosen[1].new):
                words = ["failure" if r.poison else "success" for r in (result, chosen[1])]
                text = f"{words[0]} {result.new} != {words[1]} {chosen[1].new}"
                raise LoadError(f"{head}: relocation decision ambiguity: {text}")
        if chosen is not None:
            self._candidates[relo.type_id] = matching
            return chosen[1]
        self.messages.append(f"{head}: no matching targets found for {local}")
        return result_of(local, None, relo.kind)

    def apply(self, insns: list[Insn], program: str, number: int, relo: CoreRelo, index: int) -> None:
        """Resolve one relocation and patch the instruction at `index`."""
        if not 0 <= index < len(insns):
            raise LoadError(f"prog '{program}': relo #{number}: bad insn_off {relo.insn_off}")
        result = self.resolve(program, number, relo)
        patch(insns, index, result, program, number, self.messages)
