"""Changes of inputs that a program does not accept, the likeliest first.

Sizes come from the error's text, which usually names the sizes that do not fit, and from the layers.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fx_lsp.agent.searching.wanted_inputs import (
    KINDS,
    LARGEST,
    NUMBER,
    Kind,
    Path,
    TensorLike,
    Wanted,
    is_shape,
    without_indices,
)
from fx_lsp.agent.searching.written_lists import MOST_ITEMS

MOST_IN_PROPORTION = 5
"""How many of the sizes that an error names are compared with each other."""

SMALL_SIDE = 16
"""The side of the smallest image that is tried instead of a larger one."""

PARTS = (8, 4, 2, 1)
"""The second of two sizes whose product is known."""

_ABOUT_KIND = re.compile(r"dtype|long|int|float|bool|indices|type|index out|attribute|\(-?\d+\.\d", re.IGNORECASE)
"""Also a fraction in parentheses, which is no size."""

_ABOUT_DIMENSIONS = re.compile(r"dimension|too many indices|unpack|\bdims?\b|\dD\b", re.IGNORECASE)

_WIDTHS = (
    re.compile(r"to have (?P<wanted>\d+) channels, but got (?P<found>\d+)"),
    re.compile(r"multiplied \(\d+x(?P<found>\d+) and (?P<wanted>\d+)x"),
    re.compile(r"reduction dim, but got \[\d+, (?P<found>\d+)\] X \[(?P<wanted>\d+), "),  # on the meta device
    re.compile(r"batch2 tensor to be: \[\d+, (?P<found>\d+)\] but got: \[\d+, (?P<wanted>\d+)\]"),
)

_MISMATCH = re.compile(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)")

_MISMATCH_ON_META = re.compile(r"dimension of length (\d+) at -(\d+)! .* broadcastable to \[([\d, ]+)\]")

_UNBATCHED = re.compile(r"expected input\[1, ([\d, ]+)\]")
"""A convolution names the shape of an input that has no batch with a 1 in front."""

_WEIGHT = re.compile(r"weight of size \[([\d, ]+)\]")

_ABOUT_LENGTH = re.compile(r"(list|tuple) index out of range|not enough values to unpack|shorter than argument")

_OUT_OF_BOUNDS = re.compile(r"index (\d+) is out of bounds for dimension \d+ with size (\d+)")

_NO_CLASS = re.compile(r"Target (\d+) is out of bounds")
"""A loss names a label that is none of its classes."""

_NO_ROW = "index out of range in self"
"""An embedding names neither the index nor how many rows it has. The program may have added something to the index."""

FEW_ROWS = (16, 2)
"""What indices are less than that are tried instead of those that are too large for an embedding."""

_ABOUT_LENGTHS = re.compile(
    r"integer tensors of a single element can be converted to an index|\blengths\b|[Ll]ength of all samples"
)
"""The errors of a slice with a bound that is no number, and of torch's functions that pack sequences."""

_ABOUT_INTS = re.compile(r"\bints?\b|\bintegers?\b")

_TOO_SMALL = (
    re.compile(r"input size per channel: \(([\dx ]+)\)\. Kernel"),
    re.compile(r"input size: \(\d+([\dx]+)\)\. Calculated out"),
    re.compile(r"input image \(([^)]+)\) smaller than kernel"),
    re.compile(r"input with spatial size \(([\d, ]+)\)"),
)
"""The size of an image, or of what else a convolution or a pooling passes over, that is smaller than one window."""

_TOO_SMALL_TO_PAD = re.compile(r"at dimension (\d+) of input (?:torch\.Size\()?\[([\d, ]+)\]")
"""An image whose border, as wide as the padding, can't be reflected."""

LARGER = (16, 64, 256)
"""The sizes to try in all dimensions of such an image."""

_NUMBER = re.compile(r"(?<![\w.])\d{1,5}(?![\w.])|(?<=\dx)\d{1,5}\b|\b\d{1,5}(?=x\d)")

_VIEW = re.compile(r"shape '\[([\d, ]+)\]' is invalid for input of size (\d+)")

_PARTS = re.compile(r"split_sizes=\[([\d, ]+)\]")
"""torch's message about the sizes of the parts of a tensor that don't add up to its size."""

_SHAPE = re.compile(r"[\[(](\d{1,7}(?:, ?\d{1,7})*),?[\])]")


class ErrorText:
    """What an error says: its text, and the numbers and shapes that the check that raised it compares."""

    def __init__(self, text: str, numbers: Sequence[int], checked: Sequence[tuple[int, ...]] = ()) -> None:
        self.checked = checked
        """The shapes, or parts of shapes, that a check compares."""
        self.compared = [number for number in numbers if number > 0]
        """The numbers that it compares, and those that these are computed from."""
        is_mute = text.endswith(": ")  # a check without a message, which may be about values
        self.about_kind = is_mute or _ABOUT_KIND.search(text) is not None
        self.about_dimensions = _ABOUT_DIMENSIONS.search(text) is not None
        self.about_length = _ABOUT_LENGTH.search(text) is not None
        self.about_lengths = _ABOUT_LENGTHS.search(text) is not None
        self.about_ints = _ABOUT_INTS.search(text) is not None
        shapes = [tuple(map(int, found.split(","))) for found in _SHAPE.findall(text)]
        weights = [tuple(map(int, found.split(","))) for found in _WEIGHT.findall(text)]
        self.shapes = [shape for shape in dict.fromkeys(shapes) if is_shape(shape) and shape not in weights]
        self.elements = [
            (math.prod(map(int, view.split(","))), int(found)) for view, found in _VIEW.findall(text) if "-" not in view
        ]
        """How many elements a tensor would need for a view, and how many it has."""
        self.widths = widths_in(text)
        """How wide the input of a layer would have to be, and how wide it is."""
        self.unlike = _unlike_in(text)
        """The sizes of two tensors that would have to be the same."""
        self.unbatched = [tuple(map(int, found.split(","))) for found in _UNBATCHED.findall(text)]
        """The shapes of inputs that a convolution has taken for one item of a batch."""
        self.too_small = _too_small_in(text)
        """How many dimensions the image may have that is too small; none if the error is about something else."""
        long_enough = [int(index) + 1 for index, _ in _OUT_OF_BOUNDS.findall(text)]
        self.below = [int(label) for label in _NO_CLASS.findall(text)]
        self.below += [int(size) for _, size in _OUT_OF_BOUNDS.findall(text)]
        self.below += FEW_ROWS if _NO_ROW in text else ()
        """What labels and other indices may have to be less than."""
        joined = [sum(map(int, parts.split(","))) for parts in _PARTS.findall(text)]
        sizes = [*joined, *numbers, *long_enough, *map(int, _NUMBER.findall(text)), *_products(shapes)]
        self.sizes = [size for size in dict.fromkeys(sizes) if 0 < size <= LARGEST]


def widths_in(text: str) -> list[tuple[int, int]]:
    """How wide the input of a layer would have to be, and how wide it is, as an error says."""
    found = (match for pattern in _WIDTHS for match in pattern.finditer(text))
    return [(int(width["wanted"]), int(width["found"])) for width in found if int(width["found"]) > 0]


def _unlike_in(text: str) -> list[tuple[int, int]]:
    """The sizes of two tensors that would have to be the same, as an error says."""
    on_meta = ((one, shape.split(",")[-int(dim)]) for one, dim, shape in _MISMATCH_ON_META.findall(text))
    return [(int(one), int(other)) for one, other in (*_MISMATCH.findall(text), *on_meta)]


def _too_small_in(text: str) -> list[int]:
    """How many of the last dimensions of an input may be too small, as an error says."""
    found = [re.findall(r"\d+", match[1]) for pattern in _TOO_SMALL for match in pattern.finditer(text)]
    # torch gives sequences a height of 1 before it pools them.
    counts = [count for sizes in filter(None, found) for count in {len(sizes), len(sizes) - (sizes[0] == "1")}]
    padded = [(int(dim), shape.split(",")) for dim, shape in _TOO_SMALL_TO_PAD.findall(text)]
    return sorted(count for count in [*counts, *(len(shape) - dim for dim, shape in padded)] if count > 0)


def _products(shapes: Sequence[tuple[int, ...]]) -> Iterator[int]:
    """The products of neighbouring sizes: ``view(batch, height, width, channels)`` needs height * width tokens."""
    for shape in shapes:
        for start, end in itertools.combinations(range(len(shape) + 1), 2):
            if end - start > 1:
                yield math.prod(shape[start:end])


def other_tensors(like: TensorLike, told: ErrorText, widths: Sequence[int]) -> Iterator[TensorLike]:
    """Other tensors to try instead of ``like``, the likeliest first."""
    kinds = [of_kind(like, kind) for kind in KINDS if kind != like.kind]
    if like.kind == "none":  # it has no shape
        wide = [shape for width, _ in told.widths for shape in ((2, 16, width), (2, width))]
        yield from (TensorLike(shape) for shape in wide)
        yield from kinds
        return
    if like.kind == "number":
        yield from (replace(like, shape=(number,)) for number in _numbers(like.shape[0], told))
        yield from kinds
        return
    if like.kind == "index":
        yield from (replace(like, below=below) for below in told.below if below and below != like.below)
    shape = like.shape
    batch = shape[:1] if len(shape) > 1 else (2,)
    if like.kind == "length":
        yield from (replace(like, below=size) for size in told.sizes if size != like.below)
    elif told.about_lengths:
        yield from (TensorLike(few, "length") for few in dict.fromkeys([batch, shape]) if len(few) == 1)
    if told.about_kind:
        yield from kinds
    usual = [usual for width in widths for usual in ((*batch, width, 8, 8), (*batch, 16, width))]
    shapes = [(*shape[:-count], *[size] * count) for count in told.too_small for size in LARGER if count < len(shape)]
    shapes += [
        with_size(shape, dim, new) for new, old in told.widths for dim, size in enumerate(shape) if dim and size == old
    ]
    shapes += [
        with_size(shape, dim, size + new - old)  # the width may be that of several inputs that are joined
        for new, old in told.widths
        for dim, size in enumerate(shape)
        if dim and 0 < size + new - old < new
    ]
    shapes += _about_as_wide(shape, told.widths)
    shapes += [
        with_size(shape, dim, size + more)  # the input may be joined with others along this dimension
        for one, other in told.unlike
        for more in (other - one, one - other)
        for dim, size in enumerate(shape)
        if dim and size + more > 0
    ]
    shapes += [other for part in told.checked for other in ((*shape[: -len(part)], *part), (*batch, *part))]
    if shape in told.unbatched:
        shapes += [(*batch, new, *shape[1:]) for new, _ in told.widths]
    narrower = [(*shape[:dim], *shape[dim + 1 :]) for dim in range(1, len(shape) - 1)]
    shapes += narrower if told.about_dimensions else []
    likely = [*(new for new, _ in told.widths), *shape[-1:]]
    shapes += [other for width in likely for other in ((*batch, width), (*batch, 16, width))]  # vectors
    shapes += told.shapes
    shapes += _with_other_sides(shape, told)
    shapes += [with_size(shape, dim, size) for size in told.sizes for dim in reversed(range(len(shape)))]
    shapes += [with_size(shape, dim, size) for dim, size in _in_proportion(shape, told.sizes)]
    shapes += _with_areas(shape, told)
    shapes += _with_products(shape, told.sizes)
    shapes += usual if told.about_dimensions else []
    shapes += narrower
    shapes += [with_size(shape, dim, 1) for dim in range(1, len(shape))]
    shapes += [shape[1:], shape[:-1], (*shape[:1], 1, *shape[1:]), (*shape, 1)]
    shapes += [(*shape, width) for width in widths]
    shapes += [with_size(shape, dim, width) for width in widths for dim in reversed(range(1, len(shape)))]
    shapes += [(2, 16), (2,), (2, 16, 16), (2, 3, 32, 32), (2, 3, 8, 32, 32), *usual, ()]
    for other in dict.fromkeys(shapes):
        if other != shape and is_shape(other):
            yield replace(like, shape=other)
    if not told.about_kind:
        yield from kinds


def of_kind(like: TensorLike, kind: Kind) -> TensorLike:
    """``like`` with other values; a number is at first the same for all inputs."""
    return replace(like, kind=kind, shape=(NUMBER,) if kind == "number" else like.shape)


def alike_to(like: TensorLike) -> TensorLike:
    """The same for all inputs that may have to change together: equal numbers, and tensors of the same shape."""
    return like if like.kind == "number" else TensorLike(like.shape)


def _numbers(number: int, told: ErrorText) -> Iterator[int]:
    """Other numbers to try instead of ``number``: sizes, the height or width of a square, and in proportion."""
    squares = [math.isqrt(size) for size in told.sizes if math.isqrt(size) ** 2 == size]
    scaled = [number * math.isqrt(found * wanted) // wanted for wanted, found in told.elements]
    yield from (other for other in dict.fromkeys([*scaled, *told.sizes, *squares, 1]) if 0 < other != number)


def with_one_changed(wanted: Wanted, name: tuple[str | None, ...], others: Iterable[TensorLike]) -> Iterator[Wanted]:
    """The inputs with each of ``others`` in turn instead of the one that is called ``name``."""
    for new in others:
        yield {path: new if without_indices(path) == name else like for path, like in wanted.items()}


def with_item_changed(wanted: Wanted, path: Path, others: Iterable[TensorLike]) -> Iterator[Wanted]:
    """The inputs with each of ``others`` in turn instead of the one at ``path``."""
    for new in others:
        yield {**wanted, path: new}


def with_alike_changed(wanted: Wanted, alike: TensorLike, others: Iterable[TensorLike]) -> Iterator[Wanted]:
    """The inputs with the shape of each of ``others`` in turn instead of those that are ``alike``."""
    for new in others:
        yield {
            path: replace(like, shape=new.shape) if alike_to(like) == alike else like for path, like in wanted.items()
        }


def with_shared_sizes(wanted: Wanted, told: ErrorText) -> Iterator[Wanted]:
    """The inputs with another size that is ``told`` instead of one that is in several inputs, wherever it is.

    The size of the first dimension of the first input, probably the batch size, stays. At first, the new size
    is in proportion to the widths that do not fit: where two inputs of equal width are joined, it is half of the old.
    """
    sizes = told.sizes
    counts = Counter(size for like in wanted.values() for size in {*like.shape})
    batch = next((like.shape[:1] for like in wanted.values()), ())
    shared = [size for size in sizes if counts[size] > 1 and size not in batch]
    shared += [size for size, count in counts.items() if count > 1 and size not in (*shared, *batch, 1)]
    for old in shared:
        scaled = [old * width // found for width, found in told.widths if old * width % found == 0]
        for new in dict.fromkeys([*scaled, *sizes]):
            changed = {
                path: replace(like, shape=tuple(new if size == old else size for size in like.shape))
                for path, like in wanted.items()
            }
            if old != new:
                yield from _possible(changed)


def with_width_moved(wanted: Wanted, sizes: Sequence[int]) -> Iterator[Wanted]:
    """The inputs with one that is as wide as one of ``sizes`` made as wide as another, and another input narrower.

    Where two inputs are joined, such as what a cell gets and its state, the sum of their widths stays the same.
    """
    likes = _given(wanted)
    for (name, like), (other, narrowed) in itertools.permutations(likes.items(), 2):
        for dim in range(1, min(len(like.shape), len(narrowed.shape))):
            old, rest = like.shape[dim], narrowed.shape[dim]
            for new in sizes if old in sizes else ():
                if new != old and rest + old - new > 0:
                    moved = {
                        name: with_size(like.shape, dim, new),
                        other: with_size(narrowed.shape, dim, rest + old - new),
                    }
                    yield from _possible(
                        {
                            path: replace(one, shape=moved.get(without_indices(path), one.shape))
                            for path, one in wanted.items()
                        }
                    )


def with_last_sizes(wanted: Wanted, sizes: Sequence[int]) -> Iterator[Wanted]:
    """The inputs with one of ``sizes`` as the last size of all those that share theirs, such as the 4 of boxes."""
    counts = Counter(like.shape[-1:] for like in wanted.values())
    for (old, count), new in itertools.product(counts.items(), sizes):
        if count > 1 and old not in ((), (new,)):
            yield from _possible(
                {
                    path: replace(like, shape=(*like.shape[:-1], new)) if like.shape[-1:] == old else like
                    for path, like in wanted.items()
                }
            )


def with_other_dimensions(wanted: Wanted) -> Iterator[Wanted]:
    """All inputs, or all items of one list, without one of their dimensions, or with one more."""
    lists = dict.fromkeys(path[:1] for path in wanted if len(path) > 1)
    groups = [[path for path in wanted if path[:1] == start] for start in lists] + [list(wanted)]
    longest = max((len(like.shape) for like in wanted.values()), default=0)
    for group, dim in itertools.product(groups, range(longest)):
        shapes = {path: wanted[path].shape for path in group if wanted[path].kind not in ("number", "none")}
        fewer = {path: (*shape[:dim], *shape[dim + 1 :]) for path, shape in shapes.items()}
        more = {path: (*shape[:dim], 1, *shape[dim:]) for path, shape in shapes.items()}
        for changed in (fewer, more):
            yield from _possible(
                {path: replace(like, shape=changed.get(path, like.shape)) for path, like in wanted.items()}
            )


def with_smaller_images(wanted: Wanted) -> Iterator[Wanted]:
    """``wanted`` with smaller square images, the smallest first; all tensors with their sides change."""
    shapes = [like.shape for like in wanted.values()]
    for side in dict.fromkeys(shape[-1] for shape in shapes if len(shape) > 2 and shape[-2] == shape[-1]):
        for smaller in dict.fromkeys(size for size in (SMALL_SIDE, side // 4, side // 2) if SMALL_SIDE <= size < side):
            yield {path: replace(like, shape=_with_sides(like.shape, side, smaller)) for path, like in wanted.items()}


def _with_sides(shape: tuple[int, ...], side: int, other: int) -> tuple[int, ...]:
    """``shape`` with another size than ``side`` for the height and the width of an image."""
    return (*shape[:-2], other, other) if len(shape) > 2 and shape[-2:] == (side, side) else shape


def with_two_numbers(wanted: Wanted) -> Iterator[Wanted]:
    """The inputs with numbers instead of two of them, such as a height and a width."""
    for pair in itertools.combinations(_given(wanted), 2):
        yield {
            path: of_kind(like, "number") if without_indices(path) in pair else like for path, like in wanted.items()
        }


def with_two_broadcast(wanted: Wanted) -> Iterator[Wanted]:
    """The inputs with 1 as a size of two of them, in the same dimension, such as that of masks."""
    likes = _given(wanted)
    for pair in itertools.combinations(likes, 2):
        for dim in range(1, max(len(likes[name].shape) for name in pair)):
            yield {
                path: replace(like, shape=with_size(like.shape, dim, 1)) if without_indices(path) in pair else like
                for path, like in wanted.items()
            }


def with_longer_list(wanted: Wanted) -> Iterator[Wanted]:
    """The inputs with one more item in each list in turn, like its last one."""
    lasts = {path[:-1]: path for path in wanted if isinstance(path[-1], int)}
    for container, last in lasts.items():
        yield {**wanted, (*container, len([path for path in wanted if path[:-1] == container])): wanted[last]}


def with_other_lengths(wanted: Wanted, sizes: Sequence[int]) -> Iterator[Wanted]:
    """The inputs with another of ``sizes`` as the length of all lists whose length is one of them.

    A program may have a weight for each item of a list, such as that of an image's features at several scales.
    """
    lists: dict[Path, list[Path]] = {}
    for path in wanted:
        if isinstance(path[-1], int):
            lists.setdefault(path[:-1], []).append(path)
    lengths = dict.fromkeys(len(items) for items in lists.values() if len(items) in sizes)
    for old, new in itertools.product(lengths, sizes):
        if new != old and new <= MOST_ITEMS:
            resized = {items[0]: items for items in lists.values() if len(items) == old}
            left_out = {path for items in resized.values() for path in items[1:]}
            changed: dict[Path, TensorLike] = {}
            for path, like in wanted.items():
                if items := resized.get(path):
                    last = wanted[items[-1]]
                    changed |= {(*path[:-1], at): wanted[items[at]] if at < old else last for at in range(new)}
                elif path not in left_out:
                    changed[path] = like
            yield changed


def with_none_for_a_list(wanted: Wanted) -> Iterator[Wanted]:
    """The inputs with None instead of each list in turn."""
    for name in dict.fromkeys(path[:1] for path in wanted if isinstance(path[-1], int)):
        yield {
            **{path: like for path, like in wanted.items() if path[:1] != name},
            name: TensorLike((), "none"),
        }


def _given(wanted: Wanted) -> dict[tuple[str | None, ...], TensorLike]:
    """The inputs that are not None; of a list, the last item."""
    likes = {without_indices(path): like for path, like in wanted.items()}
    return {name: like for name, like in likes.items() if like.kind != "none"}


def _possible(wanted: Wanted) -> Iterator[Wanted]:
    """``wanted`` if all of its shapes can be tried."""
    if all(is_shape(like.shape) for like in wanted.values()):
        yield wanted


def _in_proportion(shape: tuple[int, ...], sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Other sizes for dimensions of ``shape``: what is 4 times as wide as it should be may be computed from a width."""
    for dim in reversed(range(len(shape))):
        for wanted, found in itertools.permutations(sizes[:MOST_IN_PROPORTION], 2):
            if shape[dim] * wanted % found == 0:
                yield dim, shape[dim] * wanted // found


def _about_as_wide(shape: tuple[int, ...], widths: Sequence[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """``shape`` with another length, or another side of an image, that changes a width about as much as it has to.

    What a layer gets may be what convolutions have left of an image, whose borders they cut off.
    """
    for wanted, found in widths:
        for dim in reversed(range(1, len(shape))):
            yield with_size(shape, dim, round(shape[dim] * wanted / found))
        if len(shape) > 2:
            yield (*shape[:-2], *(round(side * math.sqrt(wanted / found)) for side in shape[-2:]))


def _with_other_sides(shape: tuple[int, ...], told: ErrorText) -> Iterator[tuple[int, ...]]:
    """``shape`` with another size for both of its last dimensions, if these are equal: an image stays square.

    They may have to be less a number, such as what is left if they should be a multiple of another one.
    """
    if len(shape) > 2 and shape[-2] == shape[-1]:
        for side in dict.fromkeys([*(shape[-1] - number for number in told.compared), *told.sizes]):
            yield (*shape[:-2], side, side)


def _with_areas(shape: tuple[int, ...], told: ErrorText) -> Iterator[tuple[int, ...]]:
    """``shape`` with another height and width (its last two sizes) if the number of pixels has to change."""
    pairs = [*told.elements, *itertools.permutations(told.sizes[:MOST_IN_PROPORTION], 2)]
    pairs += [(wanted - 1, found - 1) for wanted, found in pairs if wanted > 1 and found > 1]  # with a class token
    for wanted, found in pairs if len(shape) > 2 else ():
        times, parts = math.isqrt(wanted * found), found
        height, width = shape[-2] * times, shape[-1] * times
        if times * times == wanted * found and height % parts == width % parts == 0:
            yield (*shape[:-2], height // parts, width // parts)


def _with_products(shape: tuple[int, ...], sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Other sizes for two neighbouring dimensions whose product, one of ``sizes``, may have to be another of them."""
    for dim in range(len(shape) - 1):
        if (product := shape[dim] * shape[dim + 1]) in sizes:
            for wanted, part in itertools.product(sizes, PARTS):
                if wanted != product and wanted % part == 0:
                    yield (*shape[:dim], wanted // part, part, *shape[dim + 2 :])


def with_size(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    """``shape`` with another size of the dimension ``dim``, if there is such a dimension."""
    return (*shape[:dim], size, *shape[dim + 1 :]) if dim < len(shape) else shape
