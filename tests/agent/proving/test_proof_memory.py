"""What one proof has found out about a target serves the next proof, as long as the texts are the same."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from fx_lsp.agent.building.constructor_sizes import Size
from fx_lsp.agent.messages import Failure, Prove, Snippet, Span, Step
from fx_lsp.agent.processes.tensor_pickles import packed, unpacked
from fx_lsp.agent.proving import before_edit, proof_memory, trial_inputs, trial_runs
from fx_lsp.agent.proving.new_text import NewText
from fx_lsp.agent.proving.proof_memory import LONGEST, Findings, Remembered
from fx_lsp.agent.proving.prove_edit import _EditProof
from fx_lsp.agent.proving.run_in_child import ProofEnded
from fx_lsp.agent.proving.trial_inputs import FoundInputs
from fx_lsp.agent.proving.twins import small_twin
from fx_lsp.agent.running.observation import Input, observe
from tests.agent.client import PATIENT, target_of
from tests.agent.proving.edits import program

FORWARD = "return x / len(x)"
MODEL = program(FORWARD)


def request_in(folder: Path, *, new: str, text: str = MODEL, old: str = "len(x)") -> Prove:
    """A request to put ``new`` in the place of ``old``."""
    file = folder / "net.py"
    file.write_text(text, encoding="utf-8")
    line = text[: text.index(old)].count("\n") + 1
    col = text.splitlines()[line - 1].index(old)
    failure = Failure("len", "", (Step("forward", Span(str(file), line, col, line, col + len(old))),))
    target = target_of(str(file), "Net()")
    edited = {str(file): text.replace(old, new)}
    return Prove(str(file), target, target, (failure,), {}, edited, (str(folder),), PATIENT)


def proven(request: Prove, remembered: Remembered | None = None) -> Remembered:
    """Try the edit, and return what is remembered for the next one."""
    told: list[Any] = []
    assert "the same on" in _EditProof(request, (), remembered, told.append).run()
    (answer,) = told
    assert isinstance(answer, Remembered)
    return answer


def no_search(*_: Any) -> Any:
    raise ProofEnded("untried", "searched again", True)


def no_exploration(*_: Any, **__: Any) -> Any:
    raise ProofEnded("untried", "explored again")


def test_inputs_are_searched_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = proven(request_in(tmp_path, new="x.shape[0]"))
    monkeypatch.setattr(trial_runs, "searched_inputs", no_search)
    proven(request_in(tmp_path, new="x.size(0)"), known)
    with pytest.raises(ProofEnded, match="searched again"):
        proven(request_in(tmp_path, new="x.size(0)"))


def test_what_the_program_does_is_observed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = proven(request_in(tmp_path, new="x.shape[0]"))
    monkeypatch.setattr(trial_runs, "_observed", no_search)
    proven(request_in(tmp_path, new="x.size(0)"), known)


def test_what_is_known_is_confirmed_with_one_input_if_that_reaches_the_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = proven(request_in(tmp_path, new="x.shape[0]"))
    inputs = next(iter(unpacked(known.pickled).inputs.values())).inputs
    assert len(inputs) > 1
    missed, runs = trial_runs._missed, tmp_path / "runs"

    def counted(*arguments: Any) -> Any:
        with runs.open("a") as file, monkeypatch.context() as counting:
            counting.setattr(
                trial_runs, "observe", lambda *args, **kwargs: (file.write("."), observe(*args, **kwargs))[1]
            )
            return missed(*arguments)

    monkeypatch.setattr(trial_runs, "_missed", counted)
    proven(request_in(tmp_path, new="x.size(0)"), known)
    assert runs.read_text() == "."


def test_what_is_too_large_to_remember_is_observed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_memory, "packed", _packed_unless_observed)
    known = proven(request_in(tmp_path, new="x.shape[0]"))
    monkeypatch.setattr(trial_runs, "searched_inputs", no_search)
    proven(request_in(tmp_path, new="x.size(0)"), known)


def _packed_unless_observed(findings: Findings) -> bytes:
    found = [one for one in findings.inputs.values() if isinstance(one, FoundInputs)]
    return b"x" * (LONGEST + 1) if any(one.observations for one in found) else packed(findings)


def test_what_was_observed_does_not_hide_that_other_code_is_not_reached(tmp_path: Path) -> None:
    text = program("y = x / len(x)\nif not isinstance(x, torch.Tensor):\n    y = y + len(y)\nreturn y")
    known = proven(request_in(tmp_path, new="x.shape[0]", text=text))
    with pytest.raises(ProofEnded, match="no input was found that reaches line 11"):
        proven(request_in(tmp_path, new="y.shape[0]", text=text, old="len(y)"), known)


def test_what_was_observed_does_not_count_once_a_file_has_changed_that_the_program_reads(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.txt"
    numbers.write_text("2", encoding="utf-8")
    text = program("return x * self.scale / len(x)", f"self.scale = int(open({str(numbers)!r}).read())")
    known = proven(request_in(tmp_path, new="x.shape[0]", text=text))
    numbers.write_text("3", encoding="utf-8")
    proven(request_in(tmp_path, new="x.size(0)", text=text), known)
    request = request_in(tmp_path, new="x.shape[0]", text=text)
    wrong = text.replace("x * self.scale / len(x)", "x * 2 / x.shape[0]")
    with pytest.raises(ProofEnded, match="the output differs"):
        proven(dataclasses.replace(request, edited={request.file: wrong}), known)


def test_a_program_that_cannot_be_built_on_meta_is_not_built_there_after_the_edit(tmp_path: Path) -> None:
    log = tmp_path / "builds"
    init = f"self.scale = torch.ones(3)\nopen({str(log)!r}, 'a').write(f'{{self.scale.device}} ')\nself.scale.tolist()"
    request = request_in(tmp_path, new="x.shape[0]", text=program(FORWARD, init))
    proven(request)
    assert log.read_text(encoding="utf-8").count("meta") == 1


def test_where_an_edited_program_breaks_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_runs, "searched_inputs", no_search)
    request = request_in(tmp_path, new="x.shape[0]")
    told: list[Any] = []
    with pytest.raises(ProofEnded, match="searched again"):
        _EditProof(request, (), None, told.append).run()
    known = told[-1]
    monkeypatch.setattr(NewText, "failures", no_exploration)
    with pytest.raises(ProofEnded, match="searched again"):
        _EditProof(request, (), known, told.append).run()
    with pytest.raises(ProofEnded, match="explored again"):  # another edit
        _EditProof(request_in(tmp_path, new="x.size(0)"), (), known, told.append).run()
    request_in(tmp_path, new="", text=f"{MODEL}SCALE = 1\n")
    with pytest.raises(ProofEnded, match="explored again"):  # another text, though the edited one is the same
        _EditProof(request, (), known, told.append).run()


@pytest.mark.parametrize("noise", ["next(COUNT)", "random.random()", "torch.rand([]).item()"])
def test_a_search_for_arguments_leaves_no_traces_in_the_program(tmp_path: Path, noise: str) -> None:
    init = f"self.layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for size in sizes)\nself.noise = {noise}"
    before = "import itertools, random\nCOUNT = itertools.count()"
    text = program("return x / len(x) + self.noise", init, before).replace("__init__(self)", "__init__(self, sizes)")
    request = request_in(tmp_path, new="(x.size(0) + 32 - 32)", text=text)
    recipe = dataclasses.replace(request.target.recipe, root=Snippet("Net", 1), made_up=True)
    target = dataclasses.replace(request.target, recipe=recipe)
    proven(dataclasses.replace(request, target=target, edited_target=target))


def test_a_wrong_edit_is_refuted_with_what_is_known(tmp_path: Path) -> None:
    known = proven(request_in(tmp_path, new="x.shape[0]"))
    with pytest.raises(ProofEnded) as ended:
        proven(request_in(tmp_path, new="x.shape[-1]"), known)
    assert ended.value.verdict == "refuted"


def test_inputs_with_another_fixed_value_are_searched_for_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = proven(request_in(tmp_path, new="x.shape[0]"))
    request = request_in(tmp_path, new="x.size(0)")
    fixed = dataclasses.replace(request.target.recipe, concrete_args=Snippet("dict(x=None)", 1))
    monkeypatch.setattr(trial_runs, "searched_inputs", no_search)
    request = dataclasses.replace(request, edited_target=dataclasses.replace(request.target, recipe=fixed))
    packed = _EditProof(request, (), known, list[object]().append)._examined(small=True).before
    runs = unpacked(packed).runs
    assert isinstance(runs, ProofEnded)
    assert runs.reason == "searched again"


@pytest.mark.parametrize("open_in_the_editor", [False, True])
def test_what_is_known_of_another_text_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, open_in_the_editor: bool
) -> None:
    known = proven(request_in(tmp_path, new="x.shape[0]"))
    changed = MODEL.replace(FORWARD, f"x = x + 1\n        {FORWARD}")
    request = request_in(tmp_path, new="x.size(0)", text=changed)
    if open_in_the_editor:
        request_in(tmp_path, new="", text=MODEL)
        request = dataclasses.replace(request, overlays={request.file: changed})
    monkeypatch.setattr(trial_runs, "searched_inputs", no_search)
    with pytest.raises(ProofEnded, match="searched again"):
        proven(request, known)


def test_that_no_inputs_were_found_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    request = request_in(tmp_path, new="x.shape[0]")
    with monkeypatch.context() as first:
        first.setattr(trial_runs, "searched_inputs", no_search)
        with pytest.raises(ProofEnded):
            _EditProof(request, (), None, told.append).run()
    with pytest.raises(ProofEnded, match="searched again"):
        proven(request, told[0])


def test_a_program_is_not_run_if_its_twin_is_too_costly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "searched"

    def search(*_: object) -> None:
        mark.write_text(mark.read_text() + "." if mark.exists() else ".")
        raise ProofEnded("untried", "it takes too long", True, is_costly=True)

    monkeypatch.setattr(trial_runs, "searched_inputs", search)
    with pytest.raises(ProofEnded, match="it takes too long"):
        proven(request_in(tmp_path, new="x.shape[0]", text=WIDE))
    assert mark.read_text() == "."


@pytest.mark.parametrize(("fixed", "reason"), [("y=None", "nothing runs"), ("y=1", "searched again")])
def test_inputs_are_not_searched_for_anew_for_the_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fixed: str, reason: str
) -> None:
    def nothing_runs(*_: object) -> None:
        raise ProofEnded("untried", "nothing runs", True)

    told: list[Any] = []
    request = request_in(tmp_path, new="x.shape[0]", text=MODEL.replace("forward(self, x)", "forward(self, x, y=None)"))
    with monkeypatch.context() as first:
        first.setattr(trial_runs, "searched_inputs", nothing_runs)
        with pytest.raises(ProofEnded, match="nothing runs"):
            _EditProof(request, (), None, told.append).run()
    monkeypatch.setattr(trial_runs, "searched_inputs", no_search)
    recipe = dataclasses.replace(request.target.recipe, concrete_args=Snippet(f"dict({fixed})", 1))
    request = dataclasses.replace(request, edited_target=dataclasses.replace(request.target, recipe=recipe))
    with pytest.raises(ProofEnded, match=reason):
        proven(request, told[-1])


WIDE = program("return self.layer(x) / len(x)", "self.layer = torch.nn.Linear(width, 2 * width)").replace(
    "__init__(self)", "__init__(self, width=1024)"
)


def test_twins_are_tried_that_the_program_had_before_its_text_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = proven(request_in(tmp_path, new="x.shape[0]", text=WIDE))
    monkeypatch.setattr(small_twin._TwinSearch, "_shrink_together", no_search)
    changed = WIDE.replace("return self.layer(x)", "x = x + 1\n        return self.layer(x)")
    after = proven(request_in(tmp_path, new="x.shape[0]", text=changed), known)
    assert unpacked(after.pickled).twins == unpacked(known.pickled).twins
    assert unpacked(after.pickled).twins


def test_twins_of_another_program_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = proven(request_in(tmp_path, new="x.shape[0]", text=WIDE))
    monkeypatch.setattr(small_twin._TwinSearch, "_shrink_together", no_search)
    after = proven(request_in(tmp_path, new="x.shape[0]", text=WIDE.replace("1024", "1100")), known)
    assert unpacked(known.pickled).twins
    assert not unpacked(after.pickled).twins


def test_the_search_for_twins_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "searched"

    def find_none(*_: object) -> tuple[None, None]:
        mark.touch()
        return None, None

    monkeypatch.setattr(before_edit, "find_twins", find_none)
    known = proven(request_in(tmp_path, new="x.shape[0]"))
    mark.unlink()
    proven(request_in(tmp_path, new="x.size(0)"), known)
    assert not mark.exists()


@pytest.mark.parametrize("leaves_the_line", [False, True])
def test_a_target_that_cannot_be_built_is_built_once_on_each_device(tmp_path: Path, *, leaves_the_line: bool) -> None:
    """Also where the fix is first tried early, which is the case if it leaves the failing line as it is."""
    mark = tmp_path / "built"
    init = f"open({str(mark)!r}, 'a').write('.')\nraise ValueError('never')"
    request = request_in(tmp_path, new="x.shape[0]", text=program(FORWARD, init))
    if leaves_the_line:
        text = request.edited[request.file].replace("x.shape[0]", "len(x)") + "# another line\n"
        request = dataclasses.replace(request, edited={request.file: text})
    told: list[Any] = []
    for known in (None, lambda: told[-1]):
        with pytest.raises(ProofEnded, match="building the target raises ValueError: never") as ended:
            _EditProof(request, (), known and known(), told.append).run()
        assert (ended.value.verdict, mark.read_text()) == ("untried", "..")


def test_inputs_may_be_objects_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("class Batch(tuple):\n    pass\n", encoding="utf-8")
    text = program("x = x[0]\nreturn x / len(x)", before="from data import Batch")
    request = request_in(tmp_path, new="x.shape[0]", text=text)
    inputs = Snippet("(Batch([torch.rand(4, 3)]))", 1)
    recipe = dataclasses.replace(request.target.recipe, inputs=inputs)
    target = dataclasses.replace(request.target, recipe=recipe)
    request = dataclasses.replace(request, target=target, edited_target=target)
    known = proven(request)
    proven(dataclasses.replace(request, edited={request.file: text.replace("len(x)", "x.size(0)")}), known)


def test_inputs_of_an_older_text_are_tried_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = proven(request_in(tmp_path, new="x.shape[0]"))
    changed = MODEL.replace(FORWARD, f"x = x + 1\n        {FORWARD}")
    monkeypatch.setattr(trial_inputs, "candidates", lambda *_: iter(()))
    monkeypatch.setattr(trial_inputs, "solutions", lambda *_: iter(()))
    proven(request_in(tmp_path, new="x.size(0)", text=changed), known)
    with pytest.raises(ProofEnded, match="no inputs were found"):
        proven(request_in(tmp_path, new="x.size(0)", text=changed))


def test_inputs_of_an_older_text_that_no_longer_fit_are_not_used(tmp_path: Path) -> None:
    known = proven(request_in(tmp_path, new="x.shape[0]"))
    text = program("assert x.dim() == 4\nreturn x / len(x)")
    told = proven(request_in(tmp_path, new="x.size(0)", text=text), known)
    (found,) = unpacked(told.pickled).inputs.values()
    assert {len(given.args or [*given.kwargs.values()]) for given in found.inputs} == {1}
    assert {next(iter([*given.args, *given.kwargs.values()])).dim() for given in found.inputs} == {4}


def test_what_leads_one_twin_another_way_is_scaled_for_the_next() -> None:
    frames, width = Size("Video", ("frames",), 16), Size("Video", ("width",), 512)
    first, second = {frames: 4, width: 20}, {frames: 5, width: 30}
    known = Findings()
    known.accept({}, [Input((torch.ones(2, 3, 512),), {})])
    known.accept(first, [Input((torch.ones(2, size, 20),), {}) for size in (3, 4, 3)])
    known.accept(second, [Input((torch.ones(2, 7, 30),), {})])
    shapes = [tuple(given.args[0].shape) for given in known.other_inputs(second)]
    assert shapes[0] == (2, 5, 30)
    assert (2, 7, 30) not in shapes
    assert next(known.similar_inputs(second)).args[0].shape == (2, 7, 30)
