"""Senders: friends, colleagues, lists and shops, and the parts that the names of spam senders are composed of."""

from __future__ import annotations

from typing import NamedTuple

OWNER = ("Mila Novak", "mila@home.example")
"""The owner of the mailbox: a translator of maps who sings, has a garden, and knows people everywhere."""


class Person(NamedTuple):
    """A sender, with language, time zone and mail program."""

    name: str
    address: str
    language: str
    zone: int
    """Hours ahead of Greenwich."""
    mailer: str = ""


FRIENDS = (
    Person("Tom Hale", "tom@hale.example", "english", 1, "Thistle Mail 12.1"),
    Person("Ruth Okafor", "ruth.okafor@post.example.net", "english", 1),
    Person("Grace Lin", "gracelin@freemail.example", "english", -5, "PocketPost 4"),
    Person("Jonas Weber", "jonas@weber.example", "german", 2, "Thistle Mail 12.1"),
    Person("Käthe Krüger", "kaethe@post.example.net", "german", 2),
    Person("Claire Dubois", "claire@dubois.example.net", "french", 2, "PocketPost 4"),
    Person("Étienne Lefèvre", "etienne@freemail.example", "french", 2),
    Person("Lucía Gómez", "lucia@post.example.net", "spanish", 2, "PocketPost 4"),
    Person("Zofia Wójcik", "zofia@wojcik.example", "polish", 2, "Thistle Mail 12.1"),
    Person("Наталья Орлова", "natalia@pochta.example", "russian", 3),
    Person("Ελένη Παππά", "eleni@freemail.example", "greek", 3),
    Person("Ayşe Yılmaz", "ayse@posta.example", "turkish", 3, "PocketPost 4"),
    Person("ليلى حداد", "layla@freemail.example", "arabic", 3),
    Person("王小雨", "xiaoyu.wang@youjian.example", "chinese", 8),
    Person("佐藤 花子", "hanako@yubin.example", "japanese", 9, "Thistle Mail 12.1"),
)
COLLEAGUES = (
    Person("Henrik Lund", "lund@maps.example.com", "english", 2, "Bureau 2024"),
    Person("Paula Stein", "stein@maps.example.com", "german", 2, "Bureau 2024"),
    Person("Musée des Cartes", "editions@musee.example.org", "french", 2, "Bureau 2024"),
    Person("Marek Zieliński", "marek@mapa.example", "polish", 2, "Thistle Mail 12.1"),
    Person("Isabel Ruiz", "ruiz@atlas.example.org", "spanish", 2),
    Person("Сергей Волков", "volkov@karta.example", "russian", 3),
    Person("Νίκος Βλάχος", "vlachos@xartis.example", "greek", 3),
    Person("Emre Demir", "emre@harita.example", "turkish", 3),
    Person("كريم منصور", "karim@kharita.example", "arabic", 2),
    Person("李明", "li.ming@ditu.example", "chinese", 8, "Bureau 2024"),
    Person("鈴木 健", "suzuki@chizu.example", "japanese", 9),
)
LISTS = {
    "choir": ("choir.lists.example.org", ("berta@fink.example", "tom@hale.example", "olga@freemail.example")),
    "allotment": ("allotment.lists.example.org", ("fritz@hahn.example", "ruth.okafor@post.example.net")),
    "translators": (
        "translators.example.net",
        ("anneke@visser.example", "piet@freemail.example", "joan@post.example.net"),
    ),
}
"""For each list its name in List-Id and the addresses of its writers."""

WRITERS = {
    "berta@fink.example": "Berta Fink", "tom@hale.example": "Tom Hale", "olga@freemail.example": "Olga Brandt",
    "fritz@hahn.example": "Fritz Hahn", "ruth.okafor@post.example.net": "Ruth Okafor",
    "anneke@visser.example": "Anneke Visser", "piet@freemail.example": "Piet Bos",
    "joan@post.example.net": "Joan Miller",
}  # fmt: skip
SERVICES = {
    "bookshop": Person("The Paper Boat", "orders@paperboat.example", "english", 1),
    "library": Person("City Library", "desk@library.example.org", "english", 2),
    "bank": Person("Linden Bank", "service@lindenbank.example", "english", 2),
    "railway": Person("Northern Railways", "tickets@railways.example.com", "english", 2),
}
NEWSLETTERS = (
    Person("The Paper Boat", "news@paperboat.example", "english", 1),
    Person("Museum of Maps", "programme@museum.example.org", "english", 2),
    Person("Blumenzwiebel Huber", "post@zwiebel.example", "german", 2),
    Person("Librairie du Quai", "lettre@quai.example", "french", 2),
    Person("Mapas y Libros", "cartas@mapas.example", "spanish", 2),
    Person("Księgarnia Wisła", "list@wisla.example", "polish", 2),
)
STRANGERS = ("Alan Price", "Dora Keller", "Ines Costa", "Viktor Blom", "Nina Petrova", "Paul Achebe")
FIRST = (
    "Linda",
    "Mark",
    "Sandra",
    "James",
    "Olga",
    "Peter",
    "Mrs Agatha",
    "Dr Victor",
    "Admiral",
    "Susan",
    "Tom",
    "Anna",
)
LAST = ("Goldwater", "Smith", "Prosper", "Mugwump", "Lucky", "Weber", "Brown", "Fortuna", "Hale", "Bright", "Klein")
BRANDS = (
    "Moon Pharmacy",
    "Ruritania Lottery",
    "Mail Administrator",
    "Chronoduke",
    "Quillcoin Club",
    "Best Deals",
    "Support",
)
SYLLABLES = (
    "zel",
    "moo",
    "qui",
    "dro",
    "lux",
    "pri",
    "max",
    "win",
    "top",
    "gno",
    "vip",
    "rur",
    "ton",
    "pay",
    "tix",
    "gold",
)
