from pathlib import Path
from typing import Any

from fx_lsp.interpreters.interpreter_choice import Interpreter
from fx_lsp.interpreters.recent_choices import RecentChoices


def test_a_choice_is_made_again_after_a_while_and_when_it_is_forgotten() -> None:
    made: list[tuple[Path, Any]] = []
    time = [0.0]

    def choose(file: Path, root: Path, *, setting: Any, selected: Any) -> Interpreter:
        made.append((file, setting))
        return Interpreter((str(len(made)),), "a test")

    choices = RecentChoices(choose, seconds=1, now=lambda: time[0])

    def chosen(file: str, setting: list[str] | None = None) -> str:
        return choices.of(Path(file), Path("/"), setting=setting or [], selected=()).command[0]

    assert [chosen("/a"), chosen("/a"), chosen("/b"), chosen("/a", ["py"]), chosen("/a")] == ["1", "1", "2", "3", "1"]
    time[0] = 0.9
    assert chosen("/a") == "1"
    time[0] = 1.1
    assert [chosen("/a"), chosen("/b")] == ["4", "5"]
    choices.forget()
    assert chosen("/a") == "6"
    assert len(made) == 6
