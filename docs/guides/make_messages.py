"""Makes the example texts of `deciban example`: messages that nobody wrote, put together from the parts below.

python docs/guides/make_messages.py        writes messages.csv and new-messages.csv into the package
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from random import Random

FOLDER = Path(__file__).parents[2] / "src" / "deciban" / "cli" / "examples"
COLUMNS = ("number", "shop", "amount", "message", "topic")
SHARE = {"delivery": 0.32, "billing": 0.27, "technical": 0.26, "praise": 0.15}
AMOUNT = {"delivery": (15, 120), "billing": (20, 260), "technical": (25, 400), "praise": (15, 200)}
THINGS = (
    "kettle",
    "lamp",
    "keyboard",
    "coffee machine",
    "vacuum cleaner",
    "headset",
    "router",
    "alarm clock",
    "radio",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
GREETINGS = ("Hello,", "Hi there,", "Good morning,", "Dear team,", "Hey!", "To whom it may concern,")
ENDINGS = (
    "Please get back to me.", "Thanks.", "Kind regards", "Looking forward to your answer.", "Can you help me?",
    "What should I do now?", "Thank you in advance.", "Please reply soon.", "Best wishes",
)  # fmt: skip
SENTENCES = {
    "delivery": (
        "my [thing] [was supposed to arrive|should have come] on [day] and it still [is not here|has not arrived].",
        "The tracking number [does not work|is wrong] and the courier [says|claims] the parcel was delivered.",
        "I [have been waiting|am still waiting] for [the|my] [parcel|package|delivery] since [day].",
        "The [driver|courier] left the [box|parcel|package] with a neighbour [I do not know|who is on holiday].",
        "Where is my [order|parcel|package]? The tracking page [has said|says] in transit [since|on] [day].",
        "the [thing] [arrived|came] in a damaged box[, the package was open|].",
        "Can you [send|deliver] the [thing] to another address?",
        "The [courier|driver] never rang, although I was [at home|in] all [day].",
        "My [parcel|order|delivery] went to the wrong [address|city].",
        "How long does [shipping|delivery] take? I ordered the [thing] [last week|on [day]].",
        "[Half|Part] of my [order|delivery] is missing: the [thing] was not in the [package|box|parcel].",
    ),
    "billing": (
        "I [was charged|have paid] twice for the [thing].",
        "There is [an amount|a fee] on my [invoice|bill] that I do not understand.",
        "[Please send me|I need] a [corrected|new] invoice for the [thing].",
        "I returned the [thing] on [day] and still [have no refund|wait for my money].",
        "My [credit card|account|card] was charged before [the order was sent|anything was sent].",
        "the [discount|discount code|voucher] was not taken off the [price|bill].",
        "I cancelled on [day], but you [took the money from my account|charged me].",
        "The refund [is smaller than|does not match] what I paid for the [thing].",
        "Can I pay the [invoice|bill] [next month|by bank transfer|in two parts]?",
        "Your payment page refused my [card|credit card] and then the bank [charged me|took the money] anyway.",
        "The [tax|total] on the [bill|invoice] is wrong.",
    ),
    "technical": (
        "the [thing] does not [switch|turn] on any more.",
        "[After|Since] the update the [thing] shows an error and [restarts|stops].",
        "I cannot log in, the password [reset mail never comes|is refused].",
        "The app [crashes|freezes|stops] when I open [it|the settings].",
        "How do I connect the [thing] to my [phone|network|laptop]?",
        "The [thing] makes a strange noise[ since [day]|].",
        "the screen [stays|goes] black [after|when] I press the button.",
        "It worked until [day], now the light [only blinks|blinks] red.",
        "The manual does not say how to reset the [thing].",
        "The battery of the [thing] [is empty after an hour|does not charge].",
        "The [website|app] shows an error when I [try to register|register] the [thing].",
    ),
    "praise": (
        "I love the [thing], it is exactly what I [wanted|needed].",
        "[Great|Excellent] service, I will [certainly|gladly] order again.",
        "The [thing] works perfectly and [looks beautiful|looks great].",
        "Your colleague on the phone was [so|very] [friendly|helpful|kind]!",
        "[Fantastic|Great|Excellent] quality for the price.",
        "Just wanted to say thank you, the [thing] is [wonderful|perfect|great].",
        "The delivery was [quick|fast] and everything was well packed.",
        "[My whole family is|We are all] [happy|delighted] with the [thing].",
        "[Best|Nicest] shop I know, keep it up!",
    ),
}
STRAY = 0.22
"""How often a message has a sentence that belongs elsewhere, as real ones do."""


def messages(n: int, seed: int, first: int) -> list[dict[str, str]]:
    """n rows; only `Random.random` is drawn from, which is the same in every version of Python."""
    rng = Random(seed)
    return [_message(rng, first + i) for i in range(n)]


def _message(rng: Random, number: int) -> dict[str, str]:
    topic = _share(rng)
    low, high = AMOUNT[topic]
    return {
        "number": f"M{number:04}",
        "shop": "north" if rng.random() < 0.6 else "south",
        "amount": f"{low + (high - low) * rng.random() ** 2:.2f}",
        "message": _compose_message(rng, topic),
        "topic": topic,
    }


def _compose_message(rng: Random, topic: str) -> str:
    """Return one or two sentences of the topic, perhaps one of another topic, a greeting and an ending."""
    thing, day = _one_of(rng, THINGS), _one_of(rng, DAYS)
    body = [_one_of(rng, SENTENCES[topic])]
    another = _one_of(rng, SENTENCES[topic])
    if rng.random() < 0.45 and another not in body:
        body.append(another)
    if rng.random() < STRAY:
        body.insert(int(2 * rng.random()), _one_of(rng, SENTENCES[_one_of(rng, tuple(SENTENCES))]))
    if rng.random() < 0.5:
        body.insert(0, _one_of(rng, GREETINGS))
    if rng.random() < 0.55:
        body.append(_one_of(rng, ENDINGS))
    text = " ".join(dict.fromkeys(body)).replace("[thing]", thing).replace("[day]", day)
    while choice := re.search(r"\[([^\[\]]*)\]", text):
        text = text[: choice.start()] + _one_of(rng, choice[1].split("|")) + text[choice.end() :]
    return text[0].upper() + text[1:] if rng.random() < 0.8 else text.lower()


def _share(rng: Random) -> str:
    u = rng.random()
    for topic, share in SHARE.items():
        u -= share
        if u < 0:
            return topic
    return topic


def _one_of(rng: Random, choices: Sequence[str]) -> str:
    return choices[int(len(choices) * rng.random())]


def as_csv(rows: list[dict[str, str]], columns: tuple[str, ...]) -> str:
    """The table as it is shipped."""
    text = StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def tables() -> dict[str, str]:
    """Both files by name; those that nobody has read yet come after the others."""
    return {
        "messages.csv": as_csv(messages(400, seed=4, first=1), COLUMNS),
        "new-messages.csv": as_csv(messages(6, seed=15, first=401), COLUMNS[:-1]),
    }


if __name__ == "__main__":
    for name, text in tables().items():
        (FOLDER / name).write_text(text)
