"""Puts pictures together into one that moves: ``python animation.py OUT.png FRAME=MILLISECONDS…`` (needs Pillow)."""

import sys

from PIL import Image


def main(out: str, *frames: str) -> None:
    """Write an animated PNG that plays ``frames`` for ever."""
    files, milliseconds = zip(*(frame.rsplit("=", 1) for frame in frames), strict=True)
    # One palette for all, so that what stays the same is the same in each.
    first, *others = [Image.open(file).convert("RGB") for file in files]
    palette = first.quantize(128)
    pictures = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in (first, *others)]
    pictures[0].save(
        out, save_all=True, append_images=pictures[1:], duration=[int(each) for each in milliseconds], loop=0
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
