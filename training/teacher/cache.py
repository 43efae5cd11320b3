"""Every answer that was paid for, in one SQLite file, written the moment it comes; and what each OUT has cost so far.

An answer is known by what was asked: messages (passage, context and prompt), schema, model, temperature and token
limit. Knows nothing about tasks.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from seem.errors import StoreError
from seem.models.chat import Reply
from seem.prompts.schemas import Schema
from seem.prompts.texts import Messages

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (
  key TEXT PRIMARY KEY, task TEXT NOT NULL, model TEXT NOT NULL, text TEXT NOT NULL, finished INTEGER NOT NULL,
  tokens_in INTEGER, tokens_out INTEGER);
CREATE TABLE IF NOT EXISTS payments (
  job TEXT NOT NULL, key TEXT NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, cost REAL NOT NULL,
  paid_at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS payments_job ON payments (job);
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """Paid requests, their tokens and their cost."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


class Cache:
    """Open for one run; ``job`` names what is paid for."""

    def __init__(self, path: Path, job: str) -> None:
        """Open or create the file."""
        self._job = job
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"the teacher's cache {path} cannot be opened ({error}); move it away or name another in the setting cache"
            ) from error

    def get(self, key: str) -> Reply | None:
        """Give the answer, if it was paid for before."""
        query = "SELECT text, finished, tokens_in, tokens_out FROM answers WHERE key = ?"
        row = self._db.execute(query, (key,)).fetchone()
        return None if row is None else Reply(row[0], bool(row[1]), row[2], row[3])

    def put(self, key: str, reply: Reply, *, task: str, model: str, paid: Spent) -> None:
        """Keep an answer and its payment, both or none; raise StoreError where they cannot be kept."""
        answer = (key, task, model, reply.text, int(reply.finished), reply.tokens_in, reply.tokens_out)
        payment = (self._job, key, paid.tokens_in, paid.tokens_out, paid.cost, time.time())
        try:
            with self._db:
                self._db.execute("BEGIN")
                self._db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", answer)
                self._db.execute("INSERT INTO payments VALUES (?, ?, ?, ?, ?, ?)", payment)
        except sqlite3.Error as error:
            raise StoreError(f"an answer cannot be kept in the teacher's cache ({error}); is the disk full?") from error

    def spent(self) -> Spent:
        """Give what the job has cost in all of its runs."""
        sums = "COUNT(*), COALESCE(SUM(tokens_in), 0), COALESCE(SUM(tokens_out), 0), COALESCE(SUM(cost), 0.0)"
        query = f"SELECT {sums} FROM payments WHERE job = ?"
        return Spent(*self._db.execute(query, (self._job,)).fetchone())

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def answer_key(messages: Messages, schema: Schema | None, *, model: str, temperature: float, max_tokens: int) -> str:
    """Give the name of an answer."""
    told = json.dumps([messages, schema, model, temperature, max_tokens], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(told.encode()).hexdigest()
