"""One file a step. A step that was released is never edited."""
