"""Which stage a trace begins at, and what becomes of the processes that are kept."""

import asyncio
import contextlib
import os
import re
import shutil
import sys
import textwrap
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from fx_lsp.agent.messages import Failure, Limits, Purpose, Report, Span
from fx_lsp.agent.serving.kept_children import MOST_KEPT, MOST_REFUSALS
from tests.agent.client import Answer, Client, make_client, text_at

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes by /proc"),
]

NOT_WITH_MONITORING = pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python's profiler is not used")

MARK = "FX_LSP_TEST_MARK"
"""The name of an environment variable by whose value all processes of one agent are found."""

MODEL = textwrap.dedent(
    """
    import torch
    from parts import Part

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()

        def forward(self, x):
            return self.part(x) / len(x)
    """
)

PARTS = textwrap.dedent(
    """
    import torch

    class Part(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.count = made()

        def forward(self, x):
            return x + self.count

    def made():
        return sum(range(10))
    """
)

HOSTILE = Path(__file__).parents[2] / "workspaces" / "hostile"


class Bench:
    """A workspace, and the texts in the editor."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.model = client.write("model.py", MODEL)
        self.parts = client.write("parts.py", PARTS)
        self.texts = {self.model: MODEL, self.parts: PARTS}

    async def trace(self, *, anew: bool = False) -> Answer:
        """Trace the model as it is in the editor."""
        saved = {path: Path(path).read_text() for path in self.texts}
        unsaved = {path: text for path, text in self.texts.items() if text != saved[path]}
        return await self.client.trace(self.model, "Net()", overlays=unsaved, purpose="confirm" if anew else "once")

    def text_at(self, failure: Failure) -> str:
        """What a failure points to in the text in the editor."""
        span = failure.chain[-1].span
        return self.texts[span.file].split("\n")[span.line - 1][span.col : span.end_col]

    async def quick(self, path: str, old: str, new: str) -> tuple[bool, Report]:
        """Make an edit; whether a process that was kept answered, and its report."""
        assert self.texts[path].count(old) == 1
        self.texts[path] = self.texts[path].replace(old, new)
        answer = await self.trace()
        assert answer.done is not None
        return answer.done.quick, answer.only


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Client, str]]:
    """An agent, and the mark of its processes."""
    mark = uuid.uuid4().hex
    client = make_client(tmp_path_factory.mktemp("cwd"), env={MARK: mark})
    yield client, mark
    await client.agent.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def fresh(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """An agent that keeps no processes."""
    client = make_client(tmp_path_factory.mktemp("other"))
    yield client
    await client.agent.close()


@pytest_asyncio.fixture(loop_scope="module")
async def bench(shared: tuple[Client, str], tmp_path: Path) -> AsyncIterator[Bench]:
    """A workspace of the test's own, of whose files nothing is kept afterward, nor of any other."""
    client, mark = shared
    client.log.clear()
    yield Bench(Client(client.agent, tmp_path, client.states, client.log))
    for file in tmp_path.rglob("*.py"):
        client.agent.release(str(file))
    (agent,) = [process for process in processes(mark) if parent(process) == os.getpid()]
    await asyncio.wait_for(all_gone(agent), 60)


def processes(mark: str) -> set[int]:
    """The living processes of an agent, by the environment that they were started with."""
    found = set()
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if f"{MARK}={mark}\0".encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
    return found


def processor_seconds(mark: str) -> float:
    ticks = 0
    for process in processes(mark):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def at_rest(mark: str) -> None:
    """Wait until no process of an agent uses the processor."""
    before = -1.0
    while (now := processor_seconds(mark)) != before:
        before = now
        await asyncio.sleep(0.3)


async def test_a_body_is_traced_from_the_built_model(bench: Bench) -> None:
    await bench.trace(anew=True)
    quick, report = await bench.quick(bench.model, "len(x)", "len(x + 1)")
    assert (quick, [bench.text_at(failure) for failure in report.failures]) == (True, ["len(x + 1)"])
    quick, report = await bench.quick(bench.model, "/ len(x + 1)", "/ 2")
    assert (quick, report.outcome) == (True, "traced")
    assert "/ 2" in report.code
    assert not any("not kept" in line or "Nothing is kept" in line for line in bench.client.log)


async def test_lines_above_move_what_is_reported(bench: Bench) -> None:
    await bench.trace(anew=True)
    quick, report = await bench.quick(bench.model, "import torch", "# more\n\nimport torch")
    (failure,) = report.failures
    assert (quick, failure.chain[-1].span.line) == (True, MODEL[: MODEL.index("len(x)")].count("\n") + 3)
    assert report.recipe_span is not None


async def test_a_body_in_another_file(bench: Bench) -> None:
    await bench.trace(anew=True)
    quick, report = await bench.quick(bench.parts, "x + self.count", "x / int(x)")
    assert quick
    assert [failure.chain[-1].span.file for failure in report.failures] == [bench.parts, bench.model]


async def test_an_edited_constructor_is_built_again_in_the_imported_file(bench: Bench) -> None:
    await bench.trace(anew=True)
    quick, _ = await bench.quick(bench.parts, "range(10)", "range(1, 11)")
    assert quick
    quick, report = await bench.quick(bench.model, "/ len(x)", "")
    assert (quick, "55" in report.code) == (True, True)


@pytest.mark.parametrize(
    ("old", "new"), [("class Net", "limit = 3\n\nclass Net"), ("forward(self, x)", "forward(self, x, y=None)")]
)
async def test_any_other_edit_is_imported_again(bench: Bench, old: str, new: str) -> None:
    await bench.trace(anew=True)
    quick, report = await bench.quick(bench.model, old, new)
    assert (quick, report.outcome) == (False, "failed")
    assert (await bench.quick(bench.model, new, old))[0], "the edit was undone, so the processes are right again"


async def test_a_new_module_beside_the_file_is_found(bench: Bench) -> None:
    await bench.trace(anew=True)
    bench.client.write("other.py", "x = 1\n")
    assert not (await bench.quick(bench.model, "len(x)", "int(x)"))[0]


async def test_a_file_that_was_read_and_has_changed(bench: Bench) -> None:
    data = bench.client.write("data.txt", "10")
    bench.texts[bench.parts] = PARTS.replace("sum(range(10))", f"int(open({data!r}).read())")
    await bench.trace(anew=True)
    assert (await bench.quick(bench.model, "/ len(x)", "* 2"))[0]
    Path(data).write_text("12345")
    quick, report = await bench.quick(bench.model, "* 2", "* 3")
    assert (quick, "12345" in report.code) == (True, True), "it is built again in the imported file"


async def test_what_a_missing_package_decided_while_the_model_was_built(bench: Bench) -> None:
    decided = "import absent_package\n" + PARTS.replace("= made()", "= made() if absent_package.deep else 0")
    bench.texts[bench.parts] = decided
    await bench.trace(anew=True)
    quick, report = await bench.quick(bench.model, " / len(x)", " * 2")
    assert (quick, report.outcome) == (True, "unchecked")
    assert "absent_package" in report.reason


async def test_what_the_import_has_noted_stays_where_it_is(bench: Bench) -> None:
    bench.texts[bench.parts] = "# a line\nimport absent_package\n" + PARTS
    await bench.trace(anew=True)
    quick, report = await bench.quick(bench.parts, "x + self.count", "x + 2 * self.count\n")
    (notice,) = report.notices
    assert (quick, notice.kind, bench.text_at(notice)) == (True, "missing-package", "import absent_package")
    quick, report = await bench.quick(bench.parts, "# a line\n", "")
    (notice,) = report.notices
    assert (quick, bench.text_at(notice)) == (False, "import absent_package")


async def test_by_its_other_name_the_file_is_the_edited_one(bench: Bench, tmp_path: Path) -> None:
    name = tmp_path.name
    again = f"from {name}.model import Net as Same\n        return self.part(x) / (2 if type(self) is Same else len(x))"
    bench.texts[bench.model] = f"import {name}\n" + MODEL.replace("return self.part(x) / len(x)", again)
    assert "/ 2" in (await bench.trace(anew=True)).only.code
    quick, report = await bench.quick(bench.model, "(2 if", "(3 if")
    assert (quick, "/ 3" in report.code) == (True, True)


async def test_a_saved_edit_is_still_an_edit(bench: Bench) -> None:
    await bench.trace(anew=True)
    assert (await bench.quick(bench.model, "len(x)", "int(x)"))[0]
    Path(bench.model).write_text(bench.texts[bench.model])
    quick, report = await bench.quick(bench.parts, "x + self", "x - self")
    assert (quick, [text_at(failure.chain[-1]) for failure in report.failures]) == (True, ["int(x)"])


@pytest.mark.parametrize(
    "constructor",
    [
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "import signal; signal.setitimer(signal.ITIMER_VIRTUAL, 1000)",
        pytest.param("import sys; sys.setprofile(None)", marks=NOT_WITH_MONITORING),
        "open('/nowhere/x', 'w')",
    ],
)
async def test_what_leaves_something_behind_is_not_kept_built(bench: Bench, constructor: str) -> None:
    guarded = f"try:\n            {constructor}\n        except OSError: pass\n        self.count = made()"
    bench.texts[bench.parts] = PARTS.replace("self.count = made()", guarded)
    await bench.trace(anew=True)
    before = len(bench.client.log)
    quick, report = await bench.quick(bench.model, "len(x)", "int(x)")
    assert (quick, report.outcome) == (True, "failed"), "it is built again in the imported file"
    assert any("Net() is not kept built" in line for line in bench.client.log[: before + 1])


@pytest.mark.parametrize("at_import", [False, True])
async def test_source_that_was_read_is_read_again(bench: Bench, at_import: bool) -> None:
    read = "import inspect; self.count = len(inspect.getsource(Part))"
    if at_import:
        bench.texts[bench.parts] = f"{PARTS}\nimport inspect\nPart.size = len(inspect.getsource(Part))\n"
    else:
        bench.texts[bench.parts] = PARTS.replace("self.count = made()", read)
    await bench.trace(anew=True)
    assert (await bench.quick(bench.model, "len(x)", "int(x)"))[0], "this is not the source that was read"
    await bench.quick(bench.model, " / int(x)", "")
    quick, report = await bench.quick(bench.parts, "return x +", "y = x\n        return x +")
    assert (quick, report.outcome) == (not at_import, "traced"), "only the import can't be repeated by itself"
    fresh = await bench.trace(anew=True)
    assert report.code == fresh.only.code


@pytest.mark.parametrize("at_import", [False, True])
async def test_nothing_is_kept_that_hides_from_the_garbage_collector(bench: Bench, at_import: bool) -> None:
    parts = (
        f"{PARTS}\nimport gc\ngc.freeze()\n" if at_import else PARTS.replace("made()", "__import__('gc').freeze()", 1)
    )
    bench.texts[bench.parts] = parts.replace("x + self.count", "x")
    await bench.trace(anew=True)
    quick, report = await bench.quick(bench.parts, "return x", "return x / int(x)")
    assert (quick, len(report.failures)) == (not at_import, 2)


async def test_functions_that_the_model_refers_to_can_be_edited(bench: Bench) -> None:
    bench.texts[bench.parts] = PARTS.replace("self.count = made()", "self.count, self.helpers = made(), {'way': way}")
    bench.texts[bench.parts] += "\ndef way(x):\n    return x\n\nWAYS = [way]\n"
    await bench.trace(anew=True)
    await bench.quick(bench.parts, "return x + self.count", "return self.helpers['way'](x)")
    quick, report = await bench.quick(bench.parts, "    return x\n", "    return x / int(x)\n")
    assert (quick, [bench.text_at(failure) for failure in report.failures]) == (True, ["int(x)", "len(x)"])
    assert not any("not kept" in line for line in bench.client.log)


@pytest.mark.parametrize("is_under_way", [False, True])
async def test_cancelled_traces_leave_the_processes_as_they_are(
    bench: Bench, shared: tuple[Client, str], is_under_way: bool
) -> None:
    await bench.trace(anew=True)
    slow = MODEL.replace("return self", "for _ in range(10**12): pass\n        return self")
    stream = bench.client.stream(bench.model, "Net()", overlays={bench.model: slow})
    task = asyncio.ensure_future(anext(stream))
    before = processor_seconds(shared[1])
    while is_under_way and processor_seconds(shared[1]) < before + 0.5:  # so it is in the loop
        await asyncio.sleep(0.05)
    await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await stream.aclose()
    quick, report = await bench.quick(bench.model, "len(x)", "int(x)")
    assert (quick, report.outcome) == (True, "failed"), bench.client.log
    await asyncio.wait_for(at_rest(shared[1]), 60)


async def test_a_process_waits_for_the_next_attempt_while_the_last_one_goes_on(
    bench: Bench, shared: tuple[Client, str]
) -> None:
    await bench.trace(anew=True)
    await at_rest(shared[1])
    before = processes(shared[1])
    endless = MODEL.replace("return self", "len(x)\n        for _ in range(10**12): pass\n        return self")
    stream = bench.client.stream(bench.model, "Net()", overlays={bench.model: endless})
    first = await anext(stream)
    assert isinstance(first, Report)
    assert first.partial

    async def until_one_more() -> None:
        while len(processes(shared[1])) <= len(before):
            await asyncio.sleep(0.05)

    await asyncio.wait_for(until_one_more(), 60)
    await stream.aclose()
    assert (await bench.quick(bench.model, "len(x)", "int(x)"))[0]
    await asyncio.wait_for(at_rest(shared[1]), 60)
    assert len(processes(shared[1])) == len(before)


async def test_a_body_that_exits_costs_only_its_trace(bench: Bench) -> None:
    await bench.trace(anew=True)
    for code in ("import os; os._exit(3)", "import os; os.abort()"):
        bench.texts[bench.model] = MODEL.replace("return self", f"{code}\n        return self")
        assert (await bench.trace()).only.outcome == "crashed"
    bench.texts[bench.model] = MODEL
    quick, _ = await bench.quick(bench.model, "len(x)", "int(x)")
    assert quick


async def test_processes_that_wait_use_no_processor_and_end(shared: tuple[Client, str], bench: Bench) -> None:
    client, mark = shared
    await bench.trace(anew=True)
    await bench.quick(bench.model, "len(x)", "int(x)")
    await at_rest(mark)
    kept = processes(mark)
    before = processor_seconds(mark)
    client.agent.release(bench.parts)  # nothing is kept for this file
    await asyncio.sleep(1.5)
    assert processes(mark) == kept
    assert processor_seconds(mark) - before < 0.1
    client.agent.release(bench.model)
    while len(processes(mark)) >= len(kept):
        await asyncio.sleep(0.01)
    assert not (await bench.quick(bench.model, "int(x)", "len(x)"))[0]


async def test_the_first_trace_for_an_edit_keeps_its_process(bench: Bench) -> None:
    first = await bench.client.trace(bench.model, "Net()", purpose="edit")
    assert first.done is not None
    assert (first.done.quick, first.done.unprepared) == (False, True), "nothing is built ahead"
    quick, report = await bench.quick(bench.model, "len(x)", "len(x + 1)")
    assert (quick, [bench.text_at(failure) for failure in report.failures]) == (True, ["len(x + 1)"])
    quick, _ = await bench.quick(bench.parts, "range(10)", "range(1, 11)")
    assert quick, "the import has not run this function, only building has"


async def test_what_has_to_be_built_is_traced_in_the_process_that_waits(
    bench: Bench, shared: tuple[Client, str]
) -> None:
    await bench.client.trace(bench.model, "Net()", purpose="edit")
    await at_rest(shared[1])
    waiting, before = processes(shared[1]), processor_seconds(shared[1])
    endless = MODEL.replace("return self", "for _ in range(10**12): pass\n        return self")
    stream = bench.client.stream(bench.model, "Net()", overlays={bench.model: endless}, purpose="edit")
    asking = asyncio.ensure_future(anext(stream))

    async def until_busy() -> None:
        while processor_seconds(shared[1]) < before + 0.3:
            await asyncio.sleep(0.05)

    await asyncio.wait_for(until_busy(), 60)
    assert processes(shared[1]) == waiting
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking
    quick, report = await bench.quick(bench.model, "len(x)", "len(x + 1)")
    assert (quick, [bench.text_at(failure) for failure in report.failures]) == (True, ["len(x + 1)"])


@pytest.mark.parametrize("anew", [True, False])
async def test_programs_have_their_garbage_collected(bench: Bench, anew: bool) -> None:
    bench.texts[bench.parts] = PARTS.replace("sum(range(10))", "len(gc.garbage) if gc.isenabled() else 7").replace(
        "import torch", "import gc, torch"
    )
    if anew:
        await bench.trace(anew=True)
    else:
        await bench.client.trace(bench.model, "Net()", overlays=dict(bench.texts), purpose="edit")
    quick, report = await bench.quick(bench.model, "/ len(x)", "+ __import__('gc').isenabled()")
    assert (quick, re.findall(r"\+ (\w+)", report.code)) == (True, ["0", "True"])


async def test_a_target_is_built_ahead_once_an_edit_has_been_answered(bench: Bench) -> None:
    bench.texts[bench.parts] = PARTS.replace("sum(range(10))", "time.time_ns()").replace(
        "import torch", "import time, torch"
    )

    async def built_at(number: int) -> str:
        """Make an edit; when the model was built that is then traced."""
        bench.texts[bench.model] = MODEL.replace("/ len(x)", f"* {number}")
        answer = await bench.client.trace(bench.model, "Net()", overlays=dict(bench.texts), purpose="edit")
        (found,) = re.findall(r"\d{19}", answer.only.code)
        return str(found)

    async def until_kept() -> None:
        while times[-1] != times[-2]:
            times.append(await built_at(len(times)))

    times = [await built_at(0), await built_at(1)]
    assert times[0] != times[1], "nobody waits for a process that is kept"
    await asyncio.wait_for(until_kept(), 60)
    bench.texts[bench.parts] = bench.texts[bench.parts].replace("= made()", "= made() + 0")
    times.append(await built_at(len(times)))
    assert times[-1] != times[-2]
    await asyncio.wait_for(until_kept(), 60)


async def test_a_target_is_built_ahead_once_it_is_reported_on(bench: Bench, shared: tuple[Client, str]) -> None:
    await bench.client.trace(bench.model, "Net()", purpose="edit")
    await at_rest(shared[1])
    before = processes(shared[1])
    endless = MODEL.replace("return self", "len(x)\n        for _ in range(10**12): pass\n        return self")
    overlays = {bench.model: endless}
    stream = bench.client.stream(bench.model, "Net()", overlays=overlays, purpose="edit")
    await anext(stream)

    async def until_built() -> None:
        while len(processes(shared[1])) < len(before) + 3:  # the attempt, the built model, and one that waits
            await asyncio.sleep(0.05)

    await asyncio.wait_for(until_built(), 60)
    await stream.aclose()


async def test_a_notebook_is_imported_for_each_edit(bench: Bench) -> None:
    file = bench.client.write("cells.ipynb", "")
    for name in ("len", "int", "len"):
        text = MODEL.replace("from parts import Part", "Part = torch.nn.Identity").replace("len(x)", f"{name}(x)")
        answer = await bench.client.trace(file, "Net()", overlays={file: text}, purpose="edit")
        (failure,) = answer.only.failures
        assert (answer.done and answer.done.quick, failure.operation) == (False, name)


async def test_an_installed_package_that_fails_gets_a_stand_in(tmp_path: Path) -> None:
    package = tmp_path / "elsewhere" / "oldpkg"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('too old')\n")
    client = make_client(tmp_path / "work", env={"PYTHONPATH": str(package.parent)})
    file = client.write("model.py", "import oldpkg\n" + MODEL.replace("from parts import Part", "Part = oldpkg.Part"))
    once = await client.trace(file, "Net()")
    edit = await client.trace(file, "Net()", purpose="edit")
    await client.agent.close()
    assert told(once.only) == told(edit.only)
    assert "missing-package" in {notice.kind for notice in edit.only.notices}


async def test_what_a_package_of_the_workspace_makes_when_it_is_asked_for(bench: Bench) -> None:
    lazy = "def made():\n    return 3\n\ndef __getattr__(name):\n    globals()[name] = made()\n    return made()\n"
    parts = bench.client.write("lazy/__init__.py", lazy)
    bench.texts[bench.model] = "from lazy import count\n" + MODEL.replace("/ len(x)", "* count")
    bench.texts[parts] = lazy
    for number in (3, 45):
        bench.texts[parts] = lazy.replace("return 3", f"return {number}")
        answer = await bench.client.trace(bench.model, "Net()", overlays=dict(bench.texts), purpose="edit")
        assert f"* {number}" in answer.only.code


async def test_a_file_that_can_not_be_imported_may_be_kept_later(bench: Bench) -> None:
    text = bench.texts[bench.model]
    bench.texts[bench.model] = f"{text}\n1 / 0\n"
    for number in range(MOST_REFUSALS):
        bench.texts[bench.parts] += f"# {number}\n"
        unsaved = dict(bench.texts)
        await bench.client.trace(bench.model, "Net()", overlays=unsaved, purpose="edit")
    bench.texts[bench.model] = text
    await bench.client.trace(bench.model, "Net()", overlays=dict(bench.texts), purpose="edit")
    assert (await bench.quick(bench.model, "len(x)", "int(x)"))[0]


async def test_only_the_files_edited_last_are_kept(bench: Bench) -> None:
    files = [bench.client.write(f"model{number}.py", MODEL) for number in range(MOST_KEPT + 1)]
    for file in files:
        await bench.client.trace(file, "Net()", purpose="confirm")
    quick = []
    for file in files:
        answer = await bench.client.trace(file, "Net()", overlays={file: MODEL.replace("len(x)", "int(x)")})
        assert answer.done
        quick.append(answer.done.quick)
    assert quick == [False, *[True] * MOST_KEPT]


CASES = sorted(path.stem for path in HOSTILE.glob("*.py") if path.stem != "__init__")
SOME = CASES if os.environ.get("FX_LSP_ALL_HOSTILE") else [case for case in CASES[::5] if case != "signals_blocked"]
"""All modules take minutes, and `tests/lsp/test_hostile.py` has all of them traced in processes that are not kept.

`signals_blocked` is left out because its import never ends, so no process of it is ever kept.
"""

FOR_STAGES = sorted((HOSTILE.parent / "hostile_stages").glob("*.py"))
"""Modules whose constructors try to harm a process that is kept after it has run them."""


def told(report: Report) -> tuple[str, list[tuple[str, Span]]]:
    """What a report says, but for words that depend on the process."""
    return report.outcome, [(failure.kind, failure.chain[-1].span) for failure in report.failures if failure.chain]


@pytest.mark.parametrize("path", FOR_STAGES, ids=[path.stem for path in FOR_STAGES])
async def test_a_constructor_that_harms_kept_processes(
    bench: Bench, shared: tuple[Client, str], fresh: Client, path: Path
) -> None:
    limits = Limits(seconds=1, memory_mb=512)
    text = path.read_text()
    file = bench.client.write("hostile.py", text)
    steps: list[tuple[str, Purpose]] = [("x / len(x)", "edit"), ("x + 1", "confirm"), ("x / len(x)", "edit")]
    for body, purpose in steps:
        texts = {file: text.replace("x / len(x)", body)}
        ours = await bench.client.trace(file, "Net()", overlays=texts, limits=limits, purpose=purpose)
        theirs = await Client(fresh.agent, bench.client.root, [], []).trace(
            file, "Net()", overlays=texts, limits=limits
        )
        assert told(ours.only) == told(theirs.only)
    assert (await bench.trace()).only.outcome == "failed", "the agent is well"
    await asyncio.wait_for(at_rest(shared[1]), 60)


@pytest.mark.parametrize("case", SOME)
async def test_a_hostile_module_is_contained_in_kept_processes(bench: Bench, case: str) -> None:
    folder = bench.client.root / "hostile"
    shutil.copytree(HOSTILE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    canary = Path(bench.client.write("canary/kept.txt", "sings"))
    file = str(folder / f"{case}.py")
    text = Path(file).read_text()
    limits = Limits(seconds=1, memory_mb=512)
    steps: list[tuple[str, Purpose]] = [("", "edit"), ("\n", "confirm"), ("", "edit")]
    for more, purpose in steps:
        answer = await bench.client.trace(file, "Net()", overlays={file: text + more}, limits=limits, purpose=purpose)
        assert answer.reports, "nothing was told"
    assert canary.read_text() == "sings"
    assert bench.client.agent.state.phase in ("ready", "busy")
    assert (await bench.trace()).only.outcome == "failed", "the agent is well"


async def all_gone(process: int) -> None:
    """Wait until a process has no children, and so no descendants: the agent is given those whose parent is dead."""
    while Path(f"/proc/{process}/task/{process}/children").read_text():
        await asyncio.sleep(0.05)


def parent(process: int) -> int | None:
    """The id of a process's parent; None if the process is dead."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return None
