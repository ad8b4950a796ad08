"""Which words of a sentence are worth looking for; pure."""

from __future__ import annotations

import re

from store.limits import MODEL_QUERY_CHARS

_QUERY_WORDS = 12

_QUOTED = re.compile(r'"([^"\n]{1,120})"|“([^”\n]{1,120})”|„([^“”\n]{1,120})[“”]|«([^»\n]{1,120})»')
_TOKEN = re.compile(r"[^\s\"“”„«»,;!?¿¡()\[\]{}…]+")
_EDGES = ".:'’‘`*_~-–—/\\<>|="

_ENGLISH = """
a an the this that these those it its it's i me my mine we us our ours you your yours he him his she her hers they them
their theirs one ones someone anyone somebody anybody something anything everything nothing thing things stuff
and or but so if then than as at by for from in into of off on onto out over to up down with without about around
between during before after since until till per via versus vs again also too just only even still yet ever never once
already maybe perhaps really very much many more most less least some any all both each every no not nor other others
another same such own here there now today
is are was were be been being am do does did done doing have has had having can could will would shall should may
might must ought let lets let's get gets got getting give gives gave go goes going went come comes came
make makes made take takes took put want wants wanted
need needs needed like know knows knew think thought use used using
isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't wouldn't shouldn't
i'm i've i'd i'll we're we've we'd we'll you're you've you'd you'll he's she's they're they've that's there's what's
who's where's when's how's here's im ive dont didnt cant whats wht
what which who whom whose when where why how whether
say says said saying tell tells told telling talk talks talked talking mention mentions mentioned mentioning discuss
discusses discussed discussing discussion decide decides decided deciding decision agree agrees agreed ask asks asked
asking remember remembers recall remind reminds reminded figure figured choose chose chosen pick picked settle settled
find finds found finding search searches searching look looks looked looking lookup show shows check checks see seen
summarise summarize summarised summarized summary
chat chats conversation conversations thread threads history earlier previously previous last past ago time times
yesterday
please pls plz kindly hey hi hello ok okay well sure pretty um umm hmm uh oh thanks thank bit lot kind sort
"""

_FOREIGN = {
    "de": """ich du er sie es wir ihr der die das den dem des ein eine einen einem einer und oder aber was wer wo wann
    wie warum über von mit für zu zum zur im in am an auf aus bei nach vor haben habe hat hatte hatten ist sind war
    waren wird werden nicht noch mal bitte gesagt entschieden besprochen gesprochen beschlossen unser unsere mein meine
    letzte woche""",
    "fr": """je tu il elle nous vous ils elles le la les un une des du de et ou mais que quoi qui où quand comment
    pourquoi sur avec pour dans en au aux est sont avons avez ont été pas ce cette ces mon ma mes notre nos dit décidé
    parlé à propos""",
    "es": """yo tú él ella nosotros ellos el la los las un una unos unas de del y o pero que qué quién dónde cuándo cómo
    por sobre con para en al es son hemos he han no ese esa esto mi mis nuestro dijimos decidimos hablamos""",
    "pt": "eu tu ele ela nós eles os as um uma de do da dos das ou mas que quem onde quando como sobre com para em",
    "it": "io tu lui lei noi voi loro il lo la gli le un una di del della ma che chi dove quando come su con per",
}

_STOP = frozenset(_ENGLISH.split())
_STOPS = {lang: frozenset(words.split()) for lang, words in _FOREIGN.items()}


def straight(text: str) -> str:
    """Curly apostrophes made straight; nothing else is changed, so positions stay valid."""
    return text.replace("’", "'").replace("‘", "'")


def tokens(text: str) -> list[str]:
    """The words without the punctuation around them; `#4711`, `a.b_c` and `C:\\x` stay whole."""
    found = (_bare(match.group()) for match in _TOKEN.finditer(straight(text)))
    return [word for word in found if word]


def _bare(word: str) -> str:
    word = word.strip(_EDGES)
    return re.sub(r"'s$|s'$", lambda m: "s" if m.group() == "s'" else "", word) if not _is_stop(word) else word


def _is_stop(word: str) -> bool:
    return word.lower() in _STOP


def distinctive(text: str, besides: frozenset[str] = frozenset()) -> list[str]:
    """The words worth looking for, in their order, once each; those of `besides` (lower case) left out."""
    words = tokens(text)
    stop = set(besides)
    lower = [word.lower() for word in words]
    for more in _STOPS.values():
        # A language's small words are left out only where the sentence seems to be in it.
        if sum(word in more and word not in _STOP for word in lower) >= 2:
            stop |= more
    kept: dict[str, str] = {}
    for word, low in zip(words, lower, strict=True):
        if low in stop or low in _STOP or (len(low) == 1 and low.isascii() and not low.isdigit()):
            continue
        kept.setdefault(low, word)
    return list(kept.values())


def query_of(text: str, besides: frozenset[str] = frozenset()) -> str:
    """What to search for: quoted phrases with their quotes, then the distinctive words; "" when there are none."""
    parts: list[str] = []
    for match in _QUOTED.finditer(text):
        phrase = " ".join(next(group for group in match.groups() if group).split())
        parts.append(f'"{phrase}"')
    rest = _QUOTED.sub(" ", text)
    parts += distinctive(rest, besides)[:_QUERY_WORDS]
    query = ""
    for part in parts:
        if len(query) + 1 + len(part) > MODEL_QUERY_CHARS:
            break
        query = f"{query} {part}".strip()
    return query or (parts[0][:MODEL_QUERY_CHARS] if parts else "")


_OPENERS = re.compile(
    r"(?:(?:hey|hi|hello|ok|okay|so|um+|well|please|pls|plz|now|and|but|just)\b[,.!\s]*"
    r"|(?:wait|hold on|hang on)(?: an? (?:sec|second|minute|moment|bit))?[,.!…]+\s*(?=\S)"
    r"|(?:can|could|would|will) you (?:please |pls |just )*"
    r"|(?:i want|i need|i'd like) you to )+",
    re.IGNORECASE,
)


def without_opener(text: str) -> str:
    """The text without the polite words before it ("hey, could you please …")."""
    text = text.strip()
    match = _OPENERS.match(straight(text))
    return text[match.end() :].lstrip(" ,") if match else text
