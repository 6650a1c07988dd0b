from fx_lsp.agent.messages import Costs, ModuleCosts, Tensors, Uncounted
from fx_lsp.analysis.costs.cost_texts import counted, flops, is_lower_bound, limits, size, tensors


def costs(flops: int | None, *uncounted: Uncounted, unknown: tuple[str, ...] = (), reason: str = "") -> Costs:
    return Costs(1, "key", (ModuleCosts("", "Net", flops=flops),), (), "x: [2]", uncounted, unknown, reason)


def test_large_numbers_are_shortened() -> None:
    numbers = (0, 999, 1000, 3_902, 999_499, 999_500, 999_999, 25_557_032, 7_000_000_000, 6_600_000_000_000_000)
    assert list(map(counted, numbers)) == ["0", "999", "1 k", "3.9 k", "999 k", "1 M", "1 M", "25.6 M", "7 G", "6.6 P"]


def test_sizes_are_in_binary_units() -> None:
    numbers = (0, 999, 1000, 1024, 1_022_000, 1_047_552, 102_228_128, 2**40)
    assert list(map(size, numbers)) == [
        "0 B",
        "999 B",
        "0.977 KiB",
        "1 KiB",
        "998 KiB",
        "0.999 MiB",
        "97.5 MiB",
        "1 TiB",
    ]


def test_tensors_have_their_size_by_dtype() -> None:
    assert tensors(Tensors()) == "0"
    assert tensors(Tensors(2000, {"float32": 4000, "float16": 2000})) == "2 k (3.91 KiB float32, 1.95 KiB float16)"


def test_operations_that_could_be_noticeably_more_are_at_least_so_many() -> None:
    relu, custom = Uncounted("aten.relu", 2, 20), Uncounted("mine.kernel", 1, 1)
    for told, text in (
        (costs(8_180_000_000), "8.18 GFLOPs"),
        (costs(999), "999 FLOPs"),
        (costs(None), ""),
        (costs(2000, relu), "2 kFLOPs"),
        (costs(1999, relu), "at least 2 kFLOPs"),
        (costs(0, relu), "at least 0 FLOPs"),
        (costs(2_000_000, custom), "at least 2 MFLOPs"),
        (costs(2_000_000, unknown=("nonzero",)), "at least 2 MFLOPs"),
    ):
        assert flops(told, told.modules[0]) == text
        assert is_lower_bound(told) == text.startswith("at least")


def test_what_could_not_be_counted_is_said() -> None:
    assert limits(costs(5)) == []
    assert limits(costs(None, reason="it is too large")) == ["Not counted: it is too large."]
    assert limits(costs(5, unknown=("nonzero",))) == [
        "1 node was left out, because torch can't run it without data: nonzero."
    ]
    many = tuple(Uncounted(f"aten.op{number}", 2, 2000) for number in range(8))
    assert limits(costs(5, *many, unknown=("nonzero", "add"))) == [
        "2 nodes were left out, because torch can't run them without data: nonzero, add.",
        "The FLOPs leave out operators that torch has no formula for. Their results hold 16 k numbers: "
        "aten.op0 (2 × 1 k), aten.op1 (2 × 1 k), aten.op2 (2 × 1 k), aten.op3 (2 × 1 k), aten.op4 (2 × 1 k), "
        "aten.op5 (2 × 1 k) and 2 more.",
    ]
