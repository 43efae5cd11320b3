"""``python -m serving --config configs/serve.yaml [--host H] [--port N]``: flags to a server."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from seem.errors import SeemError
from serving import logs
from serving.config import ServeConfig
from serving.run import serve
from serving.service import Service


def main() -> int:
    """Serve until a signal; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m serving", description="Memory over HTTP, MCP and chat.")
    parser.add_argument("--config", type=Path, help="a YAML file; see configs/serve.yaml")
    parser.add_argument("--host", help="the address to listen on")
    parser.add_argument("--port", type=int, help="the port; 0: any free one")
    given = parser.parse_args()
    logs.set_up()
    try:
        config = ServeConfig.load_file(given.config)
        flags = {name: value for name in ("host", "port") if (value := getattr(given, name)) is not None}
        serve(Service(dataclasses.replace(config, http=dataclasses.replace(config.http, **flags))))
    except (SeemError, OSError) as error:
        sys.stderr.write(f"serving: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
