"""The retrieval adapter of the encoder: questions and their evidence, contrastive training, recall."""
