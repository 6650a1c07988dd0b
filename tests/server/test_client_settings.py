"""Settings of clients that are slow, that push what is not ours, or that can't be asked."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import pytest
import pytest_asyncio
from lsprotocol import types

from fx_lsp.server import client_settings
from fx_lsp.server.client_settings import configure
from fx_lsp.server.language_server import FxLanguageServer
from fx_lsp.server.session import ClientSession
from fx_lsp.settings.settings import Settings
from tests.server.sessions import session_of


class FakeServer:
    """A server whose client answers when a test says so."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session
        self.asked: list[asyncio.Future[Sequence[Any]]] = []
        self.shown: list[str] = []

    async def workspace_configuration_async(self, params: types.ConfigurationParams) -> Sequence[Any]:
        self.asked.append(asyncio.get_running_loop().create_future())
        return await self.asked[-1]

    def window_show_message(self, params: types.ShowMessageParams) -> None:
        self.shown.append(params.message)

    def configure(self, pushed: Any = None) -> "asyncio.Task[None]":
        return asyncio.ensure_future(configure(cast(FxLanguageServer, self), pushed))


def settings(server: FakeServer) -> Settings:
    return server.session.settings


async def step() -> None:
    """Let everything happen that can."""
    for _ in range(10):
        await asyncio.sleep(0)


OPTIONS = {"trace": "onSave", "hover": False}


@pytest_asyncio.fixture
async def asking() -> AsyncIterator[FakeServer]:
    """A server whose client can be asked."""
    capabilities = types.ClientCapabilities(types.WorkspaceClientCapabilities(configuration=True))
    server = FakeServer(session_of(capabilities, OPTIONS))
    yield server
    await server.session.close()


@pytest_asyncio.fixture
async def told() -> AsyncIterator[FakeServer]:
    """A server whose client only pushes settings."""
    server = FakeServer(session_of(types.ClientCapabilities(), OPTIONS))
    yield server
    await server.session.close()


async def test_an_answer_that_comes_late_is_applied_then(asking: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_settings, "CONFIGURATION_SECONDS", 0.0)
    await asking.configure()
    assert asking.session.configured
    assert settings(asking).trace == "onSave", "the options count until then"
    asking.asked[0].set_result([{"trace": "manual"}])
    await step()
    assert settings(asking).trace == "manual"

    await asking.configure()
    assert settings(asking).trace == "manual", "what is known so far counts"
    asking.asked[1].set_result([{"trace": "onType"}])
    await step()
    assert settings(asking).trace == "onType"


async def test_the_answer_to_an_earlier_request_does_not_count(
    asking: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_settings, "CONFIGURATION_SECONDS", 0.0)
    for _ in range(2):
        await asking.configure()
    asking.asked[1].set_result([{"trace": "manual"}])
    await step()
    asking.asked[0].set_result([{"trace": "onType"}])
    await step()
    assert settings(asking).trace == "manual"


async def test_a_client_that_refuses_to_answer_keeps_its_settings(asking: FakeServer) -> None:
    for answer in ([{"trace": "manual"}], OSError("no")):
        task = asking.configure()
        await step()
        if isinstance(answer, OSError):
            asking.asked[-1].set_exception(answer)
        else:
            asking.asked[-1].set_result(answer)
        await task
        assert settings(asking).trace == "manual"


@pytest.mark.parametrize("pushed", [None, {}, {"pylsp": {"plugins": {}}}, {"fxLsp": None}, "nonsense"])
async def test_a_notification_about_something_else_changes_nothing(told: FakeServer, pushed: Any) -> None:
    await told.configure()
    assert (settings(told).trace, settings(told).hover) == ("onSave", False)
    await told.configure({"fxLsp": {"trace": "manual"}})
    await told.configure(pushed)
    assert (settings(told).trace, settings(told).hover) == ("manual", False)


@pytest.mark.parametrize("pushed", [{"fxLsp": {"trace": "manual"}}, {"trace": "manual", "other": 1}])
async def test_settings_that_are_pushed_override_the_options(told: FakeServer, pushed: Any) -> None:
    await told.configure()
    await told.configure(pushed)
    assert (settings(told).trace, settings(told).hover) == ("manual", False)
    assert told.shown == []
    await told.configure({"fxLsp": 1})
    assert told.shown == ["fxLsp is not an object, so fx-lsp uses the default of every setting"]
