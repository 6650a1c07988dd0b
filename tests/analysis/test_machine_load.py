from pathlib import Path

import pytest

from fx_lsp.analysis import machine_load
from fx_lsp.analysis.machine_load import is_loaded


@pytest.mark.parametrize(("share", "loaded"), [("99.10", True), ("3.00", False)])
def test_pressure_tells_how_long_processes_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: str, loaded: bool
) -> None:
    pressure = tmp_path / "cpu"
    pressure.write_text(f"some avg10={share} avg60=50.00 avg300=12.07 total=226742264\nfull avg10=99.99 total=0\n")
    monkeypatch.setattr(machine_load, "PRESSURE", pressure)
    assert is_loaded() is loaded


@pytest.mark.parametrize(("per_processor", "loaded"), [(3, True), (1, False)])
def test_without_pressure_the_load_average_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, per_processor: int, loaded: bool
) -> None:
    monkeypatch.setattr(machine_load, "PRESSURE", tmp_path / "missing")
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.setattr("os.getloadavg", lambda: (4.0 * per_processor, 0.0, 0.0), raising=False)
    assert is_loaded() is loaded


def test_a_system_that_tells_neither_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_load, "PRESSURE", tmp_path / "missing")
    monkeypatch.setattr("sys.platform", "win32")
    assert not is_loaded()
