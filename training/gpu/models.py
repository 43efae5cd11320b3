"""Steps of ``gpu_check``: models made on the spot, then decoder, 4-bit, encoder, index and PageRank on the GPU against the CPU.

Each takes its name, the check's folder and whether there is a CPU only, and gives what it measured; a difference that is too large is an AssertionError.
Weights are random, so that these steps compare arithmetic and say nothing about quality.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

CORPUS = Path("data/corpus")
PROMPTS = [f"names: Ana, Ben\nAna: {text}\n=>\n" for text in ("I moved to Riga.", "Ben sold his car on Monday.", "ok")]
TOKENS = 4096


def models(step: str, out: Path, *, cpu: bool) -> dict[str, Any]:
    """Make the base, of the shape of Qwen3-0.6B or tiny, with a tokenizer of the corpus's words, and cut a small corpus."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    chosen = {"train": 2, "dev": 2, "test": 1} if cpu else {"train": 4, "dev": 2, "test": 1}
    split = json.loads((CORPUS / "split.json").read_text(encoding="utf-8"))
    folder = out / "models" / "corpus"
    (folder / "conversations").mkdir(parents=True, exist_ok=True)
    kept = {name: split[name][:count] for name, count in chosen.items()}
    for name in sum(kept.values(), []):
        text = (CORPUS / "conversations" / f"{name}.json").read_text(encoding="utf-8")
        (folder / "conversations" / f"{name}.json").write_text(text, encoding="utf-8")
    (folder / "split.json").write_text(json.dumps(kept), encoding="utf-8")

    base = out / "models" / "decoder"
    tokenizer = _tokenizer()
    tokenizer.save_pretrained(base)
    torch.manual_seed(1)
    shape: dict[str, Any] = (
        {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
        | {"num_key_value_heads": 1, "head_dim": 32, "vocab_size": TOKENS + 64}
        if cpu
        else {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16}
        | {"num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151_936}
    )
    special = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    with torch.device("cpu" if cpu else "cuda"):
        network: Any = Qwen3ForCausalLM(Qwen3Config(tie_word_embeddings=True, **shape, **special))
    network.to(torch.bfloat16).save_pretrained(base)
    million = sum(p.numel() for p in network.parameters()) / 1e6
    device = "cpu" if cpu else torch.cuda.get_device_name()
    return {"device": device, "torch": torch.__version__, "million weights": round(million, 1)}


def _tokenizer() -> Any:
    """Train a byte-level tokenizer on the corpus's text: seconds, and no download."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer: Any = trainers.BpeTrainer
    told = trainer(
        vocab_size=TOKENS,
        special_tokens=["<|endoftext|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    files = sorted((CORPUS / "conversations").glob("*.json"))[:20]
    tokenizer.train_from_iterator((file.read_text(encoding="utf-8") for file in files), told)
    made: Any = PreTrainedTokenizerFast
    return made(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")


def decoder(step: str, out: Path, *, cpu: bool) -> dict[str, Any]:
    """Hold float32 and bfloat16 on the GPU against float32 on the CPU, and time decoding."""
    from seem.models.decoder import Decoder
    from seem.models.greedy import Request

    base, device = str(out / "models" / "decoder"), "cpu" if cpu else "cuda"
    reference = _logits(Decoder(base, device="cpu", dtype="float32"))
    exact = _difference(reference, _logits(Decoder(base, device=device, dtype="float32")))
    half = Decoder(base, device=device, dtype="bfloat16", batch_size=64)
    near = _difference(reference, _logits(half))
    assert exact < 1e-3, f"float32 differs by {exact:.1e}"
    assert near < 0.1, f"bfloat16 differs by {near:.1e}"
    requests = [Request(PROMPTS[n % 3]) for n in range(2 if cpu else 64)]
    length = 4 if cpu else 64
    half.generate(requests[:1], task=None, max_tokens=2)
    begun = time.perf_counter()
    made = half.generate(requests, task=None, max_tokens=length)
    rate = sum(out.tokens for out in made) / (time.perf_counter() - begun)
    return {"float32": f"{exact:.1e}", "bfloat16": f"{near:.1e}", "tokens/s": round(rate)}


def quantized(step: str, out: Path, *, cpu: bool) -> dict[str, Any]:
    """Load 4-bit on the GPU and on the CPU: the same weights, so nearly the same logits; and not far from the whole base."""
    from seem.models.decoder import Decoder
    from seem.models.greedy import Request

    base, device = str(out / "models" / "decoder"), "cpu" if cpu else "cuda"
    whole = _logits(Decoder(base, device="cpu", dtype="float32"))
    begun = time.perf_counter()
    small = Decoder(base, device=device, dtype="bfloat16", quantize="4bit")
    loaded = time.perf_counter() - begun
    there = _logits(small)
    here = there if cpu else _logits(Decoder(base, device="cpu", dtype="bfloat16", quantize="4bit"))
    apart, lost = _difference(here, there), _difference(whole, there)
    assert apart < 0.1, f"the GPU's four bits differ from the CPU's by {apart:.1e}"
    assert 1e-4 < lost < 0.9, f"four bits differ from the whole base by {lost:.1e}"
    made = small.generate([Request(PROMPTS[0])], task=None, max_tokens=4)
    memory = {} if cpu else {"GPU MiB": round(torch.cuda.max_memory_allocated() / 2**20)}
    return {
        "load s": round(loaded, 1),
        "GPU-CPU": f"{apart:.1e}",
        "lost": f"{lost:.1e}",
        "wrote": made[0].tokens,
        **memory,
    }


def encoder(step: str, out: Path, *, cpu: bool) -> dict[str, Any]:
    """Hold vectors of the GPU against the CPU's, and time them."""
    from seem.models.encoder import SentenceEncoder

    base = str(out / "models" / "decoder")
    here = SentenceEncoder(base, device="cpu").encode(PROMPTS)
    fast = SentenceEncoder(base, device="cpu" if cpu else "cuda", batch_size=128)
    apart = float(np.abs(fast.encode(PROMPTS) - here).max())
    assert apart < 1e-3, f"vectors differ by {apart:.1e}"
    texts = PROMPTS * (2 if cpu else 400)
    begun = time.perf_counter()
    fast.encode(texts)
    return {"GPU-CPU": f"{apart:.1e}", "texts/s": round(len(texts) / (time.perf_counter() - begun))}


def faiss(step: str, out: Path, *, cpu: bool) -> dict[str, Any]:
    """Hold the nearest vectors that the GPU finds against the CPU's, after removals too, and time both."""
    from seem.store.vectors import VectorIndex

    count = 2_000 if cpu else 200_000
    rows = np.random.default_rng(3).standard_normal((count, 384), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    ids = [f"p_{n}" for n in range(count)]
    indexes = [VectorIndex(384, gpu=not cpu), VectorIndex(384)]
    for index in indexes:
        index.add(ids, rows)
        index.remove(ids[:16])
    queries = rows[:64]
    there, here = (index.search(queries, 20) for index in indexes)
    same = [[i for i, _ in a[:10]] == [i for i, _ in b[:10]] for a, b in zip(there, here, strict=True)]
    assert sum(same) >= 62, f"only {sum(same)} of 64 queries have the same ten nearest"
    assert not {i for found in there for i, _ in found} & set(ids[:16]), "a removed vector was found"
    times = [_milliseconds(partial(index.search, queries, 20)) for index in indexes]
    return {"vectors": count, "same": f"{sum(same)}/64", "GPU ms": times[0], "CPU ms": times[1]}


def pagerank(step: str, out: Path, *, cpu: bool) -> dict[str, Any]:
    """Hold PageRank on CUDA against the CPU's, alone and in batches, and time both."""
    from seem.graph.build import Graph
    from seem.graph.ppr import personalized_pagerank

    rng = np.random.default_rng(5)
    nodes, edges = (500, 2_000) if cpu else (50_000, 400_000)
    graphs = [Graph(device="cpu" if cpu else "cuda"), Graph()]
    pairs = rng.integers(0, nodes, (edges, 2)).tolist()
    weights = rng.uniform(0.1, 3, edges).tolist()
    for graph in graphs:
        for number in range(nodes):
            graph.add_node(str(number))
        for (a, b), weight in zip(pairs, weights, strict=True):
            graph.set_edge(str(a), str(b), weight)
    detail: dict[str, Any] = {"nodes": nodes}
    for batch in (1, 32):
        restart = torch.zeros(batch, nodes)
        for row in restart:
            row[torch.from_numpy(rng.choice(nodes, 5, replace=False))] = 1.0
        there, here = (personalized_pagerank(graph, restart).cpu() for graph in graphs)
        apart = float((there - here).abs().sum(1).max())
        assert apart < 1e-4, f"scores differ by {apart:.1e} in sum"
        times = [_milliseconds(partial(personalized_pagerank, graph, restart)) for graph in graphs]
        detail |= {f"B={batch} GPU ms": times[0], f"B={batch} CPU ms": times[1], f"B={batch} L1": f"{apart:.1e}"}
    return detail


def _logits(decoder: Any) -> torch.Tensor:
    """Give the last logits of a prompt, on the CPU."""
    from seem.prompts.encode import encode_prompt

    ids = torch.tensor([encode_prompt(decoder.tokenizer, PROMPTS[1])], device=decoder.device)
    with torch.inference_mode():
        logits: torch.Tensor = decoder.forward(input_ids=ids).logits[0, -1].float().cpu()
    return logits


def _difference(expected: torch.Tensor, given: torch.Tensor) -> float:
    """Give the length of the difference as a share of what is expected."""
    return float((expected - given).norm() / expected.norm())


def _milliseconds(work: Callable[[], Any]) -> float:
    """Give the median time of one call, until the GPU has finished."""
    work()
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append((time.perf_counter() - begun) * 1e3)
    return round(statistics.median(times), 2)
