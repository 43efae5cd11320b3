"""``python -m tests.serving.fake_server FOLDER PORT``: a real server process on scripted models, for tests that kill it.

With ``--config FILE --port PORT`` it takes the place of ``python -m serving``, its folder in SEEM_DATA_DIR.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from pathlib import Path

import yaml

from seem.models.fakes import ScriptedExtractor
from serving import logs
from serving.run import serve
from tests.flows.people import SCRIPT
from tests.serving.house import make_service


def main(folder: str, port: str, settings: str = "{}") -> None:
    logs.set_up()
    slow = ScriptedExtractor(SCRIPT, before=lambda passage: time.sleep(0.002))
    told = {name: part for name, part in yaml.safe_load(settings).items() if name != "memory"}
    service = make_service(Path(folder), told, extractor=slow)
    service.config = dataclasses.replace(service.config, http=dataclasses.replace(service.config.http, port=int(port)))
    serve(service)


if __name__ == "__main__":
    if sys.argv[1] == "--config":
        main(os.environ["SEEM_DATA_DIR"], sys.argv[4], Path(sys.argv[2]).read_text())
    else:
        main(*sys.argv[1:])
