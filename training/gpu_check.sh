#!/usr/bin/env bash
# The GPU path, checked within ten minutes from the working tree alone:  bash training/gpu_check.sh [--cpu] [--out FOLDER] [STEP...]
#   --cpu   on a CPU, with tiny models: shows that the check itself works
# It trains each student of configs/train/gpu-*.yaml for a few steps, loads 4-bit, runs FAISS and PageRank on CUDA and holds them against the CPU.
# Nothing is fetched: models are made on the spot, and of a library that is missing the name is told. PYTHON names the interpreter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

limit=570   # seconds for all steps
longest=150 # for one
out=runs/gpu-check
flags=()
steps=()
while (($#)); do
  case $1 in
    --cpu) flags=(--cpu) ;;
    --out) out=${2:?--out needs a folder} && shift ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit ;;
    -*) echo "unknown option $1; see --help" >&2 && exit 2 ;;
    *) steps+=("$1") ;;
  esac
  shift
done

python=${PYTHON:-.venv/bin/python}
command -v "$python" > /dev/null || python=python3
export HF_HUB_OFFLINE=1 OMP_WAIT_POLICY=PASSIVE TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1
mkdir -p "$out"
rm -f "$out"/*.json

if ((${#steps[@]} == 0)); then
  listed=$("$python" -m training.gpu.check steps)
  mapfile -t steps <<< "$listed"
elif [[ ! -f $out/models/decoder/config.json ]]; then
  steps=(models "${steps[@]}")
fi
for step in "${steps[@]}"; do
  left=$((limit - SECONDS))
  if ((left < 15)); then
    echo "$step: left out, the time is up"
    continue
  fi
  printf '%-20s ' "$step"
  timeout $((left < longest ? left : longest)) "$python" -m training.gpu.check run "$step" --out "$out" "${flags[@]}" > "$out/$step.log" 2>&1 || true
  "$python" -m training.gpu.check told "$step" --out "$out"
done
"$python" -m training.gpu.check table "${steps[@]}" --out "$out"
