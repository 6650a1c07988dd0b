"""What a proof finds out about a target, or an edit of it, so that the next proof need not search again."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from fx_lsp.agent.building.constructor_sizes import Sizes
from fx_lsp.agent.inventing.plan_memory import Plans
from fx_lsp.agent.messages import Prove, Snippet
from fx_lsp.agent.processes.tensor_pickles import dumped, loaded, packed, unpacked
from fx_lsp.agent.proving.failed_builds import FailedBuilds
from fx_lsp.agent.proving.failure_matching import FoundFailures
from fx_lsp.agent.proving.run_in_child import ProofEnded
from fx_lsp.agent.proving.trial_inputs import FoundInputs
from fx_lsp.agent.proving.twins.small_twin import Twins
from fx_lsp.agent.running.observation import Input
from fx_lsp.agent.searching.input_variations import tensors_in
from fx_lsp.agent.searching.scaled_inputs import scaled_inputs
from fx_lsp.agent.tracing.trace_target import ImportedFile
from fx_lsp.agent.wire import wire_message

LONGEST = 64_000_000
"""Pickles of more bytes than this are not kept."""

MOST_ACCEPTED = 4
"""With how many sizes a target's inputs are kept after its text has changed."""

MOST_ALIKE = 8
"""How many scaled inputs are tried for each input of another shape."""


@wire_message
@dataclass(frozen=True)
class Remembered:
    """From a proof to the agent: `Findings` and an `AfterEdit` to hand to the next proof of the same target."""

    files: tuple[str, ...]
    """The workspace files that were imported."""
    texts: str
    """A digest of their texts, and of those of the open documents."""
    pickled: bytes
    """The findings. Only confined processes unpickle them."""
    after: str = ""
    """A pickle of the `AfterEdit` of the last proof; empty if there is none."""


@dataclass
class Findings:
    """What is known about a target as long as the texts that were imported stay the same."""

    twins: Twins | None = None
    """The target's small twins; None if it has none, or if nobody has looked for them."""
    looked_for_twins: bool = False
    older_twins: Twins = ()
    """Its twins before its text was changed."""
    failed: FailedBuilds = field(default_factory=FailedBuilds)
    """How building the target itself fails."""
    inputs: dict[str, FoundInputs | ProofEnded] = field(default_factory=dict)
    """The inputs that were found, or that none can be found: by `key_of` or, for a function that is run alone, by its
    file and name."""
    of_functions: dict[str, Input] = field(default_factory=dict)
    """By the file and the name of a function that is run alone, and by `key_of`: an input that it has accepted."""
    failures: dict[str, FoundFailures] = field(default_factory=dict)
    """By capture and `key_of`: where it breaks, with guessed inputs."""
    met: dict[str, FoundFailures] = field(default_factory=dict)
    """By `key_of`: where symbolic tracing breaks on the way that the first of its ``inputs`` decides."""
    plans: Plans = field(default_factory=dict)
    """The arguments that were invented for it."""
    looked_for_arguments: bool = False
    """Whether arguments for it were looked for, if any are needed."""
    accepted: dict[str, tuple[Sizes, tuple[Input, ...]]] = field(default_factory=dict)
    """By `key_of`: an input that the target has accepted, also before its text was changed, or whose shapes it accepts,
    then others of other shapes; and the numbers that the target was built with."""

    @classmethod
    def recalled(cls, remembered: Remembered | None, file: ImportedFile, overlays: Mapping[str, str]) -> Findings:
        """The findings of an earlier proof.

        If they are about other texts than ``file`` has imported, only the twins and the inputs that the target has
        accepted are kept, to be tried first. ``overlays`` are the texts of the open documents.
        """
        if remembered is not None:
            with suppress(Exception):  # the process that sent them had run the user's code
                known = unpacked(remembered.pickled)
                if isinstance(known, cls):
                    is_same = set(file.workspace.dependencies) <= set(remembered.files)
                    is_same = is_same and _digest(remembered.files, overlays) == remembered.texts
                    return known if is_same else known._after_edit()
        return cls()

    def accept(self, sizes: Sizes, inputs: Sequence[Input]) -> None:
        """Keep what the target built with ``sizes`` has accepted, one of each shape."""
        shapes = [[tensor.shape for tensor in tensors_in(given)] for given in inputs]
        kept = tuple(given for at, given in enumerate(inputs) if shapes[at] not in shapes[:at])
        self.accepted.pop(key_of(sizes), None)  # so that it becomes the last
        self.accepted[key_of(sizes)] = sizes, kept

    def similar_inputs(self, sizes: Sizes) -> Iterator[Input]:
        """Inputs that the target built with ``sizes`` may accept, since it has accepted similar ones.

        The latest come first; they are mostly those of another twin.
        """
        for old, (first, *_) in sorted(self._last_first(), key=lambda item: item[0] != sizes):
            yield from scaled_inputs(first, old, sizes)

    def other_inputs(self, sizes: Sizes) -> Iterator[Input]:
        """Inputs like those of other shapes that another twin has accepted last: they may lead it other ways."""
        others = (inputs for inputs in self._last_first() if inputs[0] != sizes)
        for old, (_, *inputs) in itertools.islice(others, 1):
            for given in inputs:
                yield from itertools.islice(scaled_inputs(given, old, sizes), MOST_ALIKE)

    def _last_first(self) -> list[tuple[Sizes, tuple[Input, ...]]]:
        return [*self.accepted.values()][::-1]

    def remembered(self, file: ImportedFile, overlays: Mapping[str, str]) -> Remembered | None:
        """The findings as a message, without what is too large; None if they can't be pickled."""
        files = file.workspace.dependencies
        for known in (self, self._without_observations(), replace(self, inputs={}, of_functions={}, accepted={})):
            with suppress(Exception):  # an input may hold an object of the user's, and a file may be gone
                if len(pickled := packed(known)) <= LONGEST:
                    return Remembered(files, _digest(files, overlays), pickled)
        return None

    def _after_edit(self) -> Findings:
        accepted = dict([*self.accepted.items()][-MOST_ACCEPTED:])
        return Findings(older_twins=self.twins or self.older_twins, accepted=accepted)

    def _without_observations(self) -> Findings:
        inputs = {
            key: replace(found, observations=()) if isinstance(found, FoundInputs) else found
            for key, found in self.inputs.items()
        }
        return replace(self, inputs=inputs)


@dataclass(frozen=True)
class AfterEdit:
    """Where an edited program breaks, with guessed inputs, since several proofs may try the same edit."""

    edit: str
    """Which edit it is: see `edit_key`."""
    found: Mapping[str, FoundFailures]
    """By `key_of`."""
    texts: str = ""
    """A digest of the saved files that were imported, and of the open documents."""

    @classmethod
    def recalled(cls, remembered: Remembered | None, request: Prove) -> AfterEdit:
        """What an earlier proof has found out about the edit of ``request``, if it still holds."""
        edit = edit_key(request)
        if remembered is not None and remembered.after:
            with suppress(Exception):  # the process that sent it had run the user's code, and a file may be gone
                known = loaded(remembered.after)
                if isinstance(known, cls) and known.edit == edit and known._digest(request.overlays) == known.texts:
                    return known
        return cls(edit, {})

    def with_one_more(self, key: str, found: FoundFailures) -> AfterEdit:
        """This, and what was ``found`` for ``key``."""
        return replace(self, found={**self.found, key: found})

    def kept_in(self, remembered: Remembered, overlays: Mapping[str, str]) -> Remembered:
        """``remembered`` with this, unless it can't be pickled, is too large, or depends on files that aren't known."""
        with suppress(Exception):
            kept = replace(self, found={key: found for key, found in self.found.items() if found.files})
            kept = replace(kept, texts=kept._digest(overlays))
            if len(pickled := dumped(kept)) <= LONGEST:
                return replace(remembered, after=pickled)
        return remembered

    def _digest(self, overlays: Mapping[str, str]) -> str:
        return _digest([file for found in self.found.values() for file in found.files], overlays)


def edit_key(request: Prove) -> str:
    """A digest of an edit: of the edited texts, of the target in them and of the capture."""
    parts = (request.capture, request.edited_target, sorted(request.edited.items()))
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def key_of(sizes: Sizes, fixed: Snippet | None = None) -> str:
    """The key for what is known about the target built with ``sizes`` if the edit gives inputs the values ``fixed``."""
    return repr((list(sizes.items()), fixed and fixed.source))


def _digest(files: Collection[str], overlays: Mapping[str, str]) -> str:
    """A digest of the open documents and of the saved ``files``. Raises OSError if one of these can't be read."""
    content = hashlib.sha256()
    for path in sorted({*files, *overlays}):
        text = overlays[path].encode("utf-8", "surrogatepass") if path in overlays else Path(path).read_bytes()
        content.update(f"{path} {len(text)} ".encode("utf-8", "surrogatepass") + text)
    return content.hexdigest()
