from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types

from fx_lsp.agent.messages import Report
from fx_lsp.documents.positions import LineIndex
from fx_lsp.server.features.client_places import ClientPlaces
from fx_lsp.server.features.hover import LONGEST, hover
from fx_lsp.server.features.outline import Outlines
from tests.analysis.fake_agent import Bench, Request, failure_at, span_of

MODEL = """\
import torch
import torch.fx

class Base(torch.nn.Module):
    def __init__(self, width):
        super().__init__()

class Wide(Base):
    def forward(self, x):
        return x

wides = [Wide(3)]

def f(x):
    return x / len(x)

é = torch.fx.symbolic_trace(f)
other.f(f)
"""


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path / "a é")
    yield bench
    await bench.scheduler.close()


def asked_for(bench: Bench, path: str, position: types.Position) -> str:
    places = ClientPlaces(bench.documents)
    offset = places.offset(Path(path).as_uri(), position)
    return (
        ""
        if offset is None
        else hover(bench.scheduler, bench.descriptions, Outlines(bench.documents), places, path, offset)
    )


def text_at(bench: Bench, path: str, at: str, further: int = 0) -> str:
    """The hover ``further`` characters behind the beginning of ``at``; empty when there is none."""
    text = bench.documents.text(path) or ""
    return asked_for(bench, path, types.Position(*LineIndex(text).position(text.index(at) + further, "utf-16")))


async def asked(bench: Bench) -> tuple[str, Request]:
    path = bench.open("model.py", MODEL)
    return path, await bench.agent.asked()


async def test_while_it_is_traced_it_says_so(bench: Bench) -> None:
    path, request = await asked(bench)
    assert text_at(bench, path, "f(x)") == f"Tracing `{request.targets[1].title}` …"


async def test_a_name_has_the_generated_code_of_what_it_stands_for(bench: Bench) -> None:
    path, request = await asked(bench)
    request.report(request.targets[1].key, code="\n\n\ndef forward(self, x):\n    return x\n    ", nodes=2)
    request.done()
    await bench.complete(path)
    for at in ("f(x)", "def f(x)", "f)\nother", "symbolic_trace(f)", "f)\n"):
        assert "2 nodes" in text_at(bench, path, at)
        assert "```python\ndef forward(self, x):\n    return x\n```" in text_at(bench, path, at)


@pytest.mark.parametrize("at", ["other.f", "x / len", "import torch\n", "\n\ndef"])
async def test_other_names_and_attributes_have_nothing(bench: Bench, at: str) -> None:
    path, request = await asked(bench)
    request.report(request.targets[1].key, code="pass", nodes=1)
    request.done()
    await bench.complete(path)
    assert text_at(bench, path, at) == ""
    assert text_at(bench, path, "other.f", len("other.f") - 1) == ""


async def test_long_code_is_cut(bench: Bench) -> None:
    path, request = await asked(bench)
    request.report(request.targets[1].key, code="\n".join(f"line_{n}" for n in range(LONGEST + 7)))
    request.done()
    await bench.complete(path)
    shown = text_at(bench, path, "f(x)")
    assert f"line_{LONGEST - 1}\n# … 7 more lines\n```" in shown
    assert f"line_{LONGEST}\n" not in shown


async def test_a_failure_is_told_with_its_line_as_it_is_now(bench: Bench) -> None:
    path, request = await asked(bench)
    request.report(request.targets[1].key, failure_at(span_of(path, MODEL, "len(x)")))
    request.done()
    await bench.complete(path)
    assert "line 15" in text_at(bench, path, "f(x)")
    bench.edit(path, "class Wide", "(\nclass Wide")
    await bench.complete(path)
    shown = text_at(bench, path, "f(x)")
    assert "line 16" in shown
    assert "`len(x)`" in shown


async def test_a_class_that_leaves_its_forward_to_others_is_said_not_to_be_traced(bench: Bench) -> None:
    path, request = await asked(bench)
    assert [target.symbol for target in request.targets] == ["Wide", "f"]
    assert (
        text_at(bench, path, "Base")
        == "`Base` is not traced, because its `forward` or other methods are left to subclasses."
    )


async def test_how_it_was_built_is_told_with_where_that_is_written(bench: Bench) -> None:
    path, request = await asked(bench)
    span = span_of(path, MODEL, "Wide(3)")
    report = Report(1, "class:Wide", "traced", code="pass", nodes=2, recipe="Wide(3)", recipe_span=span)
    request.answers.put_nowait(report)
    request.done()
    await bench.complete(path)
    uri = ClientPlaces(bench.documents).uri(path)
    assert text_at(bench, path, "Wide").endswith(f"Built as `Wide(3)` ([line {span.line}]({uri}#L{span.line})).")


async def test_made_up_arguments_are_told_and_how_to_give_others(bench: Bench) -> None:
    path, request = await asked(bench)
    report = Report(1, "class:Wide", "traced", recipe="Wide(width=64)", reason="without its optional inputs")
    request.answers.put_nowait(report)
    request.done()
    await bench.complete(path)
    shown = text_at(bench, path, "Wide")
    assert shown.startswith("`Wide` can be traced without its optional inputs.")
    assert "Built as `Wide(width=64)`, with arguments that fx-lsp invented." in shown
    assert "# fx: trace(" in shown


async def test_why_it_was_not_checked(bench: Bench) -> None:
    path, request = await asked(bench)
    request.answers.put_nowait(Report(1, "class:Wide", "unchecked", reason="it depends on `mmcv.a`, which is missing"))
    request.done()
    await bench.complete(path)
    shown = "`Wide` could not be checked: it depends on `mmcv.a`, which is missing."
    assert text_at(bench, path, "Wide") == shown


async def test_what_turned_out_to_be_no_module_is_said_to_be_none(bench: Bench) -> None:
    path, request = await asked(bench)
    request.answers.put_nowait(Report(1, request.targets[1].key, "skipped"))
    request.done()
    await bench.complete(path)
    assert "neither a module nor a function" in text_at(bench, path, "f(x)")


async def test_without_an_answer_it_says_that_it_was_not_traced(bench: Bench) -> None:
    path, request = await asked(bench)
    request.done()
    await bench.complete(path)
    await request.ended.wait()
    assert "has not been traced" in text_at(bench, path, "f(x)")


async def test_a_file_that_is_not_known_has_no_hover(bench: Bench) -> None:
    path = bench.file("closed.py", MODEL)
    assert text_at(bench, path, "f(x)") == ""
    assert asked_for(bench, "/no/such.py", types.Position(0, 0)) == ""


async def test_what_is_not_shown_as_a_problem_is_not_said_to_be_listed(bench: Bench) -> None:
    text = (
        "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x / len(x) + sum(x)\n\n"
        "torch.export.export(Net(), (torch.ones(3),))\n"
    )
    path = bench.open("net.py", text)
    await bench.traced(path, *(failure_at(span_of(path, text, part)) for part in ("len(x)", "sum(x)")))
    hidden, listed = (
        "*Your code does not trace it, so this is not shown as a problem.*",
        "The list of problems shows 1 more.",
    )
    told = text_at(bench, path, "Net(torch")
    assert (hidden in told, listed in told) == (False, True)
    bench.scheduler.uses.update()
    told = text_at(bench, path, "Net(torch")
    assert (hidden in told, listed in told) == (True, False)
    bench.edit(path, "import torch\n", "import torch, nothing\n")
    request = await bench.agent.asked()
    failure = failure_at(span_of(path, text, "import torch"), kind="import")
    request.answers.put_nowait(Report(1, request.targets[0].key, "not-imported", (failure,)))
    request.done()
    await bench.complete(path)
    assert hidden not in text_at(bench, path, "Net(torch"), "it is shown whatever the code captures"
