"""What each task of the decoder is trained on: prompts and completions from labelled conversations, projected onto spans, disguised."""
