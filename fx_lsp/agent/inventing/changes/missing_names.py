"""Changes that provide what the program looked up in vain: a keyword argument, or an attribute of settings."""

from __future__ import annotations

from collections.abc import Iterator

from fx_lsp.agent.inventing.argument_kinds import OF_SETTINGS
from fx_lsp.agent.inventing.argument_plan import ArgumentPlan
from fx_lsp.agent.inventing.changes.change import Change
from fx_lsp.agent.inventing.error_values import frames_of, path_of


def looked_up(error: BaseException, plan: ArgumentPlan) -> Iterator[Change]:
    """What the program looked up without success: a keyword argument, or an attribute of an object of settings.

    It may have copied the settings whose names it asked for last, with its own spelling: ``{k.lower(): v for …}``.
    """
    wanted = _name_looked_up(error)
    if not wanted.isidentifier():
        return
    yield Change(extra=plan.taken([wanted]))
    path = path_of(getattr(error, "obj", None), plan.made)
    kind = plan.kinds[path].name if path in plan.kinds else ""
    if kind in OF_SETTINGS or kind == "object":  # a class of its own, without this
        yield Change(path, settings=(wanted,))
    elif not path:
        names = dict.fromkeys((wanted, wanted.upper()))
        yield from (Change(copied, settings=(name,)) for copied in plan.last_unpacked for name in names)


def _name_looked_up(error: BaseException) -> str:
    """The name of the attribute or key that was not found; empty if ``error`` is about something else.

    An AttributeError that a program's own ``__getattr__`` raises does not have the name, but the method received it.
    """
    found: object = None
    if isinstance(error, KeyError):
        found = next(iter(error.args), None)
    elif isinstance(error, AttributeError) and error.name is not None:
        found = error.name
    elif isinstance(error, AttributeError):
        getters = [frame for frame in frames_of(error.__traceback__)[:1] if frame.f_code.co_name == "__getattr__"]
        found = next((frame.f_locals.get(frame.f_code.co_varnames[1]) for frame in getters), None)
    return found if isinstance(found, str) else ""
