"""The body of one write: a batch of removals and upserts, applied to an open transaction.

Takes a connection that holds the memory's lock, gives the ids that it touched. Removing a passage also removes every
text that was made of it: extraction, membership, vectors, history, and frames and facts with no other source. A frame
that has other sources must come refolded in the same batch, or the whole batch is refused. Knows nothing about locks
and generations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column, Connection, Table

from seem.errors import InputError, StoreError
from seem.store import rows
from seem.store import schema as t
from seem.store.batch import WriteBatch
from seem.store.history import blank, forget_passages, provenance, untell, write_history
from seem.store.statements import chunks, upsert
from seem.types import Entity, Frame, Passage, StoredFact

Ids = dict[str, list[str]]


def write_batch(connection: Connection, memory: str, batch: WriteBatch, *, generation: int, at: str) -> tuple[Ids, Ids]:
    """Apply the batch, removals first; give the ids by kind of what was written and of what was removed."""
    _check_owner(memory, batch)
    before = provenance(connection, memory, [change.item_id for change in batch.history])
    untold = [*batch.remove_passages, *batch.remove_extractions]
    affected = _linked(connection, t.frame_members, t.frame_members.c.frame_id, memory, untold)
    citing = _linked(connection, t.fact_sources, t.fact_sources.c.fact_id, memory, batch.remove_passages)
    _remove(connection, memory, batch)
    untell(connection, memory, batch.untold)
    _write_passages(connection, memory, batch, at)
    _write_frames(connection, memory, batch, at)
    _write_graph(connection, memory, batch, at)
    _write_bonds(connection, memory, batch, generation)
    _write_vectors(connection, memory, batch)
    gone_frames = _bereft(connection, memory, affected, t.frame_members, t.frame_members.c.frame_id)
    gone_facts = _bereft(connection, memory, citing, t.fact_sources, t.fact_sources.c.fact_id)
    _delete_items(connection, memory, "frame", t.frames, gone_frames)
    _delete_facts(connection, memory, gone_facts)
    _refuse_unfolded(memory, batch, affected - gone_frames)
    write_history(connection, memory, batch, before, generation=generation, at=at)
    written = {
        "passage": [
            *batch.remove_extractions,
            *(passage.id for passage in batch.passages),
            *(extraction.passage_id for extraction in batch.extractions),
            *batch.done,
            *batch.failed,
            *batch.readers,
            *batch.again,
        ],
        "frame": [frame.id for frame in batch.frames],
        "fact": [fact.id for fact in batch.facts],
        "entity": [entity.id for entity in batch.entities],
    }
    removed = {
        "passage": list(batch.remove_passages),
        "frame": [*batch.remove_frames, *sorted(gone_frames)],
        "fact": [*batch.remove_facts, *sorted(gone_facts)],
        "entity": list(batch.remove_entities),
    }
    return written, removed


def _check_owner(memory: str, batch: WriteBatch) -> None:
    items: list[Passage | Frame | Entity | StoredFact] = [
        *batch.passages,
        *batch.frames,
        *batch.entities,
        *batch.facts,
    ]
    for item in items:
        if item.memory != memory:
            raise InputError(f"{item.id} belongs to the memory {item.memory!r} and cannot be written to {memory!r}")
    if batch.vectors and not batch.encoder:
        raise InputError("a batch with vectors must name their encoder")


def _linked(
    connection: Connection, table: Table, column: Column[Any], memory: str, passage_ids: Sequence[str]
) -> set[str]:
    found: set[str] = set()
    for ids in chunks(passage_ids):
        query = sa.select(column).where(table.c.memory == memory, table.c.passage_id.in_(ids))
        found.update(connection.scalars(query))
    return found


def _remove(connection: Connection, memory: str, batch: WriteBatch) -> None:
    _delete_extractions(connection, memory, [*batch.remove_extractions, *batch.remove_passages])
    _delete_items(connection, memory, "frame", t.frames, batch.remove_frames)
    _delete_facts(connection, memory, batch.remove_facts)
    # The texts of an entity's history are names from anywhere: they go with it.
    blank(connection, memory, batch.remove_entities)
    _delete_items(connection, memory, "entity", t.entities, batch.remove_entities)
    forget_passages(connection, memory, batch.remove_passages)
    _delete_items(connection, memory, "passage", t.passages, batch.remove_passages)


def _delete_extractions(connection: Connection, memory: str, passage_ids: Iterable[str]) -> None:
    for ids in chunks(passage_ids):
        for table in (t.extractions, t.frame_members):
            connection.execute(sa.delete(table).where(table.c.memory == memory, table.c.passage_id.in_(ids)))
        told = t.vectors.c.kind == "extraction"
        connection.execute(sa.delete(t.vectors).where(t.vectors.c.memory == memory, told, t.vectors.c.item_id.in_(ids)))


def _delete_items(connection: Connection, memory: str, kind: str, table: Table, item_ids: Iterable[str]) -> None:
    v = t.vectors.c
    for ids in chunks(item_ids):
        connection.execute(sa.delete(t.vectors).where(v.memory == memory, v.kind == kind, v.item_id.in_(ids)))
        connection.execute(sa.delete(table).where(table.c.memory == memory, table.c.id.in_(ids)))


def _delete_facts(connection: Connection, memory: str, fact_ids: Iterable[str]) -> None:
    fact_ids = list(fact_ids)
    for ids in chunks(fact_ids):
        pointing = sa.update(t.facts).where(t.facts.c.memory == memory, t.facts.c.superseded_by.in_(ids))
        connection.execute(pointing.values(superseded_by=None))
    _delete_items(connection, memory, "fact", t.facts, fact_ids)


def _write_passages(connection: Connection, memory: str, batch: WriteBatch, at: str) -> None:
    p = t.passages.c
    if batch.passages:
        # Stamped before the upsert, so that a restored passage keeps its own moment and a changed one gets this one.
        for ids in chunks(passage.id for passage in batch.passages):
            connection.execute(sa.update(t.passages).where(p.memory == memory, p.id.in_(ids)).values(updated_at=at))
        upsert(connection, t.passages, [rows.passage_row(passage, at=at) for passage in batch.passages])
        beyond = 1 + max(passage.position for passage in batch.passages)
        counted = sa.update(t.memories).where(t.memories.c.key == memory, t.memories.c.arrivals < beyond)
        connection.execute(counted.values(arrivals=beyond))
    _require_passages(connection, memory, batch)
    upsert(connection, t.extractions, [rows.extraction_row(memory, extraction) for extraction in batch.extractions])
    for ids in chunks(batch.done):
        connection.execute(
            sa.update(t.passages).where(p.memory == memory, p.id.in_(ids)).values(status="done", error=None)
        )
    for passage_id, error in batch.failed.items():
        connection.execute(
            sa.update(t.passages)
            .where(p.memory == memory, p.id == passage_id)
            .values(status="failed", error=error, attempts=p.attempts + 1)
        )
    for ids in chunks(batch.again):
        waiting = {"status": "pending", "error": None, "attempts": 0}
        connection.execute(sa.update(t.passages).where(p.memory == memory, p.id.in_(ids)).values(waiting))
    for passage_id, readers in batch.readers.items():
        allowed = rows.encoded(list(readers))
        connection.execute(sa.update(t.passages).where(p.memory == memory, p.id == passage_id).values(readers=allowed))


def _require_passages(connection: Connection, memory: str, batch: WriteBatch) -> None:
    told = (extraction.passage_id for extraction in batch.extractions)
    wanted = {*batch.done, *batch.failed, *batch.readers, *batch.again, *told}
    for ids in chunks(sorted(wanted)):
        query = sa.select(t.passages.c.id).where(t.passages.c.memory == memory, t.passages.c.id.in_(ids))
        missing = sorted(set(ids) - set(connection.scalars(query)))
        if missing:
            raise StoreError(
                f"the passage {missing[0]} is not in the memory {memory!r} (deleted meanwhile?); nothing was written"
            )


def _next_serial(connection: Connection, memory: str, table: Table) -> int:
    last = connection.scalar(sa.select(sa.func.max(table.c.serial)).where(table.c.memory == memory))
    return 0 if last is None else int(last) + 1


def _write_frames(connection: Connection, memory: str, batch: WriteBatch, at: str) -> None:
    serial = _next_serial(connection, memory, t.frames) if batch.frames else 0
    values = [rows.frame_row(frame, serial=serial + offset, at=at) for offset, frame in enumerate(batch.frames)]
    upsert(connection, t.frames, values)
    m = t.frame_members.c
    for ids in chunks(frame.id for frame in batch.frames):
        connection.execute(sa.delete(t.frame_members).where(m.memory == memory, m.frame_id.in_(ids)))
    members = [
        {"memory": memory, "passage_id": passage_id, "frame_id": frame.id, "rank": rank}
        for frame in batch.frames
        for rank, passage_id in enumerate(frame.provenance)
    ]
    if members:
        connection.execute(sa.insert(t.frame_members), members)


def _write_bonds(connection: Connection, memory: str, batch: WriteBatch, generation: int) -> None:
    if batch.unbonds:
        b = t.bonds.c
        connection.execute(sa.delete(t.bonds).where(b.memory == memory, b.generation.in_(batch.unbonds)))
    values = [
        {
            "memory": memory,
            "one": min(bond.one, bond.other),
            "other": max(bond.one, bond.other),
            "generation": generation,
            "together": int(bond.together),
        }
        for bond in batch.bonds
    ]
    if values:
        connection.execute(sa.insert(t.bonds), values)


def _write_graph(connection: Connection, memory: str, batch: WriteBatch, at: str) -> None:
    upsert(connection, t.entities, [{"memory": memory, "id": item.id, "name": item.name} for item in batch.entities])
    for ids in chunks(entity.id for entity in batch.entities):
        connection.execute(sa.delete(t.aliases).where(t.aliases.c.memory == memory, t.aliases.c.entity_id.in_(ids)))
    aliases = [
        {"memory": memory, "entity_id": entity.id, "rank": rank, "alias": alias}
        for entity in batch.entities
        for rank, alias in enumerate(entity.aliases)
    ]
    if aliases:
        connection.execute(sa.insert(t.aliases), aliases)
    serial = _next_serial(connection, memory, t.facts) if batch.facts else 0
    values = [rows.fact_row(fact, serial=serial + offset, at=at) for offset, fact in enumerate(batch.facts)]
    upsert(connection, t.facts, values)
    s = t.fact_sources.c
    for ids in chunks(fact.id for fact in batch.facts):
        connection.execute(sa.delete(t.fact_sources).where(s.memory == memory, s.fact_id.in_(ids)))
    sources = [
        {"memory": memory, "fact_id": fact.id, "passage_id": passage_id, "rank": rank}
        for fact in batch.facts
        for rank, passage_id in enumerate(fact.provenance)
    ]
    if sources:
        connection.execute(sa.insert(t.fact_sources), sources)


def _write_vectors(connection: Connection, memory: str, batch: WriteBatch) -> None:
    values = [
        {"memory": memory, "kind": kind, "item_id": item_id, "vector": rows.vector_bytes(vector, item_id)}
        for kind, item_id, vector in batch.vectors
    ]
    stored = connection.scalar(sa.select(t.memories.c.encoder).where(t.memories.c.key == memory))
    if batch.encoder and stored and stored != batch.encoder:
        v = t.vectors.c
        kept = {
            (row.kind, row.item_id)
            for row in connection.execute(sa.select(v.kind, v.item_id).where(v.memory == memory))
        }
        if kept - {(kind, item_id) for kind, item_id, _ in batch.vectors}:
            raise StoreError(
                f"the memory {memory!r} holds vectors of the encoder {stored!r}, not of {batch.encoder!r}; "
                "run `seem reindex` to make them anew"
            )
    if batch.encoder:
        connection.execute(sa.update(t.memories).where(t.memories.c.key == memory).values(encoder=batch.encoder))
    upsert(connection, t.vectors, values)


def _bereft(connection: Connection, memory: str, item_ids: set[str], links: Table, column: Column[Any]) -> set[str]:
    """Give those items that are left without any passage."""
    left: set[str] = set()
    for ids in chunks(sorted(item_ids)):
        left.update(connection.scalars(sa.select(column).where(links.c.memory == memory, column.in_(ids))))
    return item_ids - left


def _refuse_unfolded(memory: str, batch: WriteBatch, affected: set[str]) -> None:
    unfolded = affected - {frame.id for frame in batch.frames} - set(batch.remove_frames)
    if unfolded:
        raise StoreError(
            f"the frame {min(unfolded)} of the memory {memory!r} was made of a removed passage or extraction and still "
            "tells of it; put the refolded frame into the same batch (nothing was written)"
        )
