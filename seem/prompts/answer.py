"""The text in which a question and its evidence are put to the reader: one for the small tuned model, one for any chat model.

Takes question and context, gives prompt text; used by training AND by serving. The context is data: it is fenced, and the reader is told so.
Knows nothing about tokenizers or endpoints.
"""

from __future__ import annotations

from seem.prompts.texts import answer_messages
from seem.prompts.window import show

NOT_MENTIONED = "Not mentioned"
# The small reader loses the thread in a long context. Each section has its share of words, so that events, which carry the resolved dates, are seen
# beside the passages; lines are whole, the lowest ranked are left out, what a section does not use goes to the next.
TUNED_SHARES = {"Passages:": 130, "Events:": 70, "Facts:": 20}


def tuned_prompt(question: str, context: str) -> str:
    """Render the tuned reader's prompt; the completion starts on the next line."""
    lines: list[str] = []
    room, full = 0, False
    for line in context.split("\n"):
        if line in TUNED_SHARES:
            room, full = room + TUNED_SHARES[line], False
            continue
        text = show(line).text
        size = len(text.split())
        full = full or size > room
        if not full:
            lines.append(text)
            room -= size
    return "\n".join([*lines, "question: " + show(question).text, "=>"]) + "\n"


def chat_messages(question: str, context: str) -> list[dict[str, str]]:
    """Render the messages for a chat model."""
    return answer_messages(question, context)
