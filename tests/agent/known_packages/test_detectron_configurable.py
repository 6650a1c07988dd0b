"""detectron2's constructors take a configuration instead of their arguments."""

from __future__ import annotations

from typing import Any

from fx_lsp.agent.importing.stand_in_modules import StandInModule

config: Any = StandInModule("detectron2.config")


class Head:
    @config.configurable  # type: ignore[untyped-decorator]
    def __init__(self, width: Any, depth: Any = 2) -> None:
        self.sizes = (width, depth)

    @classmethod
    def from_config(cls, cfg: Any, depth: Any = 3) -> dict[str, Any]:
        return {"width": cfg.WIDTH, "depth": depth}


def test_a_configuration_is_read_even_if_it_could_be_an_argument() -> None:
    cfg = config.CfgNode({"WIDTH": 8})
    assert Head(cfg).sizes == (8, 3)
    assert Head(cfg, 4).sizes == (8, 4)
    assert Head(8).sizes == (8, 2)
