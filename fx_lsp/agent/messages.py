"""What the server and its agent say to each other: every message. How one travels is in ``wire.py``.

These two modules are the only ones that both processes load. The agent's side runs in an interpreter that belongs to
someone else, so nothing but the standard library may be imported here.

A message is a dataclass below. Places are the compiler's: lines count from 1, columns are UTF-8 byte offsets from 0.
What an editor counts is known to the server alone (``fx_lsp/documents/positions.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

PROTOCOL = 7
"""Raised whenever a message changes its shape; server and agent refuse to work across two versions."""

NOTEBOOK = ".ipynb"
"""How the path of a notebook ends. Its text in `Trace.overlays` is that of its code cells, as one module."""

Intent = Literal["explicit", "inferred", "assumed"]
"""How sure it is that the workspace wants this traced: it says so itself; we found how to build it; we made it up."""

Outcome = Literal[
    "traced", "failed", "unchecked", "not-imported", "not-built", "skipped", "timed-out", "out-of-memory", "crashed"
]
"""How the trace of one target ended. ``skipped``: what the recipe named turned out to be no module and no function.
``unchecked``: it went wrong, possibly because of what fx-lsp invented (an argument, a stand-in for a package)."""


Verdict = Literal["proven", "refuted", "untried"]
"""The result of trying an edit: it fixes the failure and changes nothing else; it does not; or that is not known."""


@dataclass(frozen=True)
class Snippet:
    """A piece of the file's own text that is to be run, and where in the file it stands."""

    source: str
    """An expression or a statement, dedented; lines after the first as they stand in the file."""
    line: int
    """The line (from 1) of its first character, so that its errors have their true place."""


@dataclass(frozen=True)
class Recipe:
    """How to build one target in the namespace of the imported file."""

    root: Snippet
    """An expression whose value is what is traced: a module or a function."""
    setup: tuple[Snippet, ...] = ()
    """Assignments that ``root`` reads and that importing the file does not run (a function's locals), in order."""
    concrete_args: Snippet | None = None
    """The expression that the file passes as ``concrete_args``."""
    tracer: Snippet | None = None
    """An expression whose value is the tracer to use, where the file has one of its own."""
    leaves: Snippet | None = None
    """An expression whose value is a tuple of the module classes whose calls are recorded as one node."""
    inputs: Snippet | None = None
    """The arguments of a call of ``root``, in their brackets, that show what it takes: ``(x, mask=None)``."""
    made_up: bool = False
    """``root`` is a class, which is to be built with arguments that the agent makes up."""
    file: str = ""
    """The absolute path of the file that shows it, where that is another one. The recipe says then what it needs of
    that file, imports included, and is run in a namespace of its own."""


@dataclass(frozen=True)
class Target:
    """Something to trace in a file."""

    key: str
    """Names the target within its file; the same again after an edit elsewhere in the file."""
    title: str
    """What a person calls it, e.g. ``Net`` or ``symbolic_trace(Net(3))``."""
    span: Span
    """The name or call in the file that stands for it; failures without a place of their own are shown there."""
    recipe: Recipe
    intent: Intent = "inferred"
    symbol: str | None = None
    """The class or function of this file that is traced, by its qualified name, where the text tells."""
    fallbacks: tuple[Recipe, ...] = ()
    """What to try where ``recipe`` can't be built, in this order: the most trusted first."""
    hosts: tuple[Recipe, ...] = ()
    """How modules of other files are built that have parts of this class, the most trusted first."""


@dataclass(frozen=True)
class Span:
    """A range of source text in one file."""

    file: str
    """An absolute path, as the interpreter knows it."""
    line: int
    col: int
    end_line: int
    end_col: int


@dataclass(frozen=True)
class Step:
    """One frame on the way from the traced forward to a failure: in ``name``, at ``span``."""

    name: str
    span: Span


@dataclass(frozen=True)
class Failure:
    """Why a target's trace (or its import or build) could not go on."""

    kind: str
    """A ``fxcore.failures.FailureKind``'s value, or one of the agent's own: ``import``, ``build``, ``time-limit``,
    ``memory-limit``, ``crash``, ``denied``."""
    error: str
    """The exception's type and text, e.g. ``TypeError: 'int' object is not callable``."""
    chain: tuple[Step, ...] = ()
    """Frames outside torch and fxcore, the traced forward first; the last one's span is the failing expression."""
    count: int = 1
    """How often the trace reached it."""
    assumption: str = ""
    """How the trace went on from there, e.g. ``it is false``; empty where it ended."""
    after: Span | None = None
    """Where the guess was made that this place was reached on; None where it is surely reached."""
    cause: tuple[Step, ...] = ()
    """From an input through the operations to the value that failed; each step is named by its node."""
    subject: str = ""
    """What the value is about that was asked in vain: a ``fxcore.failures.subject.Subject``'s value."""
    operation: str = ""
    """What was being done: see ``fxcore.source.syntax.operation_at``. Of a ``foreign-call``, who refused, by the
    package and the name: ``torch.ones``, ``numpy.sqrt``."""


@dataclass(frozen=True)
class Limits:
    """The limits of one child process."""

    seconds: float = 10.0
    """Wall clock for the import of the file, and again for each target."""
    memory_mb: int = 4096
    """MiB that a child may allocate on top of what it was born with."""
    at_once: int = 0
    """How many targets of a file are traced at a time; 0: as many as there are processors."""


@dataclass(frozen=True)
class Trace:
    """Server to agent: trace these targets of one file."""

    file: str
    targets: tuple[Target, ...]
    overlays: dict[str, str] = field(default_factory=dict)
    """Absolute path -> text, for every file whose editor text differs from the disk."""
    roots: tuple[str, ...] = ()
    """The workspace's folders. Modules under them (but not in a virtual environment there) are imported afresh."""
    limits: Limits = Limits()
    id: int = 0
    """Names the request in its answers; who sends it numbers it."""
    details: bool = False
    """Whether each target that was traced or failed is to be described, too: its `Report` is followed by `Details`."""


@dataclass(frozen=True)
class Prove:
    """Server to agent: try an edit on one target. It is answered with `Proof`, then `Done`."""

    file: str
    target: Target
    """In the text as it is."""
    edited_target: Target
    """The same in the edited text."""
    failures: tuple[Failure, ...]
    """What the edit is to mend, as reported of the text as it is."""
    overlays: dict[str, str]
    """As in `Trace`."""
    edited: dict[str, str]
    """Absolute path -> text, for every file that the edit changes."""
    roots: tuple[str, ...] = ()
    limits: Limits = Limits()
    """Of memory for each process; of time for the whole."""
    id: int = 0
    """As in `Trace`."""


@dataclass(frozen=True)
class Cancel:
    """Server to agent: drop request ``id``; a `Done` answers it all the same."""

    id: int


@dataclass(frozen=True)
class Hello:
    """Agent to server, first of all."""

    protocol: int
    python: str
    """e.g. ``3.11.7``"""
    executable: str
    torch: str | None
    """torch's version; None where it can't be used."""
    problem: str | None = None
    """Why torch can't be used, in one sentence."""


@dataclass(frozen=True)
class Report:
    """Agent to server: the result of tracing one target.

    A report of the first failure comes at once. One with all failures may follow; the last one counts.
    """

    id: int
    """The request's."""
    target: str
    """The target's key."""
    outcome: Outcome
    failures: tuple[Failure, ...] = ()
    """Every place that the trace can't go through; the first is where torch.fx would stop."""
    nodes: int = 0
    """Nodes of the graph."""
    code: str = ""
    """The generated forward, as Python."""
    seconds: float = 0.0
    """Wall clock of build and trace."""
    processor_seconds: float = 0.0
    """What the process that was at work has had of a processor by then: little where it waited for something else."""
    notices: tuple[Failure, ...] = ()
    """Places where the graph silently differs from the program; their kinds are ``fxcore.notices.NoticeKind``s. And
    what the import had to do without: ``missing-package``, ``definitions-only``."""
    intent: Intent | None = None
    """That of the recipe that was used, where it is not the target's own."""
    parameters: int = 0
    """How many numbers the parameters of the root hold together."""
    recipe: str = ""
    """How the root was built, as Python, e.g. ``Net(dim=64)``; empty where it was not."""
    recipe_span: Span | None = None
    """Where in the workspace that is written; None if fx-lsp invented it."""
    reason: str = ""
    """Of what was not checked: why. Of what was traced: under which condition, e.g. ``without its optional inputs``."""
    partial: bool = False
    """There may be more failures, which are being looked for."""


@dataclass(frozen=True)
class GraphNode:
    """One node of a graph, for people."""

    name: str
    op: str
    target: str
    """As text, e.g. ``layer1.conv``, ``torch.relu``."""
    inputs: tuple[str, ...]
    """Names of the nodes whose values it takes."""
    users: tuple[str, ...]
    """Names of the nodes that take its value."""
    scope: str
    """Path of the module whose forward made it; empty for the root's."""
    module: str = ""
    """The class of the module that it calls."""
    span: Span | None = None
    """The expression that it was recorded at."""
    line: int | None = None
    """Its line in the report's code, from 1."""
    value: str = ""
    """What it yields, e.g. ``[b, 64, h/4, w/4] float32``; empty where that is not known."""
    shape: tuple[str, ...] | None = None
    """The sizes in ``value`` where that is one tensor."""
    dtype: str | None = None
    fails: tuple[Span, ...] = ()
    """The failing expressions that it stands for: the last spans of the report's failures' chains."""


@dataclass(frozen=True)
class ParameterUse:
    """A parameter of a module."""

    name: str
    count: int
    """How many numbers it holds."""


@dataclass(frozen=True)
class ModuleCall:
    """One call of a module."""

    path: str
    """Empty for the root."""
    type: str
    """The name of its class."""
    depth: int
    """How many modules it is called within."""
    parameters: tuple[ParameterUse, ...] = ()
    """Its own that are used for the first time here, in the order of their use."""
    span: Span | None = None
    """The expression that calls it; None for the root."""
    value: str = ""
    """What it returns, as a `GraphNode` says it."""


@dataclass(frozen=True)
class Details:
    """Agent to server: what was traced, for views of it. Sent after the report of a target, where it is asked for.

    It comes at once without what the nodes yield, and again when that is known: the last one counts. Of a target that
    fails it has what was recorded in spite of that, and says of no node what it yields.
    """

    id: int
    """The request's."""
    target: str
    """The target's key."""
    nodes: tuple[GraphNode, ...]
    order: tuple[ModuleCall, ...]
    """Modules in the order in which their calls begin."""
    input: str = ""
    """The input that the nodes' values are for, e.g. ``x: [2, 3, 224, 224]``; empty where none was found."""
    symbols: dict[str, int] = field(default_factory=dict)
    """The sizes of that input that may be others, by the names that they have in the nodes' values."""
    outcome: Outcome = "traced"
    """That of the trace: a report with another one tells of a better trace, and this is not of that."""
    imports: tuple[str, ...] = ()
    """The statements that bring in the globals of the generated forward, as torch.fx would have them; a comment for
    each that none brings in."""


@dataclass(frozen=True)
class Proof:
    """Agent to server: the result of trying an edit."""

    id: int
    """The request's."""
    verdict: Verdict
    reason: str
    """One sentence for people: on how many inputs it was tried, what differs, or why the result is not known."""


@dataclass(frozen=True)
class Heartbeat:
    """Agent to server: request ``id`` is being worked on."""

    id: int


@dataclass(frozen=True)
class Done:
    """Agent to server: the last word on request ``id``."""

    id: int
    dependencies: tuple[str, ...] = ()
    """Absolute paths of the workspace files that were imported for it."""
    cancelled: bool = False


Message = Trace | Prove | Cancel | Hello | Report | Details | Proof | Heartbeat | Done
