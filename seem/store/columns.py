"""Text that both databases keep alike: every character comes back, and texts are compared letter by letter.

PostgreSQL takes no NUL, and orders by the language of its installation: there NUL is escaped, and columns have the
collation "C", which no update of the system's library changes. Knows nothing about tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

# SUBSTITUTE, a control character that hardly any text holds.
_ESCAPE = "\x1a"
_NUL, _SELF = _ESCAPE + "0", _ESCAPE + "1"

# History and audit count every change that ever was; SQLite numbers only INTEGER by itself, which has 64 bits there.
Long = sa.BigInteger().with_variant(sa.Integer, "sqlite")


class Text(TypeDecorator[str]):
    """A text column."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Give the type that the database knows."""
        plain = dialect.name != "postgresql"
        return dialect.type_descriptor(sa.Text() if plain else postgresql.TEXT(collation="C"))

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any] | None:
        """Give what a value passes on its way in."""
        return _escaped if dialect.name == "postgresql" else None

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        """Give what a value passes on its way out."""
        return _restored if dialect.name == "postgresql" else None


def _escaped(text: str | None) -> str | None:
    if text is None or ("\0" not in text and _ESCAPE not in text):
        return text
    return text.replace(_ESCAPE, _SELF).replace("\0", _NUL)


def _restored(text: str | None) -> str | None:
    if text is None or _ESCAPE not in text:
        return text
    return text.replace(_NUL, "\0").replace(_SELF, _ESCAPE)
