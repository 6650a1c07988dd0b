"""Takes what is to be run alone from a program: a function, its beginning, or the statements that an edit changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fx_lsp.agent.proving.functions.changed_statements import ChangedStatements
from fx_lsp.agent.proving.functions.described_variables import Parameter, Variables
from fx_lsp.agent.proving.functions.edited_function import function_in, is_whole
from fx_lsp.agent.proving.functions.function_beginning import beginning_of
from fx_lsp.agent.proving.functions.statements_alone import check_as_built, statements_alone
from fx_lsp.agent.proving.run_in_child import ProofEnded
from fx_lsp.agent.proving.trial_programs import Program
from fx_lsp.agent.running.side_effects import Effects
from fx_lsp.agent.tracing.trace_target import ImportedFile


@dataclass(frozen=True)
class FunctionAlone:
    """A function that is run alone, or a part of it."""

    path: str
    name: str
    end: int = 0
    """How many of its last statements are left out; none if 0."""
    statements: ChangedStatements | None = None
    """The only statements that are run, if not all but the last ones are."""
    parameters: tuple[Parameter, ...] = ()
    """What these statements take, once that is known."""
    has_gradients: bool = True
    """Whether gradients are recorded where it is called."""
    effects: tuple[Effects, ...] = ()
    """What calls with its inputs do to the rest of the program, once that is known; see `side_effects`."""

    @property
    def described(self) -> str:
        """What was run, and the verb for what it does."""
        if self.statements:
            return f"the changed statements of `{self.name}`, run alone, behave"
        return f"{'the beginning of ' if self.end else ''}`{self.name}`, run alone, behaves"

    @property
    def takes_only_known_values(self) -> bool:
        """Whether it is known to take nothing but tensors and plain values."""
        return self.statements is not None and all(one.is_known for one in self.parameters)

    def is_same_part(self, other: FunctionAlone) -> bool:
        """Whether the same statements of the function are run, whatever is known about them."""
        return (self.end, self.statements) == (other.end, other.statements)

    @property
    def key(self) -> str:
        """A text that is another one for another part of a function, and for one that takes something else."""
        statements = self.statements and (self.statements.block, self.statements.start, self.statements.stops)
        return f"{self.path} {self.name} {self.end} {statements} {self.parameters}"

    def taken_from(self, program: Program, file: ImportedFile, *, is_edited: bool) -> tuple[Program, FunctionAlone]:
        """The part as a program, and what is known about it then. Raises `ProofEnded` if it can't be run alone.

        ``is_edited``: whether ``file`` has the edited text.
        """
        attributes, is_part = (self.statements.of_owner, True) if self.statements else (None, False)
        root = function_in(program.built.root, file.namespace, self.path, self.name, attributes, of_any_object=is_part)
        if root is None:
            raise ProofEnded("untried", f"`{self.name}` can't be run alone", True)
        found = root
        alone = self
        if self.statements is not None:
            made = statements_alone(root, program.built, self.statements, is_edited=is_edited)
            found, variables = made or (None, Variables())
            alone = replace(self, parameters=tuple(variables.parameters), has_gradients=variables.has_gradients)
        else:
            if not is_whole(root, program.built.root):
                check_as_built(root, program.built)
            found = beginning_of(root, self.end) if self.end else root
        if found is None:
            raise ProofEnded("untried", f"no part of `{root.__qualname__}` can be run alone", True)
        built = replace(program.built, root=found, concrete_args=None)
        return replace(program, built=built), alone
