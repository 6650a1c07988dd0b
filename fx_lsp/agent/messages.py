"""Every message that the server and its agent send to each other; ``wire.py`` encodes them.

These two modules are the only ones that both processes load. The agent's side runs in an interpreter that belongs to
someone else, so nothing but the standard library may be imported here.

Each message is one of the dataclasses below. Positions are counted as the compiler counts them: lines from 1, columns
as UTF-8 byte offsets from 0. Only the server knows an editor's positions (``fx_lsp/documents/positions.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

PROTOCOL = 17
"""Incremented whenever a message changes its shape; a server and an agent with different versions refuse to work."""

NOTEBOOK = ".ipynb"
"""The suffix of a notebook's path. In `Trace.overlays`, a notebook's text is that of its code cells, as one module."""

STATIC_FORWARD = "static forward"
"""The `Failure.operation` of a ``call-binding`` failure that is caused by a static ``forward`` method."""

Urgency = Literal["background", "foreground"]
"""Whether an agent works while someone edits, and gives way to other processes, or while someone waits for it."""

Capture = Literal["fx", "export", "compile"]
"""A way to get a graph of a program: ``torch.fx.symbolic_trace``, ``torch.export.export``, ``torch.compile``."""

Intent = Literal["explicit", "inferred", "assumed"]
"""How certain it is that the target should be traced. ``explicit``: the workspace requests it; ``inferred``: fx-lsp
found code that builds it; ``assumed``: fx-lsp invents its arguments."""

Outcome = Literal[
    "traced", "failed", "unchecked", "not-imported", "not-built", "skipped", "timed-out", "out-of-memory", "crashed"
]
"""How the trace of one target ended. ``skipped``: there is nothing to trace, e.g. because the recipe's root turned out
to be neither a module nor a function. ``unchecked``: the target failed, possibly because of something that fx-lsp
invented (an argument, a stand-in for a package)."""


Verdict = Literal["proven", "refuted", "untried"]
"""The result of trying an edit. ``proven``: it fixes the failure and changes nothing else; ``refuted``: it does not;
``untried``: fx-lsp can't tell."""


@dataclass(frozen=True)
class Snippet:
    """A piece of the file's own text to run, and the line of the file where it begins."""

    source: str
    """An expression or a statement. Its first line is dedented; the other lines are unchanged."""
    line: int
    """The line (from 1) of its first character, so that its errors are located correctly."""


@dataclass(frozen=True)
class Recipe:
    """How to build one target in the namespace of the imported file."""

    root: Snippet
    """An expression whose value is what is traced: a module or a function."""
    setup: tuple[Snippet, ...] = ()
    """Statements that define names that ``root`` needs and that importing the file does not define (a function's
    locals), in order."""
    concrete_args: Snippet | None = None
    """The expression that the file passes as ``concrete_args``."""
    tracer: Snippet | None = None
    """An expression whose value is the file's own tracer, if it has one."""
    leaves: Snippet | None = None
    """An expression whose value is a tuple of module classes: each call to such a module is recorded as one node."""
    inputs: Snippet | None = None
    """The parenthesized arguments of a call to ``root``, which show its inputs, e.g. ``(x, mask=None)``."""
    made_up: bool = False
    """Whether ``root`` is a class that the agent has to build with invented arguments."""
    is_host: bool = False
    """Whether what is traced is the first submodule of the target's class in what is built. The submodule is traced
    with ``concrete_args``, ``tracer`` and ``leaves``."""
    file: str = ""
    """The absolute path of the file that the recipe comes from, if that is not the traced file. The recipe then runs in
    a separate namespace, and ``setup`` includes all that the recipe needs from that file, such as imports."""


@dataclass(frozen=True)
class Target:
    """Something to trace in a file."""

    key: str
    """Identifies the target within its file; an edit elsewhere in the file does not change the key."""
    title: str
    """The target's display name, e.g. ``Net`` or ``symbolic_trace(Net(3))``."""
    span: Span
    """The name or call in the file that represents the target; failures without a location are shown there."""
    recipe: Recipe
    intent: Intent = "inferred"
    symbol: str | None = None
    """The qualified name of the class or function of this file that is traced, if the text shows it."""
    fallbacks: tuple[Recipe, ...] = ()
    """The recipes to try if ``recipe`` can't be built, the most trusted first."""
    hosts: tuple[Recipe, ...] = ()
    """Recipes for modules of other files that have submodules of this class, the most trusted first."""

    @property
    def is_called_without_arguments(self) -> bool:
        """Whether the first recipe is nothing but a call of the class without arguments."""
        return self.recipe.root.source == f"{self.symbol}()"

    def with_invented_arguments(self) -> Target:
        """The target with only the recipe that invents arguments; the target itself if it has none."""
        recipe = next((recipe for recipe in (*self.fallbacks, self.recipe) if recipe.made_up), None)
        return self if recipe is None else replace(self, recipe=recipe, fallbacks=())

    def beginning_with(self, source: str) -> Target:
        """The target without the recipes before the one with this source; all of it if none has it."""
        recipes = [self.recipe, *self.fallbacks]
        at = next((at for at, recipe in enumerate(recipes) if recipe.root.source == source), 0)
        return replace(self, recipe=recipes[at], fallbacks=tuple(recipes[at + 1 :]))


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
    """One frame on the path from the traced forward to a failure: in the function ``name``, at ``span``."""

    name: str
    span: Span


@dataclass(frozen=True)
class Failure:
    """Why a target's trace (or its import or build) could not continue."""

    kind: str
    """The value of a ``fxcore.failures.FailureKind``, or one of the agent's own kinds: ``import``, ``build``,
    ``time-limit``, ``memory-limit``, ``crash``, ``denied``, and those of the captures in ``capturing``."""
    error: str
    """The exception's type and text, e.g. ``TypeError: 'int' object is not callable``."""
    chain: tuple[Step, ...] = ()
    """Frames outside torch and fxcore, the traced forward first; the last one's span is the failing expression."""
    count: int = 1
    """How often the trace reached this place."""
    assumption: str = ""
    """What the trace assumed in order to continue, e.g. ``it is false``; empty if the trace ended here."""
    after: Span | None = None
    """The place of the assumption that led the trace here; None if the trace gets here without any assumption."""
    other_side: str = ""
    """If the trace does not get here with the answer that it first assumed at ``after``: the answer that leads it here,
    e.g. ``it is true``. Empty otherwise."""
    cause: tuple[Step, ...] = ()
    """The steps from an input through the operations to the value that failed, each named after its node."""
    subject: str = ""
    """What the traced value that failed is about, e.g. a shape: the value of a ``fxcore.failures.subject.Subject``. For
    a ``denied`` failure, the outcome that the denial led to."""
    operation: str = ""
    """The operation that failed: see ``fxcore.source.syntax.operation_at``. For a ``foreign-call``, the package and the
    name of the function that refused the value, e.g. ``torch.ones``, ``numpy.sqrt``."""
    passed_on: str | None = None
    """``TraceFailure.passed_on``: the parameters that the program's ``*args`` and ``**kwargs`` can fill in a call."""


@dataclass(frozen=True)
class Limits:
    """The limits of one child process."""

    seconds: float = 10.0
    """Seconds for the import of the file, and again for each target, as ``processes/patience.py`` counts them."""
    memory_mb: int = 4096
    """MiB that a child may allocate in addition to what it starts with."""
    at_once: int = 0
    """How many targets of a file are traced at a time; 0 means as many as there are processors."""


Purpose = Literal["once", "edit", "prepare", "confirm"]
"""Why a file is traced.

``once``: for its reports alone. ``edit``: someone edits the file and waits for the reports; processes are kept for the
next edit. ``prepare``: nobody waits; targets are built ahead for the next edit. ``confirm``: nobody waits; everything
is imported and built from the start, to confirm reports from kept processes, and the new processes are kept instead.
"""


@dataclass(frozen=True)
class Trace:
    """Server to agent: trace these targets of one file."""

    file: str
    targets: tuple[Target, ...]
    overlays: dict[str, str] = field(default_factory=dict)
    """Absolute path -> text, for every file whose text in the editor differs from the saved one."""
    roots: tuple[str, ...] = ()
    """The workspace's folders. Modules in them (except in a virtual environment there) are imported afresh."""
    limits: Limits = Limits()
    id: int = 0
    """Identifies the request in its answers; the sender numbers its requests."""
    details: bool = False
    """Whether the `Report` of each target that was traced or failed is to be followed by `Details`. With another
    capture than ``fx``, `Details` are sent only of what could be captured, and the report has only the verdict."""
    costly_work: Failure | None = None
    """The statement in which an earlier import exceeded a limit. If given, only the file's definitions are run."""
    capture: Capture = "fx"
    """How to capture the targets. ``costs`` are sent only for ``fx``."""
    costs: bool = False
    """Whether the `Report` of each target that was traced is to be followed by `Costs`."""
    inputs: str = ""
    """The arguments of a call, in parentheses: the only input that details and costs are to be for. They are evaluated
    in the namespace of the file. If empty, the agent looks for an input."""
    purpose: Purpose = "once"
    """Unless it is to ``confirm``, kept processes may answer, if there are any."""

    @property
    def is_awaited(self) -> bool:
        """Whether someone waits for the reports."""
        return self.purpose in ("once", "edit")


@dataclass(frozen=True)
class Prove:
    """Server to agent: try an edit on one target. The agent answers with `Proof`, then `Done`."""

    file: str
    target: Target
    """The target in the text before the edit."""
    edited_target: Target
    """The same target in the edited text."""
    failures: tuple[Failure, ...]
    """The failures that the edit should fix, as they were reported for the text before the edit."""
    overlays: dict[str, str]
    """As in `Trace`."""
    edited: dict[str, str]
    """Absolute path -> edited text, for every file that the edit changes."""
    roots: tuple[str, ...] = ()
    limits: Limits = Limits()
    """The memory limit is for each process, the time limit for each step of the proof."""
    id: int = 0
    """As in `Trace`."""
    own_part: dict[str, str] = field(default_factory=dict)
    """As ``edited``, with only the changes that fix ``failures``; empty if all of them do.

    The inputs that the edit is tried on must reach these changes, not those for other targets.
    """
    full_size: bool = False
    """Whether to try the edit on the program itself even if it is large."""
    twins_only: bool = False
    """Whether not to try it on the program itself if a small twin can be run.

    Not even if no input of the twin reaches all the code that the edit replaces: see `Proof.of_lone_twin`.
    """
    function_only: bool = False
    """Whether to run only the function that the edit changes, since no inputs are known for the whole program."""
    capture: Capture = "fx"
    """The capture that has the failures."""
    further: tuple[Span, ...] = ()
    """Where, in the text before the edit, the capture would stop next if only a part of the edit were made.

    What counts for the places of ``failures`` counts for these too: the inputs must reach them, and both sides of their
    branches.
    """


@dataclass(frozen=True)
class Preload:
    """Server to agent: future requests about ``file`` will import these modules. There is no answer."""

    file: str
    modules: tuple[str, ...]
    """Absolute names, in the order in which the file imports them. Those that belong to the workspace are ignored."""
    roots: tuple[str, ...] = ()
    """As in `Trace`."""


@dataclass(frozen=True)
class Release:
    """Server to agent: end the processes that were kept for a file, which is no longer edited. There is no answer."""

    file: str


@dataclass(frozen=True)
class Cancel:
    """Server to agent: drop request ``id``; the agent still answers it with `Done`."""

    id: int


@dataclass(frozen=True)
class Hello:
    """Agent to server: the first message."""

    protocol: int
    python: str
    """e.g. ``3.11.7``"""
    executable: str
    torch: str | None
    """torch's version; None if torch can't be used."""
    problem: str | None = None
    """Why torch can't be used, in one sentence."""


@dataclass(frozen=True)
class Report:
    """Agent to server: the result of tracing one target.

    A report of the first failure is sent immediately. A report of all failures may follow; the last one counts.
    """

    id: int
    """The request's id."""
    target: str
    """The target's key."""
    outcome: Outcome
    failures: tuple[Failure, ...] = ()
    """Every place where tracing breaks; the first is where torch.fx would stop."""
    nodes: int = 0
    """The number of nodes of the graph."""
    code: str = ""
    """The Python source of the generated forward; for ``export``, the exported program as text, with shapes."""
    seconds: float = 0.0
    """Wall-clock time of the build and the trace."""
    processor_seconds: float = 0.0
    """Processor time that the tracing process has used so far; much less than wall-clock time if it mostly waited."""
    notices: tuple[Failure, ...] = ()
    """Places where the graph silently differs from the program (kinds: ``fxcore.notices.NoticeKind``), what the import
    had to do without (``missing-package``, ``definitions-only``, ``import``), and what was ``denied``."""
    intent: Intent | None = None
    """The intent of the recipe that was used; None means the target's own."""
    parameters: int = 0
    """The total number of elements of the root's parameters."""
    recipe: str = ""
    """The Python expression that built the root, e.g. ``Net(dim=64)``; empty if the root was not built."""
    recipe_span: Span | None = None
    """Where that expression is in the workspace; None if fx-lsp invented it."""
    reason: str = ""
    """Why an ``unchecked`` target was not checked, or the condition under which a ``traced`` one was traced, e.g.
    ``without its optional inputs``."""
    partial: bool = False
    """Whether the agent is still looking for further failures, which a later report will add."""
    inputs: str = ""
    """For ``export`` and ``compile``: the example inputs that the verdict is for, e.g. ``x: [2, 3] float32``."""
    dynamic_batch: bool | None = None
    """For ``export``: whether the exported program accepts batches of other sizes; None if that is not known."""
    unfinished: str = ""
    """For ``export`` and ``compile``: what a limit ended after the outcome was known, so that it is not complete, e.g.
    ``the search for further failures took longer than 60 seconds``."""


@dataclass(frozen=True)
class GraphNode:
    """One node of a graph, as text for display."""

    name: str
    op: str
    target: str
    """As text, e.g. ``layer1.conv``, ``torch.relu``."""
    inputs: tuple[str, ...]
    """Names of the nodes whose values this node uses."""
    users: tuple[str, ...]
    """Names of the nodes that use this node's value."""
    scope: str
    """Path of the module whose forward recorded the node; empty for the root."""
    module: str = ""
    """The class name of the module that it calls; empty if it calls none."""
    span: Span | None = None
    """The source expression that recorded the node."""
    line: int | None = None
    """Its line in the report's code, from 1."""
    value: str = ""
    """A description of its value, e.g. ``[b, 64, h/4, w/4] float32``; empty if the value is not known."""
    shape: tuple[str, ...] | None = None
    """The sizes in ``value`` if the value is a single tensor."""
    dtype: str | None = None
    fails: tuple[Span, ...] = ()
    """The failing expressions that the node represents; each is the last span in the chain of one of the failures."""


@dataclass(frozen=True)
class ParameterUse:
    """A parameter of a module."""

    name: str
    count: int
    """The number of its elements."""


@dataclass(frozen=True)
class ModuleCall:
    """One call to a module."""

    path: str
    """Empty for the root."""
    type: str
    """The name of its class."""
    depth: int
    """How many of the called modules contain this one."""
    parameters: tuple[ParameterUse, ...] = ()
    """The module's own parameters that are used here for the first time, in the order of their use."""
    span: Span | None = None
    """The expression that calls it; None for the root."""
    value: str = ""
    """What it returns, in the format of `GraphNode.value`."""


@dataclass(frozen=True)
class Details:
    """Agent to server: a target's graph, for display. Sent after the target's report, if `Trace.details` is set.

    The agent sends it once without the nodes' values, and again when these are known, or why they are not: the last
    message counts. For a target that fails, it has the nodes that could still be recorded, and no values.
    """

    id: int
    """The request's id."""
    target: str
    """The target's key."""
    nodes: tuple[GraphNode, ...]
    order: tuple[ModuleCall, ...]
    """The calls to modules, in the order in which they begin."""
    input: str = ""
    """The input that the nodes' values are for, e.g. ``x: [2, 3, 224, 224]``; empty if no input was found."""
    symbols: dict[str, int] = field(default_factory=dict)
    """The sizes of that input that may vary, by the names that the nodes' values use for them."""
    problem: str = ""
    """Why there are no values, as part of a sentence; empty if there are, or if that is not known yet."""
    outcome: Outcome = "traced"
    """The outcome of the trace that these details describe. A report with a different outcome is about a better trace,
    which they do not describe."""
    imports: tuple[str, ...] = ()
    """The statements that import the globals of the generated forward, from torch.fx rather than fxcore; for each
    global that no statement can import, a comment instead."""


@dataclass(frozen=True)
class Tensors:
    """Parameters or buffers, each counted once."""

    count: int = 0
    """How many numbers they hold."""
    bytes: dict[str, int] = field(default_factory=dict)
    """By dtype, e.g. ``float32``: the memory that they take."""


@dataclass(frozen=True)
class ModuleCosts:
    """What one module costs, with all that runs during its calls. For what is not known, e.g. as neither it nor any of
    its submodules was called, there is None."""

    path: str
    """Empty for the root."""
    type: str
    """The name of its class."""
    parameters: Tensors = Tensors()
    trainable: int = 0
    """How many numbers the parameters that require gradients hold."""
    buffers: Tensors = Tensors()
    flops: int | None = None
    """Floating-point operations in all its calls, as `torch.utils.flop_counter.FlopCounterMode` counts them."""
    activations: int | None = None
    """The bytes of the results of all its nodes, without views."""
    peak: int | None = None
    """The most bytes that such results, also those of other modules, take while it is running."""


@dataclass(frozen=True)
class NodeCosts:
    """What one node of a graph costs."""

    name: str
    flops: int
    bytes: int
    """The bytes of its result; 0 for a view."""


@dataclass(frozen=True)
class Uncounted:
    """An operator that torch has no formula for."""

    name: str
    """e.g. ``aten.relu``"""
    calls: int
    elements: int
    """How many numbers the results of all calls hold."""


@dataclass(frozen=True)
class Costs:
    """Agent to server: what a target costs that was traced. Sent after the target's report, if `Trace.costs` is set."""

    id: int
    """The request's id."""
    target: str
    """The target's key."""
    modules: tuple[ModuleCosts, ...] = ()
    """The root, then its submodules in their order; empty if not even parameters could be counted."""
    nodes: tuple[NodeCosts, ...] = ()
    """The nodes that compute something, in the order in which they run."""
    input: str = ""
    """The input that the costs are for, in the format of `Details.input`; empty if none was found."""
    uncounted: tuple[Uncounted, ...] = ()
    """The operators that ``flops`` leave out."""
    unknown: tuple[str, ...] = ()
    """The nodes that could not be run without data, so nothing is known about them."""
    reason: str = ""
    """Why there are no modules, or no operations and activations; empty if there are."""


@dataclass(frozen=True)
class Proof:
    """Agent to server: the result of trying an edit."""

    id: int
    """The request's id."""
    verdict: Verdict
    reason: str
    """One sentence for people: on how many inputs the edit was tried, what differs, or why the result is not known."""
    lacks_inputs: bool = False
    """Whether the edit could not be tried because fx-lsp did not find suitable inputs."""
    unreached: bool = False
    """Whether inputs were found, but none that reaches all of the code that the edit replaces."""
    moved_to: Failure | None = None
    """What stops the edited text where nothing stopped it before, if that is why the edit is not proven."""
    unmended: tuple[int, ...] = ()
    """Which of the request's failures, counted from 0, still stop the edited text, if that is why it is refuted."""
    has_no_program: bool = False
    """Whether the program before the edit can't be built, or takes too long: no other edit of it can be tried."""
    of_lone_twin: bool = False
    """Whether it says nothing about the program itself, since the request asks for `Prove.twins_only`, and since no
    input of a twin reaches all of the code that the edit replaces."""

    @property
    def in_words(self) -> str:
        """The result, for the end of the edit's title."""
        verdict = "proven" if self.verdict == "proven" else "not proven"
        return f"{verdict}: {self.reason}" if self.reason else verdict


@dataclass(frozen=True)
class Heartbeat:
    """Agent to server: request ``id`` is being worked on."""

    id: int


@dataclass(frozen=True)
class Done:
    """Agent to server: the last message about request ``id``."""

    id: int
    dependencies: tuple[str, ...] = ()
    """Absolute paths of the workspace files that were imported for the request."""
    cancelled: bool = False
    quick: bool = False
    """Whether processes that were kept from an earlier trace did the work; a trace to ``confirm`` should confirm the
    reports."""
    unprepared: bool = False
    """Whether a trace to ``prepare`` would have targets built ahead; none are."""


Message = Trace | Prove | Preload | Release | Cancel | Hello | Report | Details | Costs | Proof | Heartbeat | Done
