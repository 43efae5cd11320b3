"""Labels and new conversations from a large model behind any OpenAI-compatible endpoint, each answer paid for once.

``python -m training.teacher label --task TASK --config configs/teacher.yaml IN OUT`` labels,
``python -m training.teacher corpus --config configs/teacher.yaml --out DIR --count N`` writes.
"""
