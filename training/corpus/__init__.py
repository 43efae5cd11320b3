"""The teacher corpus: labelled conversations as values, their validator, their split, and the way new ones come in.

``python -m training.corpus check [FOLDER]`` validates, ``python -m training.corpus import FOLDER`` takes in new ones.
"""

from training.corpus.conversation import Conversation, Distinct, Occurrence, Question, Turn, read
from training.corpus.folder import CORPUS, Split, load, paths, split

__all__ = [
    "CORPUS",
    "Conversation",
    "Distinct",
    "Occurrence",
    "Question",
    "Split",
    "Turn",
    "load",
    "paths",
    "read",
    "split",
]
