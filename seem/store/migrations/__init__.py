"""Numbered, append-only steps from one schema to the next; run by ``seem.store.engine`` when a store is opened."""
