"""A decoder behind a server does what the one in this process does; the server here is a small one that decodes with the same code."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from seem.config import Config
from seem.errors import ModelError
from seem.models.adapters import read_manifest
from seem.models.decoder import Decoder
from seem.models.fakes import HashingEncoder, ScriptedJudge
from seem.models.greedy import Request
from seem.models.protocols import ExtractItem
from seem.models.served import ServedDecoder, module_name
from seem.types import Passage
from seem.wiring import Parts
from serving.vllm import command
from tests.models.tiny import tiny_adapter, tiny_base

ITEMS: list[ExtractItem] = [(Passage("p1", "m", "I sold the piano in Riga yesterday.", speaker="Ede"), (), ())]


@contextmanager
def serving(decoder: Decoder, modules: dict[str, str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve completions of token ids under the names of ``modules`` (name to task); give the address and what was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802
            self.reply({"object": "list", "data": [{"id": name, "object": "model"} for name in modules]})

        def do_POST(self) -> None:  # noqa: N802
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body)
            text = decoder.tokenizer.decode(body["prompt"])
            bias = {
                decoder.tokenizer.decode([int(token)]): value for token, value in (body["logit_bias"] or {}).items()
            }
            request = Request(text, body.get("structured_outputs", {}).get("grammar"), bias)
            [made] = decoder.generate([request], task=modules[body["model"]], max_tokens=body["max_tokens"])
            finish = "stop" if made.finished else "length"
            choice = {
                "index": 0,
                "text": made.text,
                "finish_reason": finish,
                "logprobs": {"token_logprobs": [made.logprob]},
            }
            usage = {"prompt_tokens": made.prompt_tokens, "completion_tokens": made.tokens, "total_tokens": 0}
            whole = {"id": "c", "object": "text_completion", "created": 1, "model": body["model"]}
            self.reply({**whole, "choices": [choice], "usage": usage})

        def reply(self, told: dict[str, Any]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(told).encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
        server.shutdown()
        thread.join()


def test_what_the_server_decodes_is_what_this_process_decodes(tmp_path: Path) -> None:
    base = tiny_base(tmp_path / "base")
    adapter = tiny_adapter(tmp_path / "extract", base, 1)
    other = tiny_adapter(tmp_path / "other", base, 2)
    local = Decoder(str(base), device="cpu")
    manifest = local.load(str(adapter), task="extract")

    def parts(**decoder: Any) -> Parts:
        settings = {
            "data_dir": str(tmp_path),
            "decoder": {"model": str(base), "device": "cpu", **decoder},
            "extract": {"adapter": str(adapter), "max_tokens": 24, "null_bias": -20},
        }
        return Parts(Config.from_dict(settings), encoder=HashingEncoder(), judge=ScriptedJudge())

    with serving(local, {module_name(manifest): "extract"}) as (url, asked):
        here, there = parts(), parts(base_url=url)
        assert here.extractor is not None and there.extractor is not None
        [mine], [theirs] = here.extractor.extract(ITEMS), there.extractor.extract(ITEMS)
        assert (theirs.events, theirs.facts, theirs.model) == (mine.events, mine.facts, mine.model)
        assert asked[0]["model"] == f"extract@{read_manifest(adapter).version}" and asked[0]["temperature"] == 0
        assert "S0: %regex" in asked[0]["structured_outputs"]["grammar"] and list(asked[0]["logit_bias"].values()) == [
            -20
        ]
        seen: list[int] = []
        there.decoder.observe = lambda made: seen.extend(one.prompt_tokens for one in made)
        there.extractor.extract(ITEMS)
        assert sorted(seen) == sorted(len(body["prompt"]) for body in asked[: len(seen)])
        # A reload takes a place of its own, as in this process.
        assert there.reload() == {"extractor": mine.model}
        served = ServedDecoder(str(base), url)
        with pytest.raises(ModelError, match=f"does not hold 'extract@{read_manifest(other).version}'"):
            served.load(str(other), task="extract")
        with pytest.raises(ModelError, match="call load"):
            served.generate([Request("x")], task="answer", max_tokens=1)
    with pytest.raises(ModelError, match="check decoder.base_url"):
        ServedDecoder(str(base), "http://127.0.0.1:9/v1").load(str(adapter), task="extract")


def test_the_command_names_every_adapter_that_is_configured() -> None:
    config = Config.load(Path(__file__).parents[2] / "configs" / "vllm.yaml")
    words = command(config)
    assert words[:2] == ["vllm", "serve"] and (Path(words[2]) / "config.json").exists()
    modules = words[words.index("--lora-modules") + 1 : words.index("--structured-outputs-config.backend")]
    assert [m.split("@")[0] for m in modules] == ["extract", "answer"]
    assert all((Path(m.split("=")[1]) / "adapter_model.safetensors").exists() for m in modules)
    assert words[words.index("--port") + 1] == "8001" and int(words[words.index("--max-lora-rank") + 1]) >= 8
