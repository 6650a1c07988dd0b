import pytest

from fx_lsp.documents.directives import directives_of
from fx_lsp.documents.expectations import expectations_of


def test_conditions_have_their_limits_and_places() -> None:
    arguments = "(parameters < 30M,  flops<=8.2G, peak < 1.5MiB , activations < 12)"
    found = expectations_of(arguments)
    assert found is not None
    assert [(str(one.quantity), int(one.limit), one.or_equal) for one in found] == [
        ("parameters", 30_000_000, False),
        ("flops", 8_200_000_000, True),
        ("peak", 3 * 2**19, False),
        ("activations", 12, False),
    ]
    assert all(arguments[one.start : one.start + len(one.text)] == one.text for one in found)


def test_the_limit_itself_is_allowed_only_where_that_is_said() -> None:
    below, most = expectations_of("(flops < 2k, flops <= 2k)") or ()
    assert [below.holds(number) for number in (1999, 2000, 2001)] == [True, False, False]
    assert [most.holds(number) for number in (1999, 2000, 2001)] == [True, True, False]


@pytest.mark.parametrize(
    "arguments", ["", "()", "(flops)", "(flops > 3)", "(flops < 3X)", "(width < 3)", "(flops < 3,)", "(flops < -3)"]
)
def test_what_is_no_condition_is_a_mistake(arguments: str) -> None:
    assert expectations_of(arguments) is None
    (mistake,) = directives_of(f"# fx: expect{arguments}\nclass Net: ...\n").mistakes
    assert mistake.reason == "`expect` takes conditions, e.g. `expect(parameters < 30M, flops < 5G, peak <= 100MiB)`"


def test_an_expectation_belongs_to_the_class_below() -> None:
    (directive,) = directives_of("# fx: expect(flops < 3)\nclass Net: ...\n").above["Net"]
    assert (directive.verb, directive.arguments) == ("expect", "(flops < 3)")
