"""The steps of ``training/gpu_check.sh``."""
