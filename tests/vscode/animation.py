"""Puts the pictures that animation.mjs took together. Usage: animation.py FOLDER OUTPUT"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PIL import Image

COLOURS = 64


def write(folder: Path, output: Path) -> None:
    """Write ``output`` (a GIF that goes on for ever) from the pictures and times of ``folder / "frames.json"``."""
    frames = json.loads((folder / "frames.json").read_text(encoding="utf-8"))
    pictures = [Image.open(frame["file"]).convert("RGB") for frame in frames]
    # One palette for all of them, from all of them: what stays as it was is then stored once.
    together = Image.new("RGB", (pictures[0].width, sum(picture.height for picture in pictures[::8])))
    for index, picture in enumerate(pictures[::8]):
        together.paste(picture, (0, index * picture.height))
    palette = together.quantize(COLOURS)
    first, *others = (picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures)
    times = [frame["ms"] for frame in frames]
    first.save(output, save_all=True, append_images=others, duration=times, loop=0, optimize=True)


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
