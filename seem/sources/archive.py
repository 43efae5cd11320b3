"""The files of an export that comes as a folder or a zip archive, by name.

Takes a path, gives names with ways to read them. A part that is damaged, locked or larger than an export's part can be
is a ValueError that says so; a path that is neither is an InputError. Writes nothing and follows no name out of the
archive. Knows nothing about what the files hold.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from seem.errors import InputError

# No part of a chat export comes near this; a zip that unpacks to more is a mistake or an attack.
LARGEST = 1 << 30

Files = Mapping[str, Callable[[], bytes]]


def files(source: Path) -> Files:
    """Give the files below a folder or in a zip archive, sorted by name; names have ``/``."""
    try:
        if source.is_dir():
            return {
                path.relative_to(source).as_posix(): _reader(path)
                for path in sorted(source.rglob("*"))
                if path.is_file()
            }
        if not source.is_file():
            raise InputError(f"There is no file {str(source)!r}.")
        if not zipfile.is_zipfile(source):
            raise InputError(f"The file {str(source)!r} is neither a folder nor a zip archive.")
        with zipfile.ZipFile(source) as archive:
            names = sorted(info.filename for info in archive.infolist() if not info.is_dir())
        return {name: _unzipper(source, name) for name in names}
    except OSError as error:
        raise InputError(f"{str(source)!r} cannot be read: {error.strerror or error}.") from error
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"The archive {str(source)!r} cannot be read: {error}.") from error


def one(source: Path, pattern: str) -> bytes:
    """Give the bytes of a file, or of the one in a folder or archive whose last name matches ``pattern``."""
    try:
        if source.is_file() and not zipfile.is_zipfile(source):
            return _reader(source)()
        inside = files(source)
        names = [name for name in inside if re.fullmatch(pattern, name.rpartition("/")[2])]
        if len(names) != 1:
            count = "no file" if not names else f"{len(names)} files"
            raise InputError(f"{str(source)!r} holds {count} of the form {pattern}; name the file itself.")
        return inside[names[0]]()
    except (OSError, ValueError) as error:
        raise InputError(f"The file {str(source)!r} cannot be read: {error}.") from error


def _reader(path: Path) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            if path.stat().st_size > LARGEST:
                raise ValueError(f"it is larger than {LARGEST} bytes")
            return path.read_bytes()
        except OSError as error:
            raise ValueError(error.strerror or str(error)) from error

    return read


def _unzipper(source: Path, name: str) -> Callable[[], bytes]:
    def read() -> bytes:
        try:
            with zipfile.ZipFile(source) as archive:
                if archive.getinfo(name).file_size > LARGEST:
                    raise ValueError(f"it unpacks to more than {LARGEST} bytes")
                return archive.read(name)
        # An encrypted member is a RuntimeError, an unknown compression a NotImplementedError.
        except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError, KeyError) as error:
            raise ValueError(f"it cannot be unpacked: {error}") from error

    return read
