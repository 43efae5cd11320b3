"""``python -m training.router``."""

from training.router.train import main

main()
