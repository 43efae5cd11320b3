"""Recipes beyond labels: on-policy distillation and preference tuning."""
