"""``python -m serving.admin``: keys and limits of tenants, and new adapters. Works beside a running server, which heeds changes at once.

Takes commands, gives text. A new key is printed once and cannot be shown again.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from seem.errors import SeemError
from serving.config import ServeConfig
from serving.keys import SCOPES, USUAL, Keys
from serving.ledger import Ledger, holder

app = typer.Typer(name="python -m serving.admin", add_completion=False, pretty_exceptions_enable=False)
keys_app = typer.Typer(help="Create, rotate, revoke and list API keys.")
app.add_typer(keys_app, name="keys")

Config = Annotated[Path | None, typer.Option("--config", help="The server's YAML file.")]
KeyId = Annotated[str, typer.Argument(help="The key's id, as `keys list` shows it.")]


@keys_app.command()
def create(
    tenant: Annotated[str, typer.Argument(help="Whose key: a-z, 0-9, - and _. A new name makes a new tenant.")],
    config: Config = None,
    name: Annotated[str, typer.Option(help="What the key is for.")] = "",
    scopes: Annotated[str, typer.Option(help=f"Comma-separated, of {', '.join(SCOPES)}.")] = ",".join(USUAL),
    principals: Annotated[str, typer.Option(help="The readers that the key stands for, comma-separated.")] = "",
    days: Annotated[float | None, typer.Option(help="Ends after so many days.")] = None,
) -> None:
    """Make a key and print it, once."""
    with _keys(config) as keys:
        key_id, key = keys.create(tenant, name=name, scopes=_listed(scopes), principals=_listed(principals), days=days)
    _shown(key_id, key)


@keys_app.command()
def rotate(
    key_id: KeyId,
    config: Config = None,
    overlap_hours: Annotated[float, typer.Option(help="So long the old key still works.")] = 24.0,
) -> None:
    """Make a successor with the same rights and print it, once."""
    with _keys(config) as keys:
        new_id, key = keys.rotate(key_id, overlap_hours=overlap_hours)
    _shown(new_id, key)


@keys_app.command()
def revoke(key_id: KeyId, config: Config = None) -> None:
    """End a key at once."""
    with _keys(config) as keys:
        keys.revoke(key_id)
    typer.echo(f"revoked {key_id}")


@keys_app.command(name="list")
def list_keys(
    config: Config = None, tenant: Annotated[str | None, typer.Option(help="Of one tenant only.")] = None
) -> None:
    """List the keys, never their secrets."""
    with _keys(config) as keys:
        for row in keys.listed(tenant):
            scopes = ",".join(row["scopes"])
            typer.echo(f"{row['id']}  {row['status']:8} {row['tenant']:20} {scopes:32} {row['name']}")


@app.command()
def limit(
    tenant: Annotated[str, typer.Argument()],
    config: Config = None,
    requests_per_minute: Annotated[int | None, typer.Option(help="None: as configured.")] = None,
    passages: Annotated[int | None, typer.Option(help="None: as configured.")] = None,
) -> None:
    """Give a tenant its own limits."""
    with _keys(config) as keys:
        keys.limit(tenant, requests_per_minute=requests_per_minute, passages=passages)
    typer.echo(f"limits of {tenant} set")


@app.command()
def reload(config: Config = None) -> None:
    """Let the running server take up the adapters that its configuration now names; its log tells what serves."""
    os.kill(holder(ServeConfig.load_file(config).folder), signal.SIGHUP)
    typer.echo("asked; the log says «adapters taken up» or «adapters refused», and seem_reloads counts both")


@contextmanager
def _keys(config: Path | None) -> Iterator[Keys]:
    ledger = Ledger(ServeConfig.load_file(config).folder)
    try:
        yield Keys(ledger)
    finally:
        ledger.close()


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _shown(key_id: str, key: str) -> None:
    typer.echo(key)
    typer.echo(f"id {key_id}; the key above cannot be shown again", err=True)


def main() -> int:
    """Run one command; give the exit status."""
    try:
        app(standalone_mode=False)
    except typer.TyperException as error:
        sys.stderr.write(f"{error.format_message()}\n")
        return 2
    except SeemError as error:
        sys.stderr.write(f"serving.admin: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
