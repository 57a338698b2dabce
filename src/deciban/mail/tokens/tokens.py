"""Tokens of a message: of its headers, by a tokenizer for each kind of header, of its parts, and of its texts.

All but the words of its texts have a prefix that names their source.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from deciban.mail.message.message import VOLATILE_HEADERS, Message, Part
from deciban.mail.tokens import word_tokens
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions
from deciban.mail.tokens.word_tokens import MAIL, MAX_TOKEN_CHARACTERS, get_cleaner, split_host, split_words

MAX_TOKENS = 20_000
"""The largest number of tokens of a message; those beyond are omitted."""

MAX_CACHED_NAMES = 1000
MAX_CACHED_VALUES = 4096
MAX_NAME_CHARACTERS = 40
MAX_ADDRESSES = 10
MAX_ADDRESS_CHARACTERS = 1000
MAX_WORDS = 40
"""Words of one header."""

MAX_HOPS = 20
MAX_HOP_CHARACTERS = 500
MAX_HOP_NAMES = 4
"""Hosts of one hop, and addresses."""
TO_HOP_SPACES = str.maketrans(dict.fromkeys("()[]<>{};,=@\"'", " "))
LOCAL_RECEIVERS = re.compile("localhost|fetchmail|with imap|with pop3", re.IGNORECASE)
"""Words of a hop that is not a delivery: a mailbox was fetched, or a machine connected to itself."""
OWN_NETWORKS = ("127.", "10.", "192.168.", *(f"172.{n}." for n in range(16, 32)))

EXCLUDED_NAMES = (
    "x-original-date url x-url x-apparently-to x-egroups-return x-delivery-agent x-return-path x-rcpt-to x-recipient "
    "apparently-to x-mail-from resent-date x-pop3-rcpt replied forwarded x-gnus-mail-source x-from-line "
    "x-mail-format-warning x-mime-autoconverted x-antiabuse"
)
"""Headers that tell how or when mail was gathered: they would separate collections, not spam from ham.

Headers that stores, machines and filters write, which are not part of a digest, are excluded too.
"""
NAMES = f"{' '.join(VOLATILE_HEADERS.values())} {EXCLUDED_NAMES}".split()
EXCLUDED = frozenset(name for name in NAMES if name[-1] != "*")
EXCLUDED_PREFIXES = tuple(name[:-1] for name in NAMES if name[-1] == "*")
RESULT_HEADERS = frozenset(["authentication-results", "received-spf"])
"""Headers with results of the receiving server, which are read although others of its headers are not."""
LIST_HEADERS = re.compile(
    "list-.*|mailing-list|precedence|x-mailing-list|x-beenthere|x-mailman-version|x-loop|errors-to|x-list.*|"
    "mail-followup-to|x-unsubscription-info|x-ml-.*|feedback-id|x-campaign.*|x-precedence-ref|x-acceptable-languages"
)
LIST_HEADERS_WITH_WORDS = frozenset(
    ["list-id", "mailing-list", "precedence", "x-mailing-list", "x-beenthere", "x-loop", "errors-to"]
)
UNCACHED = frozenset(["subject", "message-id", "date", "dkim-signature"])
"""Headers whose values are hardly ever repeated."""
EXPECTED_HEADERS = ("from", "to", "subject", "date", "message-id")
"""Headers whose absence is a token."""

MAILER_WORD = re.compile(r"[a-z][\w-]*|\d+(?:\.\d+)*")
CAPITALS = re.compile("[A-Z]{3}")
ZONE = re.compile(r"[+-]\d{4}\b")
RESULT = re.compile(r"\b(spf|dkim|dmarc|arc|dkim-adsp|iprev|compauth)=(\w{1,12})", re.IGNORECASE)
SIGNER = re.compile(r"(?:^|;)\s*d=([\w.-]{1,80})")


def extract_tokens(message: Message, options: TokenOptions = DEFAULT_OPTIONS) -> list[str]:
    r"""Return the distinct tokens of a message, the words of its texts last.

    Before them are those of headers, parts, links, amounts, pairs and structure. No token has spaces or more than 60
    characters; at most `MAX_TOKENS` are returned.

    >>> from deciban.mail.message.message import read_message
    >>> raw = b"Subject: FREE\nFrom: a@b.example\n\nbuy at http://c.example/\n"
    >>> extract_tokens(read_message(raw), TokenOptions(names=False))
    ['subject:free', 'subject:FREE', 'from:addr:a@b.example', 'from:b.example', 'from:example', 'from:nameless',
     'type:text/plain', 'url:c.example', 'url:example', 'buy', 'at']
    """
    tokens, words = tokenize_headers(message.headers, options), list[bytes]()
    for part in message.parts:
        tokens += _tokenize_part(part, options)
        if part.kind != "attachment":
            words += _append_text_tokens(part.text, options, tokens)
    tokens += _tokenize_structure(message.parts)
    found = dict.fromkeys(tokens)
    cleaner = get_cleaner(options.shortest, options.longest)
    found.update(dict.fromkeys(map(cleaner.__getitem__, dict.fromkeys(words))))
    found.pop("", None)
    return list(found) if len(found) <= MAX_TOKENS else list(found)[:MAX_TOKENS]


def list_omissions(message: Message, tokens: list[str]) -> tuple[str, ...]:
    """List in words what limits omitted of a message and of its tokens; exactly `MAX_TOKENS` tokens count as cut."""
    return (*message.cut, f"tokens after the first {MAX_TOKENS}") if len(tokens) >= MAX_TOKENS else message.cut


def _tokenize_part(part: Part, options: TokenOptions) -> list[str]:
    """Return the tokens of a part other than its words: type, attached file, HTML tags, links and hidden words."""
    tokens = [truncate(f"type:{part.type}")]
    if part.charset:
        tokens.append(truncate(f"charset:{part.charset}"))
    if part.encoding:
        tokens.append(truncate(f"encoding:{part.encoding}"))
    if part.name or part.kind == "attachment":
        tokens += _tokenize_attachment(part, options)
    if part.kind == "html":
        tokens += [f"html:{mark}"[:MAX_TOKEN_CHARACTERS] for mark in part.tags]
        for link in part.links:
            tokens += word_tokens.tokenize_link(link)
        tokens += [f"hidden:{word}"[:MAX_TOKEN_CHARACTERS] for word in _clean_words(part.hidden, options)]
    return tokens


def _tokenize_attachment(part: Part, options: TokenOptions) -> list[str]:
    """Return the tokens of a named or attached file: its type, its size as a power of two, and its name."""
    stem, dot, extension = part.name[:200].lower().rpartition(".")
    tokens = [f"attachment:{part.type}", f"attachment:size:{part.size.bit_length()}"]
    if dot:
        tokens.append(f"attachment:.{extension}")
    tokens += [f"attachment:name:{word}" for word in _clean_words(stem or part.name[:200], options)[:10]]
    return [truncate(token) for token in tokens]


def _append_text_tokens(text: str, options: TokenOptions, tokens: list[str]) -> list[bytes]:
    """Append links, amounts, character pairs of unspaced scripts and word pairs to `tokens`; return the words.

    The words are not cleaned yet.
    """
    text, links = word_tokens.split_links(text)
    for link in links:
        tokens += word_tokens.tokenize_link(link)
    if not options.body:
        return []
    if options.amounts:
        tokens += word_tokens.find_amounts(text)
    if not text.isascii() and word_tokens.UNSPACED.search(text):
        tokens += word_tokens.find_character_pairs(text)
        text = word_tokens.UNSPACED.sub(" ", text)
    words = split_words(text)
    if options.pairs:
        tokens += word_tokens.join_pairs(get_cleaner(options.shortest, options.longest).clean_all(words))
    return words


def _tokenize_structure(parts: tuple[Part, ...]) -> list[str]:
    """Return `shape:` tokens: HTML only, HTML without text, or no parts."""
    kinds = {part.kind for part in parts}
    tokens = ["shape:html-only"] if kinds == {"html"} else []
    if "html" in kinds and not any(part.text.strip() for part in parts):
        tokens.append("shape:no-text")
    return tokens if kinds else ["shape:empty"]


def tokenize_headers(headers: Sequence[tuple[str, str]], options: TokenOptions) -> list[str]:
    """Return the tokens of all headers, in order, of missing ones, and of the reply address; some may be repeated."""
    tokens: list[str] = []
    hops: list[str] = []
    tokenizers = _get_tokenizers(options)
    for name, value in headers:
        if name == "received":
            hops.append(value)
        elif (tokenize := tokenizers[name]) is not None:
            tokens += tokenize(name, value)
    if options.received and hops:
        tokens += tokenize_hops(hops)
    first = dict(reversed(headers))
    if options.names:
        tokens += [f"no:{name}" for name in EXPECTED_HEADERS if name not in first]
    if options.sender and "reply-to" in first:
        tokens += _compare_reply(first["reply-to"], first.get("from", ""))
    return tokens


class _Tokenizers(dict[str, Callable[[str, str], list[str]] | None]):
    """A cache of the tokenizer of each header name under some options; None for names that are excluded."""

    def __init__(self, options: TokenOptions) -> None:
        super().__init__()
        self.options = options
        self._tokenize_cached = lru_cache(MAX_CACHED_VALUES)(self._tokenize)

    def __missing__(self, name: str) -> Callable[[str, str], list[str]] | None:
        if len(name) > MAX_NAME_CHARACTERS:
            return None
        if len(self) > MAX_CACHED_NAMES:
            self.clear()
        is_excluded = name not in RESULT_HEADERS and (name in EXCLUDED or name.startswith(EXCLUDED_PREFIXES))
        if not self.options.lists:  # lists write "sender", hardly any other sender does
            is_excluded = is_excluded or name == "sender" or LIST_HEADERS.fullmatch(name) is not None
        tokenize = self._tokenize if name in UNCACHED else self._tokenize_cached
        self[name] = found = None if is_excluded else tokenize
        return found

    def _tokenize(self, name: str, value: str) -> list[str]:
        tokens = tokenize_header(name, value, self.options)
        return [f"header:{name}", *tokens] if self.options.names else tokens


_get_tokenizers = lru_cache(8)(_Tokenizers)


def _compare_reply(reply_to: str, sender: str) -> list[str]:
    """Return a token: replies go to the sender, to its host, or elsewhere; none where one has no address."""
    one = MAIL.search(reply_to[:MAX_ADDRESS_CHARACTERS].lower())
    other = MAIL.search(sender[:MAX_ADDRESS_CHARACTERS].lower())
    if not one or not other:
        return []
    return ["reply:same" if one[0] == other[0] else "reply:host" if one[2] == other[2] else "reply:other"]


def tokenize_hops(hops: Sequence[str]) -> list[str]:
    """Return the hosts and networks that a message passed, and the number of hops.

    Hops within the reader's own machines are the same for all mail, and ignored.

    >>> tokenize_hops(["from localhost by me", "from pc (mx.a.example [192.0.2.7]) by me"])[:3]
    ['received:mx.a.example', 'received:a.example', 'received:example']
    """
    tokens: list[str] = []
    passed = 0
    for hop in hops[:MAX_HOPS]:
        clause, _, after = hop[:MAX_HOP_CHARACTERS].partition(" by ")
        if (found := _tokenize_clause(clause)) and not LOCAL_RECEIVERS.search(after, 0, 60):
            tokens += found
            passed += 1
    tokens.append(f"received:hops:{passed}")
    return tokens


@lru_cache(4096)
def _tokenize_clause(clause: str) -> tuple[str, ...]:
    """Return tokens of the sending machine as the receiving one noted it; none if it is local or not "from …"."""
    if clause[:5].lower() != "from " or "localhost" in clause:
        return ()
    clause = clause[5:]
    pieces = [piece for piece in clause.translate(TO_HOP_SPACES).split() if "." in piece]
    addresses = [piece for piece in pieces if word_tokens.IPV4.match(piece)][:MAX_HOP_NAMES]
    if "[::1]" in clause or any(ip.startswith(OWN_NETWORKS) for ip in addresses):
        return ()
    hosts = [piece for piece in pieces if piece.rpartition(".")[2].isalpha()][:MAX_HOP_NAMES]
    tokens = ["received:" + piece for name in (*hosts, *addresses) for piece in split_host(name)]
    helo = clause.partition(" ")[0].strip("[]()")
    if word_tokens.IPV4.match(helo):
        tokens.append("received:helo:numeric")
    elif "." not in helo:
        tokens.append("received:helo:bare")
    if "unknown" in clause[:100]:
        tokens.append("received:unknown")
    return tuple(tokens)


def truncate(token: str) -> str:
    """Replace the spaces of a token by _, and cut it at `MAX_TOKEN_CHARACTERS`."""
    return "_".join(token.split())[:MAX_TOKEN_CHARACTERS]


def _clean_words(text: str, options: TokenOptions, most: int | None = None) -> list[str]:
    """Return the cleaned forms of the words of a text (of the first `most`), without those that have none."""
    return get_cleaner(options.shortest, options.longest).clean_all(split_words(text)[:most])


def tokenize_header(name: str, value: str, options: TokenOptions) -> list[str]:
    """Return the tokens of a header by its name; of many only the presence counts, and they have none."""
    match name:
        case "subject":
            return _tokenize_subject(value, options) if options.subject else []
        case "from" | "sender" | "reply-to":
            return _tokenize_addresses(name, value, options) if options.sender else []
        case "to" | "cc":  # the recipients, and their number as a power of two
            n = min(value.count("@"), 100).bit_length()
            return [*_tokenize_addresses(name, value, options), f"{name}:{n}"]
        case "message-id":  # the host that assigned it
            host = value.rpartition("@")[2].strip("<> ")[:100]
            return [f"message-id:{piece}" for piece in split_host(host)] if options.sender else []
        case "date":  # the time zone: the day would only tell when the mail was gathered
            zone = ZONE.search(value)
            return [f"date:{zone[0] if zone else 'no-zone'}"]
        case "dkim-signature":  # the domain that signed the message
            signer = SIGNER.search(value[:1000])
            return [f"dkim:{piece}" for piece in split_host(signer[1])] if signer else []
        case "x-mailer" | "user-agent" | "x-mimeole":  # the program that wrote it, word by word and in one token
            words = MAILER_WORD.findall(value[:200].lower())[:8]
            return [f"mailer:{word}"[:MAX_TOKEN_CHARACTERS] for word in [*words, "_".join(words)]]
        case "x-priority" | "x-msmail-priority" | "importance":
            return [truncate(f"{name}:{value[:30].lower()}")]
        case "content-type" | "content-transfer-encoding":
            return [truncate(f"{name}:{value.partition(';')[0][:50].strip().lower()}")]
        case "authentication-results":  # of SPF, DKIM and DMARC, as the receiving server wrote them
            return [f"auth:{method}={result}".lower() for method, result in RESULT.findall(value)]
        case "received-spf":
            return [truncate(f"auth:spf={value.partition(' ')[0].lower()}")]
    if LIST_HEADERS.fullmatch(name):
        name, value = "list", value[:300] if name in LIST_HEADERS_WITH_WORDS else ""
    elif not options.others:
        return []
    return [f"{name}:{word}"[:MAX_TOKEN_CHARACTERS] for word in _clean_words(value, options, MAX_WORDS)]


def _tokenize_subject(value: str, options: TokenOptions) -> list[str]:
    """Return the tokens of a subject: words, pairs of them, words in capitals, prices, percentages and runs of !."""
    words = _clean_words(value, options, MAX_WORDS)
    tokens = [f"subject:{word}"[:MAX_TOKEN_CHARACTERS] for word in words]
    if options.subject_pairs:
        tokens += [f"subject:{pair}"[:MAX_TOKEN_CHARACTERS] for pair in word_tokens.join_pairs(words)]
    if not value.isascii() or CAPITALS.search(value):
        words = word_tokens.split_cased_words(value)[:MAX_WORDS]
        capitals = [word for word in words if word.isupper() and 2 < len(word) <= 20]
        tokens += [f"subject:{word}" for word in capitals]
        if len(capitals) > 2 and value.isupper():
            tokens.append("subject:capitals")
    if not value.isascii():
        tokens += [f"subject:{pair}" for pair in word_tokens.find_character_pairs(value)]
        tokens.append("subject:8bit")
    if options.amounts:
        tokens += [f"subject:{amount}" for amount in word_tokens.find_amounts(value)]
        tokens += [f"subject:{sign}" for sign in "!?" if sign in value]
    return tokens


def _tokenize_addresses(name: str, value: str, options: TokenOptions) -> list[str]:
    """Return the addresses and their hosts, and the words of the names around them."""
    value = value[:MAX_ADDRESS_CHARACTERS]
    tokens = []
    for user, host in MAIL.findall(value)[:MAX_ADDRESSES]:
        tokens.append(f"{name}:addr:{user}@{host}".lower()[:MAX_TOKEN_CHARACTERS])
        tokens += [f"{name}:{piece}" for piece in split_host(host)]
    words = [word for word in _clean_words(MAIL.sub(" ", value), options, MAX_WORDS) if word != "mailto"]
    tokens += [f"{name}:name:{word}"[:MAX_TOKEN_CHARACTERS] for word in words]
    if not words:
        tokens.append(f"{name}:nameless")
    return tokens
