"""``python -m tests.serving.fake_server FOLDER PORT``: a real server process on scripted models, for tests that kill it."""

from __future__ import annotations

import dataclasses
import sys
import time
from pathlib import Path

from seem.models.fakes import ScriptedExtractor
from serving import logs
from serving.run import serve
from tests.flows.people import SCRIPT
from tests.serving.house import make_service


def main(folder: str, port: str) -> None:
    logs.set_up()
    slow = ScriptedExtractor(SCRIPT, before=lambda passage: time.sleep(0.002))
    service = make_service(Path(folder), extractor=slow)
    service.config = dataclasses.replace(service.config, http=dataclasses.replace(service.config.http, port=int(port)))
    serve(service)


if __name__ == "__main__":
    main(*sys.argv[1:])
