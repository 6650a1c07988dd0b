"""yacs's configurations can be merged and frozen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.importing.stand_ins import StandIn

CfgNode: Any = StandInModule("yacs.config").CfgNode


def made() -> Any:
    return CfgNode({"WIDTH": 8, "NAME": "net", "MODEL": {"DEPTH": 2, "SIZES": [1, 2], "LR": 0.1, "DEEP": False}})


def test_a_frozen_one_accepts_no_change() -> None:
    cfg = made()
    cfg.freeze()
    with pytest.raises(AttributeError):
        cfg.MODEL.DEPTH = 3
    assert (cfg.is_frozen(), cfg.clone().is_frozen()) == (True, True)
    cfg.defrost()
    cfg.MODEL.DEPTH = 3
    assert (cfg.MODEL.DEPTH, cfg["MODEL"]["DEPTH"]) == (3, 3)


def test_a_clone_is_another() -> None:
    cfg = made()
    clone = cfg.clone()
    clone.MODEL.DEPTH = 5
    assert cfg.MODEL.DEPTH == 2
    assert isinstance(clone.MODEL, CfgNode)


def test_merging_a_list_and_another() -> None:
    cfg = made()
    cfg.merge_from_list(["MODEL.DEPTH", "4", "NAME", "other", "MODEL.SIZES", "(3, 4)"])
    cfg.merge_from_other_cfg(CfgNode({"MODEL": {"LR": 1.0}}))
    assert cfg == {"WIDTH": 8, "NAME": "other", "MODEL": {"DEPTH": 4, "SIZES": [3, 4], "LR": 1.0, "DEEP": False}}
    with pytest.raises(KeyError):
        cfg.merge_from_other_cfg({"NEW": 1})
    with pytest.raises(KeyError):
        cfg.merge_from_list(["MODEL.NEW", 1])
    cfg.set_new_allowed(True)
    cfg.merge_from_other_cfg({"MODEL": {"NEW": {"X": 1}}})
    assert cfg.MODEL.NEW.X == 1


def test_a_value_of_another_type_is_unknown() -> None:
    cfg = made()
    cfg.merge_from_list(["MODEL.DEPTH", "deep", "MODEL.DEEP", 1])
    assert isinstance(cfg.MODEL.DEPTH, StandIn)
    assert isinstance(cfg.MODEL.DEEP, StandIn)
    assert isinstance(cfg.dump(), StandIn)


def test_merging_a_file_and_its_base(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "base.yaml").write_text("WIDTH: 16\nMODEL:\n  DEPTH: 6\n", encoding="utf-8")
    (tmp_path / "net.yaml").write_text("_BASE_: base.yaml\nMODEL:\n  DEPTH: 7\n", encoding="utf-8")
    cfg = made()
    cfg.merge_from_file(str(tmp_path / "net.yaml"))
    assert (cfg.WIDTH, cfg.MODEL.DEPTH, cfg.MODEL.SIZES) == (16, 7, [1, 2])
    with pytest.raises(FileNotFoundError):
        cfg.merge_from_file(str(tmp_path / "nothing.yaml"))
    (tmp_path / "list.yaml").write_text("_BASE_: [base.yaml, net.yaml]\nWIDTH: 1\n", encoding="utf-8")
    cfg.merge_from_file(str(tmp_path / "list.yaml"))
    assert (cfg.WIDTH, cfg.MODEL.DEPTH) == (1, 7)


def test_values_are_unknown_if_nothing_can_read_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    cfg = made()
    cfg.merge_from_file("net.yaml")
    assert isinstance(cfg.WIDTH, StandIn)
    assert isinstance(cfg.MODEL.DEPTH, StandIn)


def test_a_clone_has_the_class_of_the_original() -> None:
    class Own(CfgNode):  # type: ignore[misc]
        def double(self) -> Any:
            return 2 * self.WIDTH

    assert Own({"WIDTH": 3}).clone().double() == 6


def test_keys_may_have_had_other_names() -> None:
    cfg = made()
    cfg.register_renamed_key("DEPTH", "MODEL.DEPTH")
    cfg.register_deprecated_key("HEIGHT")
    cfg.register_deprecated_key("MODEL.HEIGHT")
    cfg.clone().merge_from_other_cfg({"HEIGHT": 3, "MODEL": {"HEIGHT": 3}})
    cfg.merge_from_list(["MODEL.HEIGHT", "3"])
    assert cfg == made()
    with pytest.raises(KeyError):
        cfg.MODEL.merge_from_other_cfg({"HEIGHT": 3})
    assert isinstance(cfg.load_yaml_with_base("net.yaml"), StandIn)
