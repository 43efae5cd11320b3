"""Who may read what: the readers of a passage against the principals of a caller.

Takes names, gives names and verdicts. Names are compared letter by letter, without prefixes or patterns. A passage
without readers is read by everyone of its memory; a caller without principals (``None``) is the owner and reads all.
Knows nothing about memories.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from seem.errors import InputError

# As a reader: everyone of the memory. Stored as no reader at all.
EVERYONE = "*"
# As a reader: nobody but the owner, which is what is left where the last reader goes.
OWNER = "@owner"

# Stands between a message's own id and what tells it apart from one that its writer may not know of.
APART = "\x1f"

Readers = tuple[str, ...]
Principals = frozenset[str]


def principals_of(given: Collection[str] | None) -> Principals | None:
    """Give the names that a caller stands for, ``None`` for the owner; refuse what is no name, or a reserved one."""
    if given is None:
        return None
    if isinstance(given, str):
        raise InputError(f"principals must be a list of names, not the text {given!r}; give [{given!r}]")
    for name in given:
        _check(name)
        if name in (EVERYONE, OWNER):
            raise InputError(f"{name!r} is no principal: it stands for readers; leave the principals out for the owner")
    return frozenset(given)


def readers_of(given: Iterable[str]) -> Readers:
    """Give readers as they are stored: nobody named means everyone, as does ``*``."""
    if isinstance(given, str):
        raise InputError(f"readers must be a list of names, not the text {given!r}; give [{given!r}]")
    names = tuple(dict.fromkeys(given))
    for name in names:
        _check(name)
    if EVERYONE in names:
        return ()
    return tuple(name for name in names if name != OWNER or len(names) == 1)


def named(who: Iterable[str]) -> Readers:
    """Give the names to which a right is given or from which it is taken; refuse none at all, and the owner's."""
    if isinstance(who, str):
        raise InputError(f"readers must be a list of names, not the text {who!r}; give [{who!r}]")
    names = tuple(dict.fromkeys(who))
    for name in names:
        _check(name)
    if not names or OWNER in names:
        raise InputError(f"name the readers; {EVERYONE!r} stands for everyone, and the owner reads in any case")
    return names


def may_read(readers: Readers, principals: Principals | None) -> bool:
    """Tell whether a caller may read a passage."""
    return principals is None or not readers or not principals.isdisjoint(readers)


def covers(readers: Readers, others: Readers) -> bool:
    """Tell whether everyone who may read a passage of ``others`` may read one of ``readers``."""
    return not readers or (bool(others) and set(others) <= set(readers))


def written(readers: Readers, principals: Principals | None) -> Readers:
    """Give the readers of what a caller writes: those that he named, else himself; refuse readers without him."""
    named = readers_of(readers)
    if principals is None or EVERYONE in readers:
        return named
    if named and principals.isdisjoint(named):
        raise InputError(
            f"the readers {', '.join(named)} leave out the writer, who could not read it; add one of his principals"
        )
    if not (named or principals):
        raise InputError("a writer without principals must name the readers; give readers, * for everyone")
    return named or tuple(sorted(principals))


def granted(readers: Readers, who: Readers) -> Readers:
    """Give the readers after ``who`` may read too."""
    return readers and readers_of([*readers, *who])


def revoked(readers: Readers, who: Readers) -> Readers:
    """Give the readers after ``who`` may read no more; what everyone may read must be taken from everyone first."""
    if EVERYONE in who:
        return (OWNER,)
    if not readers:
        raise InputError(
            f"everyone may read it, so it cannot be taken from {', '.join(who)} alone; revoke it from {EVERYONE!r}, then "
            "grant it to those who may"
        )
    return tuple(name for name in readers if name not in who) or (OWNER,)


def _check(name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"a reader is a name, not {name!r}")
