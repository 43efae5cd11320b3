"""Every error that SEEM raises on purpose. Each message says what happened, with which value, and what to do.

Knows nothing about the rest of the package. Library errors (SQL, torch, JSON) are turned into one of these where they are
first understood, with ``raise … from``.
"""

from __future__ import annotations


class SeemError(Exception):
    """Root of all errors that are meant for the person or program that calls SEEM."""


class InputError(SeemError):
    """The caller's text, file, identifier or argument cannot be used as given."""


class ConfigError(SeemError):
    """A setting is unknown, misspelt, or out of range."""


class ModelError(SeemError):
    """A model or adapter is missing, does not fit its base, or failed."""


class StoreError(SeemError):
    """The database cannot be opened, written or trusted."""


class NotFoundError(SeemError):
    """No such memory, passage, frame or fact."""
