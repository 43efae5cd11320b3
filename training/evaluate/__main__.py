"""``python -m training.evaluate``."""

from training.evaluate.program import main

main()
