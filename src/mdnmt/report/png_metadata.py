"""Read the size and the text metadata of a figure's PNG."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mdnmt.fsio import DamagedFile


@dataclass(frozen=True)
class Picture:
    """What the page needs from a PNG besides its bytes.

    Attributes:
        width: in pixels.
        height: in pixels.
        texts: keyword -> text, from its metadata.
    """

    width: int
    height: int
    texts: dict[str, str]


def read_picture(path: Path) -> Picture:
    """Return the size and the text metadata of a PNG.

    Raises:
        DamagedFile: it is truncated or not a picture.
    """
    from PIL import Image

    try:
        with Image.open(path) as picture:
            texts = {key: str(value) for key, value in getattr(picture, "text", {}).items()}
            return Picture(*picture.size, texts)
    except (OSError, SyntaxError, ValueError) as error:  # what Pillow raises for broken files
        raise DamagedFile(path, f"is truncated or no picture ({error})") from error
