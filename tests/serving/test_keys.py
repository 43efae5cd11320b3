"""Keys: what is stored of them, when they end, and the commands that make them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seem.errors import InputError, NotFoundError, StoreError
from serving import keys as module
from serving.admin import app
from serving.keys import Keys
from serving.ledger import Ledger, holding


@pytest.fixture
def keys(tmp_path: Path) -> Iterator[Keys]:
    ledger = Ledger(tmp_path)
    yield Keys(ledger)
    ledger.close()


def test_a_key_names_its_caller_and_is_stored_as_a_hash_only(keys: Keys, tmp_path: Path) -> None:
    key_id, key = keys.create("acme", scopes=["read", "write"], principals=["ana", "staff"])
    caller = keys.caller(key)
    assert caller is not None
    assert (caller.tenant, caller.key_id, caller.principals) == ("acme", key_id, ("ana", "staff"))
    assert caller.scopes == {"read", "write"}
    secret = key.split("_", 2)[2].encode()  # it may hold the separator itself
    assert all(secret not in file.read_bytes() for file in tmp_path.iterdir())
    for wrong in (key[:-1], key + "x", f"seem_{key_id}_", "seem", "", f"seem_{'0' * 12}_{secret.decode()}"):
        assert keys.caller(wrong) is None


def test_a_rotated_key_works_for_its_overlap(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    old_id, old = keys.create("acme", scopes=["read"], principals=["ana"])
    _, new = keys.rotate(old_id, overlap_hours=1)
    before, after = keys.caller(old), keys.caller(new)
    assert before is not None and after is not None
    assert (after.scopes, after.principals) == (before.scopes, before.principals)
    monkeypatch.setattr(module, "now", lambda: "2999-01-01T00:00:00.000+00:00")
    assert keys.caller(old) is None
    assert keys.caller(new) is not None


def test_a_revoked_key_ends_at_once(keys: Keys) -> None:
    key_id, key = keys.create("acme")
    keys.revoke(key_id)
    assert keys.caller(key) is None
    assert [row["status"] for row in keys.listed()] == ["revoked"]
    with pytest.raises(InputError, match="revoked"):
        keys.rotate(key_id)


def test_what_cannot_be_made_is_named(keys: Keys) -> None:
    for tenant, options in (("../up", {}), ("", {}), ("a", {"scopes": ["fly"]}), ("a", {"scopes": []})):
        with pytest.raises(InputError):
            keys.create(tenant, **options)
    with pytest.raises(NotFoundError, match="keys list"):
        keys.revoke("nothing")
    with pytest.raises(NotFoundError, match="nobody"):
        keys.limit("nobody", passages=1)


def test_one_server_holds_a_folder(tmp_path: Path) -> None:
    with holding(tmp_path), pytest.raises(StoreError, match="another server"), holding(tmp_path):
        pass
    with holding(tmp_path):
        pass


def test_the_admin_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEM_DATA_DIR", str(tmp_path))
    run = CliRunner()
    made = run.invoke(app, ["keys", "create", "acme", "--scopes", "read,write", "--name", "robot"])
    key = made.stdout.strip()
    assert made.exit_code == 0 and key.startswith("seem_")
    key_id = key.split("_")[1]
    listed = run.invoke(app, ["keys", "list"]).stdout
    assert key_id in listed and "active" in listed and key.split("_", 2)[2] not in listed
    rotated = run.invoke(app, ["keys", "rotate", key_id, "--overlap-hours", "0"]).stdout.strip()
    assert run.invoke(app, ["limit", "acme", "--requests-per-minute", "7"]).exit_code == 0
    ledger = Ledger(tmp_path)
    keys = Keys(ledger)
    caller = keys.caller(rotated)
    assert caller is not None and caller.requests_per_minute == 7
    assert keys.caller(key) is None
    assert run.invoke(app, ["keys", "revoke", rotated.split("_")[1]]).exit_code == 0
    assert keys.caller(rotated) is None
    ledger.close()


def test_the_reload_command_reaches_the_server_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEM_DATA_DIR", str(tmp_path))
    told: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, _: told.append(number))
    try:
        with holding(tmp_path):
            assert CliRunner().invoke(app, ["reload"]).exit_code == 0
        assert told == [signal.SIGHUP]
        refused = CliRunner().invoke(app, ["reload"])
        assert isinstance(refused.exception, StoreError) and "no server runs" in str(refused.exception)
    finally:
        signal.signal(signal.SIGHUP, before)
