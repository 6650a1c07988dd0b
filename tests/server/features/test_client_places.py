"""Paths and URIs of each system: those of Windows are simulated by its own path module and pygls's own switch."""

import ntpath
from types import SimpleNamespace

import pygls.uris
import pytest

from fx_lsp.documents.documents import Documents
from fx_lsp.server.features import client_places
from fx_lsp.server.features.client_places import ClientPlaces


@pytest.fixture
def places() -> ClientPlaces:
    return ClientPlaces(Documents("utf-16"))


@pytest.fixture
def _windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pygls.uris, "IS_WIN", True)
    monkeypatch.setattr(client_places, "os", SimpleNamespace(path=ntpath))


@pytest.mark.usefixtures("_windows")
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///c%3A/Users/me/mod%C3%A8les%20%231/net.py", "c:\\Users\\me\\modèles #1\\net.py"),  # VS Code
        ("file:///C:/Users/me/net.py", "c:\\Users\\me\\net.py"),  # Neovim
        ("file:///d:/a/../net.py", "d:\\net.py"),
        ("file://server/share/net.py", "\\\\server\\share\\net.py"),
    ],
)
def test_a_file_on_windows(places: ClientPlaces, uri: str, path: str) -> None:
    assert places.path(uri) == path
    assert places.uri(path) == uri, "as the client spells it"


@pytest.mark.usefixtures("_windows")
@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("C:\\Users\\me\\my net.py", "file:///c:/Users/me/my%20net.py"),
        ("\\\\server\\share\\net.py", "file://server/share/net.py"),
    ],
)
def test_a_file_on_windows_that_the_client_has_not_named(places: ClientPlaces, path: str, uri: str) -> None:
    assert places.uri(path) == uri
    found = places.path(uri)
    assert found is not None
    assert ntpath.normcase(found) == ntpath.normcase(path)


@pytest.mark.usefixtures("_windows")
def test_spellings_of_one_drive_are_one_file(places: ClientPlaces) -> None:
    assert places.path("file:///C%3A/net.py") == places.path("file:///c:/net.py")


@pytest.mark.parametrize("path", ["/home/me/a b#c?.py", "/home/me/50%.py", "/home/me/modèles/x.py", "/back\\slash.py"])
def test_a_file_elsewhere(places: ClientPlaces, path: str) -> None:
    assert places.path(places.uri(path)) == path


def test_what_is_no_file_has_no_path(places: ClientPlaces) -> None:
    assert places.path("untitled:Untitled-1") is None
    assert places.path("vscode-vfs://github/a/b.py") is None
