"""``python -m tests.serving.fake_replica FOLDER URL``: a server on scripted models over a database that others share."""

from __future__ import annotations

import sys
from pathlib import Path

from serving import logs
from serving.config import ServeConfig
from serving.run import serve
from serving.service import Service
from tests.flows.people import parts


def main(folder: str, url: str) -> None:
    logs.set_up()
    given = parts(Path(folder), store={"url": url})
    serve(Service(ServeConfig.from_dict({"http": {"port": 0}}, given.config), given))


if __name__ == "__main__":
    main(*sys.argv[1:])
