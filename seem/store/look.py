"""A program of its own that looks for erased texts in files: what was looked for, where it still stands, in how many bytes.

Takes JSON on standard input (the texts as bytes in hexadecimal, the database, the files), gives JSON on standard output,
never a text. A process of its own, because closing a file drops the locks that SQLite holds on it in
the same process. What a database's rows still say is no residue. Knows no table; imports nothing of ours.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CHUNK = 1 << 20
_SQLITE = b"SQLite format 3\x00"
# A shorter string cannot be told from chance.
SHORTEST = 5
# So many are looked for one after the other: numpy takes longer to load than such a search.
_FEW = 48
# By so many of its first bytes a needle is found among many; those in between are found by the shorter head.
_WHOLE = 8
_HEADS = (_WHOLE, SHORTEST)
_TABLE_BITS = 20
_SPREAD = 0x9E3779B97F4A7C15


class Needles:
    """Byte strings of at least SHORTEST bytes, all found in one pass."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        """Take the strings; shorter ones are left out."""
        self.needles = sorted({needle for needle in needles if len(needle) >= SHORTEST})
        self.longest = max((len(needle) for needle in self.needles), default=0)

    def inside(self, data: bytes) -> set[bytes]:
        """Give those that the data holds."""
        if len(self.needles) <= _FEW:
            return {needle for needle in self.needles if needle in data}
        return self._sieve.inside(data)

    def inside_all(self, parts: Iterable[bytes]) -> set[bytes]:
        """Give those that a stream holds, also across the border of two parts."""
        found: set[bytes] = set()
        tail = b""
        for part in parts:
            data = tail + part
            found |= self.inside(data)
            tail = data[max(0, len(data) - self.longest + 1) :]
        return found

    @cached_property
    def _sieve(self) -> _Sieve:
        return _Sieve(self.needles)


class _Sieve:
    """Many needles by the hashes of their first bytes, at all places of some data at once."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        import numpy as np

        self._by_head: dict[int, dict[bytes, list[bytes]]] = {width: defaultdict(list) for width in _HEADS}
        for needle in needles:
            width = next(width for width in _HEADS if len(needle) >= width)
            self._by_head[width][needle[:width]].append(needle)
        self._tables = {width: np.zeros(1 << _TABLE_BITS, dtype=bool) for width in _HEADS if self._by_head[width]}
        for width, table in self._tables.items():
            heads = b"".join(head.ljust(_WHOLE, b"\0") for head in self._by_head[width])
            table[_slots(np.frombuffer(heads, "<u8"), width)] = True

    def inside(self, data: bytes) -> set[bytes]:
        import numpy as np

        found: set[bytes] = set()
        padded = data + bytes(_WHOLE)
        for width, table in self._tables.items():
            for offset in range(min(_WHOLE, len(data))):
                keys = np.frombuffer(padded, "<u8", (len(padded) - offset) // _WHOLE, offset)
                for number in np.flatnonzero(table[_slots(keys, width)]).tolist():
                    place = offset + number * _WHOLE
                    for needle in self._by_head[width].get(data[place : place + width], ()):
                        if needle not in found and data.startswith(needle, place):
                            found.add(needle)
        return found


def _slots(keys: npt.NDArray[np.uint64], width: int) -> npt.NDArray[np.uint64]:
    """Give the slots in a table of heads, for eight bytes each, of which the first ``width`` count."""
    import numpy as np

    counted = keys << np.uint64(8 * (_WHOLE - width))
    return (counted * np.uint64(_SPREAD)) >> np.uint64(64 - _TABLE_BITS)


def look(needles: Needles, database: Path | None, files: Iterable[Path]) -> dict[str, object]:
    """Give bytes seen, and for each file how many needles stand in it that no row says any more."""
    found: dict[Path, set[bytes]] = {}
    sizes: dict[Path, int] = {}
    for path in files:
        try:
            sizes[path] = path.stat().st_size
            found[path] = needles.inside_all(_read(path))
        except FileNotFoundError:
            # A log is emptied and removed by whoever closes the database last.
            continue
    anywhere = set().union(*found.values())
    said = Needles(anywhere).inside_all(_rows(database)) if database and anywhere else set()
    seen: list[dict[str, object]] = []
    for path, needles_there in found.items():
        left = needles_there - said
        if left and path != database and _is_sqlite(path):
            left -= Needles(left).inside_all(_rows(path))
        seen.append({"file": path.name, "bytes": sizes[path], "hits": len(left)})
    return {
        "files": seen,
        "bytes": sum(sizes[path] for path in found),
        "looked_for": len(needles.needles),
        "said_elsewhere": len(said),
        "hits": sum(int(str(part["hits"])) for part in seen),
    }


def chunks_of(file: IO[bytes]) -> Iterator[bytes]:
    """Give the bytes of an open file in parts."""
    while part := file.read(CHUNK):
        yield part


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from chunks_of(file)


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _rows(path: Path) -> Iterator[bytes]:
    """Give every text that the rows of a database hold, and the words of its schema."""
    # Of a database that lies there closed, no log must be made.
    closed = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro{closed}", uri=True)
    try:
        connection.text_factory = bytes
        schema = connection.execute("SELECT sql, name, type FROM sqlite_master").fetchall()
        yield b"\n".join(part for row in schema for part in row if part)
        for _, name, kind in schema:
            if kind != b"table":
                continue
            table = name.decode().replace('"', '""')
            cursor = connection.execute(f'SELECT * FROM "{table}"')
            while rows := cursor.fetchmany(1000):
                yield b"\n" + b"\n".join(value for row in rows for value in row if isinstance(value, bytes))
    finally:
        connection.close()


def main() -> int:
    """Read what is asked, write what was seen."""
    asked = json.load(sys.stdin)
    needles = Needles(bytes.fromhex(needle) for needle in asked["needles"])
    database = Path(asked["database"]) if asked["database"] else None
    json.dump(look(needles, database, [Path(name) for name in asked["files"]]), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
