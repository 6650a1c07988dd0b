"""What is kept while a file is edited is what a new trace would say."""

import contextlib
import dataclasses
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Done, Limits, Report, Trace
from fx_lsp.supervisor.agent_pool import TracingAgent
from fx_lsp.supervisor.keeping_agent import KeepingAgent
from fx_lsp.supervisor.supervised_agent import SupervisedAgent
from fx_lsp.targets.target_finder import TargetFinder
from tests.agent.client import make_client
from tests.analysis.random_edits import RandomEdits

pytestmark = pytest.mark.asyncio(loop_scope="module")

EDITS = int(os.environ.get("FX_LSP_RANDOM_EDITS", "25"))
"""How many random edits are compared; another number makes other edits."""

TWO = """\
import torch
from torch import nn


class One(nn.Module):
    def forward(self, x):
        return x / len(x)


class Other(nn.Module):
    def forward(self, x):
        return x + 1
"""


class Recorder:
    """An agent that notes which targets it is asked to trace."""

    def __init__(self, agent: SupervisedAgent) -> None:
        self.agent = agent
        self.asked: list[list[str]] = []
        self.meanwhile: Callable[[], object] = lambda: None
        """What happens while a trace runs."""

    async def trace(self, request: Trace) -> AsyncIterator[Report | Done]:
        self.asked.append([target.title for target in request.targets])
        async with contextlib.aclosing(self.agent.trace(request)) as answers:
            async for answer in answers:
                self.meanwhile()
                yield answer

    def __getattr__(self, name: str) -> object:
        return getattr(self.agent, name)


class Bench:
    """A workspace, and the two ways to trace it."""

    def __init__(self, folder: Path, fresh: SupervisedAgent) -> None:
        self.folder = folder
        self.fresh = fresh
        self.recorder = Recorder(fresh)
        self.keeping = KeepingAgent(self.recorder)  # type: ignore[arg-type]
        self.texts: dict[str, str] = {}
        self.request: Trace
        """The last request."""

    async def traced(self, agent: TracingAgent, name: str = "model.py", at: str = "") -> dict[str, Report] | None:
        """What ``agent`` reports on a file; targets called ``at`` are asked for first. None if it is not Python."""
        path = str(self.folder / name)
        texts = {str(self.folder / other): text for other, text in self.texts.items()}
        for other in texts:  # a module can't be imported if there is no such file
            Path(other).touch()
        overlays = {other: text for other, text in texts.items() if Path(other).read_text() != text}
        finder = TargetFinder(lambda: [str(self.folder)], overlays.get)
        found = finder.find(path, self.texts[name])
        if found is None:
            return None
        targets = sorted(finder.completed(path, found), key=lambda target: target.title != at)
        request = self.request = Trace(path, tuple(targets), overlays, (str(self.folder),), Limits(seconds=60))
        reports = {}
        async with contextlib.aclosing(agent.trace(request)) as answers:
            async for answer in answers:
                if isinstance(answer, Report):
                    reports[answer.target] = dataclasses.replace(answer, id=0, seconds=0, processor_seconds=0)
        return reports

    async def kept(self, at: str) -> int:
        """Trace ``model.py`` again after an edit of the class ``at``; return how many of its reports were kept."""
        self.recorder.asked.clear()
        reports = await self.traced(self.keeping, at=at)
        assert reports is not None
        return len(reports) - sum(map(len, self.recorder.asked))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def agent(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SupervisedAgent]:
    agent = make_client(tmp_path_factory.mktemp("cwd")).agent
    yield agent
    await agent.close()


@pytest.fixture
def bench(tmp_path: Path, agent: SupervisedAgent) -> Bench:
    folder = tmp_path / "work é"
    folder.mkdir()
    return Bench(folder, agent)


async def test_only_what_an_edit_reaches_is_traced_again(bench: Bench) -> None:
    bench.texts = {"model.py": TWO}
    assert await bench.kept("One") == 0
    bench.texts = {"model.py": TWO.replace("len(x)", "x.size(0)")}
    assert await bench.kept("One") == 1
    bench.texts = {"model.py": TWO.replace("len(x)", "x.size(1)")}
    assert await bench.kept("Other") == 0, "what is traced first is always new"


@pytest.mark.parametrize(
    "change",
    [
        ("        return x / len(x)", "\n        return x / len(x)"),
        ("def forward(self, x):\n        return x / ", "def forward(self, x, y=1):\n        return x / "),
        ("return x / len(x)", "return eval('x')"),
        ("class Other", "Seen = One()\n\n\nclass Other"),
        ("return x + 1", "return One()(x)"),
        ("return x / len(x)", "return x.to(device)"),
    ],
)
async def test_what_an_edit_may_reach_is_traced_again(bench: Bench, change: tuple[str, str]) -> None:
    bench.texts = {"model.py": TWO}
    await bench.kept("One")
    bench.texts = {"model.py": TWO.replace(*change)}
    assert await bench.kept("One") == 0


async def test_another_file_that_was_read_has_all_traced_again(bench: Bench) -> None:
    bench.texts = {"model.py": f"from helper import scale\n{TWO}", "helper.py": "scale = 1\n"}
    await bench.kept("One")
    assert await bench.kept("One") == 1
    bench.texts["helper.py"] = "scale = 2\n"
    assert await bench.kept("One") == 0


async def test_a_file_that_is_saved_during_the_trace_has_all_traced_again(bench: Bench) -> None:
    helper = bench.folder / "helper.py"
    helper.write_text("scale = 1\n")
    bench.texts = {"model.py": f"from helper import scale\n{TWO}"}
    bench.recorder.meanwhile = lambda: helper.write_text("scale = 2\n")
    await bench.kept("One")
    bench.recorder.meanwhile = lambda: None
    assert await bench.kept("One") == 0
    assert await bench.kept("One") == 1


async def test_a_traced_file_that_is_saved_during_its_trace_has_all_traced_again(bench: Bench) -> None:
    model = bench.folder / "model.py"
    model.write_text(TWO)
    bench.texts = {"model.py": TWO}
    bench.recorder.meanwhile = lambda: model.write_text(TWO.replace("x + 1", "x / len(x)"))
    await bench.kept("One")
    bench.recorder.meanwhile = lambda: None
    model.write_text(TWO)
    assert await bench.kept("One") == 0
    assert await bench.kept("One") == 1


REGISTRY = """\
from torch import nn


class Base(nn.Module):
    known = {}

    def __init_subclass__(cls):
        Base.known[cls.__name__.lower()] = cls


def build(name):
    return Base.known[name]()
"""

REGISTERED = """\
from torch import nn
from registry import Base, build


class Middle(Base):
    pass


class Leaf(Middle):
    def forward(self, x):
        return x + 1


class One(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = build("le" + "af")

    def forward(self, x):
        return self.part(x)
"""


async def test_a_class_that_a_registry_learns_of_through_its_bases_has_all_traced_again(bench: Bench) -> None:
    bench.texts = {"model.py": REGISTERED, "registry.py": REGISTRY}
    await bench.kept("Leaf")
    bench.texts["model.py"] = REGISTERED.replace("x + 1", "x / len(x)")
    assert await bench.traced(bench.keeping, at="Leaf") == await bench.traced(bench.fresh, at="Leaf")


async def test_a_file_that_imports_itself_has_all_traced_again(bench: Bench) -> None:
    text = TWO.replace("return x / len(x)", "import model\n        return getattr(model, 'Ot' + 'her')()(x)")
    bench.texts = {"model.py": text}
    await bench.kept("Other")
    assert await bench.kept("Other") == 0


async def test_a_file_that_cannot_be_imported_any_more_has_all_traced_again(bench: Bench) -> None:
    bench.texts = {"model.py": TWO}
    await bench.kept("One")
    bench.texts = {"model.py": TWO.replace("return x / len(x)", "nonlocal x")}
    assert await bench.kept("One") == 0
    assert await bench.traced(bench.keeping, at="One") == await bench.traced(bench.fresh, at="One")


READS_DATA = TWO.replace("x + 1", "x.reshape(x.shape[0]) + len(x) if self.deep else x + 1").replace(
    "class Other(nn.Module):",
    """class Other(nn.Module):
    def __init__(self):
        super().__init__()
        self.deep = bool(open(__file__.replace('model.py', 'deep.txt')).read())
""",
)


async def test_a_new_trace_has_the_last_word_on_what_was_kept(bench: Bench) -> None:
    path, data = str(bench.folder / "model.py"), bench.folder / "deep.txt"
    data.write_text("")
    bench.texts = {"model.py": READS_DATA}
    await bench.kept("One")
    assert not bench.keeping.is_unchecked(path)
    assert await bench.kept("One") == 1
    assert bench.keeping.is_unchecked(path)
    assert await bench.keeping.check(bench.request)
    assert (bench.keeping.is_unchecked(path), bench.keeping.differences) == (False, 0)
    data.write_text("yes")
    assert await bench.kept("One") == 1, "data is not code, so nobody noticed"
    assert not await bench.keeping.check(bench.request)
    assert bench.keeping.differences == 1
    bench.keeping.forget(path)
    assert await bench.traced(bench.keeping) == await bench.traced(bench.fresh)


async def test_targets_are_built_ahead(bench: Bench) -> None:
    path = str(bench.folder / "model.py")
    bench.texts = {"model.py": TWO}
    await bench.kept("One")
    assert (bench.keeping.is_prepared(path), bench.keeping.is_unchecked(path)) == (False, False), "it was only opened"
    await bench.keeping.prepare(bench.request)
    assert bench.keeping.is_prepared(path)
    bench.texts = {"model.py": f"{TWO}LIMIT = 3\n"}
    assert (await bench.kept("One"), bench.keeping.is_prepared(path)) == (0, False)
    await bench.keeping.prepare(bench.request)
    assert bench.keeping.is_prepared(path)
    bench.texts = {"model.py": f"{TWO}LIMIT = 3\n".replace("x + 1", "x + 2")}
    await bench.kept("Other")
    assert bench.keeping.is_unchecked(path), "the answer was quick"


async def test_a_closed_file_needs_no_check(bench: Bench) -> None:
    path = str(bench.folder / "model.py")
    bench.texts = {"model.py": TWO}
    await bench.kept("One")
    await bench.kept("One")
    bench.keeping.release(path)
    assert not bench.keeping.is_unchecked(path)


async def test_random_edits_get_the_answers_of_new_traces(bench: Bench) -> None:
    edits, told, saved, targets = RandomEdits(seed=EDITS), "", 0, 0
    for number in range(EDITS):
        bench.texts = edits.texts
        at = ("Alone", "Part", "Whole", "Nested", "Derived")[number % 5]
        bench.recorder.asked.clear()
        ours = await bench.traced(bench.keeping, at=at)
        theirs = await bench.traced(bench.fresh, at=at)
        assert ours == theirs, f"edit {number}, {told}\n{edits.texts['model.py']}\n{edits.texts['helper.py']}"
        targets += len(theirs or ())
        saved += len(theirs or ()) - sum(map(len, bench.recorder.asked))
        told = edits.edit()
    print(f"{saved} of {targets} targets were kept")
    assert saved > 0
