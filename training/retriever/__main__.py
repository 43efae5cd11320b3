"""``python -m training.retriever``."""

from training.retriever.train import main

main()
