"""``python -m training.judge``."""

from training.judge.train import main

main()
