"""What depends on the place of a file still finds it, or does not take it for the user's, after files have moved."""

import sys
from pathlib import Path

import fx_lsp
import fx_lsp.agent
import fxcore
from fx_lsp import locations
from fx_lsp.agent.own_files import AGENT_FOLDER, is_own_file
from fx_lsp.agent.sandbox import audit_guard
from fx_lsp.agent.serving import warmup
from fx_lsp.rules import all_rules, rule_pages
from fx_lsp.workspace import file_digests
from fxcore.source import is_user_file

AGENT_FILES = sorted(Path(AGENT_FOLDER).rglob("*.py"))
CORE_FILES = sorted(locations.FXCORE_FOLDER.rglob("*.py"))


def test_folders_are_those_of_the_packages() -> None:
    assert [str(locations.SERVER_FOLDER)] == list(fx_lsp.__path__)
    assert [str(locations.AGENT_FOLDER)] == [AGENT_FOLDER] == list(fx_lsp.agent.__path__)
    assert [str(locations.FXCORE_FOLDER)] == list(fxcore.__path__)


def test_the_servers_digest_covers_all_of_its_files() -> None:
    files = sorted(locations.SERVER_FOLDER.rglob("*.py"))
    assert {Path(str(module.__file__)) for module in (file_digests, warmup, audit_guard)} <= set(files)
    assert file_digests.server_digest() == file_digests.digest(
        file_digests.sources_digest([locations.SERVER_FOLDER]), sys.version
    )


def test_frames_of_fxcore_are_not_the_users() -> None:
    assert len(CORE_FILES) > 100
    assert not [file for file in CORE_FILES if is_user_file(str(file))]
    assert is_user_file(__file__)


def test_the_agents_files_are_its_own() -> None:
    assert Path(str(audit_guard.__file__)) in AGENT_FILES
    assert all(is_own_file(str(file)) for file in AGENT_FILES)
    assert not any(map(is_own_file, [__file__, str(fxcore.__file__), AGENT_FOLDER + "s/mine.py"]))


def test_every_rule_finds_its_page() -> None:
    assert [rule.code for rule in all_rules() if rule_pages.page_file(rule) is None] == []
