"""What a file is, by its first bytes, and how its text is decoded: pure."""

from __future__ import annotations

import codecs
import io
from dataclasses import dataclass
from typing import Final

MAGIC: Final = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive or office document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a Windows program"),
    (b"\xca\xfe\xba\xbe", "a compiled program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"RIFF", "a RIFF sound, picture or film"),
    (b"OggS", "an Ogg sound or film"),
    (b"ID3", "an MP3 sound"),
    (b"\0asm", "a WebAssembly program"),
)
BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 text with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32 text"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32 text"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16 text"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16 text"),
)
SAMPLE_BYTES: Final = 64 * 1024
CONTROL_SHARE: Final = 0.05  # with more control characters than this it isn't text
FEW_CONTROLS: Final = 4  # fewer say nothing in a short text
LATIN_CONTROL_SHARE: Final = 0.02
BROKEN_SHARE: Final = 0.01  # UTF-8 with more broken places than this is taken for Latin-1
_PLAIN: Final = frozenset(b"\t\n\r\f\x1b\b")
_PICTURES: Final = (
    {c: 0x2400 + c for c in range(32) if c not in (9, 10)} | {127: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
)


@dataclass(frozen=True, slots=True)
class Kind:
    """`words` for people; `encoding` None: not text; `bom` bytes at the start aren't text; `plain` needs no words."""

    words: str
    encoding: str | None
    bom: int = 0
    plain: bool = False

    def decode(self, data: bytes) -> str:
        """The text, so that `encode` gives the same bytes back."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "strict"
        return data[self.bom :].decode(self.encoding or "latin-1", errors)

    def encode(self, text: str, start: bytes = b"") -> bytes:
        """The bytes of a text, behind the byte order mark of `start`. Raises UnicodeEncodeError."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "strict"
        return start[: self.bom] + text.encode(self.encoding or "latin-1", errors)

    def decoder(self) -> io.IncrementalNewlineDecoder:
        """Decodes piece by piece; every line end becomes a newline."""
        make = codecs.getincrementaldecoder(self.encoding or "latin-1")
        return io.IncrementalNewlineDecoder(make("replace"), translate=True)


def kind_of(sample: bytes, *, whole: bool = False) -> Kind:  # noqa: PLR0911 - one list of cases
    """What the first bytes of a file say; `whole`: there are no more."""
    for bom, encoding, words in BOMS:
        if sample.startswith(bom):
            return Kind(words, encoding, len(bom))
    for start, words in MAGIC:
        if sample.startswith(start) and (b"\0" in sample or not _decodes(sample)):
            return Kind(words, None)
    if wide := _utf16(sample):
        return Kind("UTF-16 text without a byte order mark", wide)
    if not sample:
        return Kind("empty", "utf-8", plain=True)
    controls = sum(1 for b in sample if (b < 32 and b not in _PLAIN) or b == 127)
    share = 0.0 if controls < FEW_CONTROLS and len(sample) > controls * 2 else controls / len(sample)
    broken = _broken(sample, whole=whole)
    if broken == 0:
        if share > CONTROL_SHARE:
            return Kind("binary data", None)
        nuls = sample.count(0)
        return Kind("text with NUL characters, shown as ␀", "utf-8") if nuls else Kind("text", "utf-8", plain=True)
    marks = sum(1 for b in sample if b >= 0xC0)
    if 0 not in sample and broken <= max(1, len(sample) * BROKEN_SHARE) and broken * 4 < marks:
        return Kind("UTF-8 text with broken places, shown as �", "utf-8")
    high = sum(1 for b in sample if 0x80 <= b < 0xA0) / len(sample)
    if share <= LATIN_CONTROL_SHARE and high <= CONTROL_SHARE and 0 not in sample:
        return Kind("Latin-1 text", "latin-1")
    return Kind("binary data", None)


def kind_of_all(data: bytes) -> Kind:
    """What a whole file is; text only where all of it can be decoded."""
    kind = kind_of(data[:SAMPLE_BYTES], whole=len(data) <= SAMPLE_BYTES)
    try:
        if kind.encoding is not None and kind.encoding.startswith("utf-") and kind.encoding != "utf-8":
            kind.decode(data)
    except UnicodeDecodeError:
        return Kind(f"broken {kind.words}", None)
    return kind


def shown(line: str) -> str:
    """A line of a file with its control characters made visible."""
    return line.translate(_PICTURES).encode("utf-8", "replace").decode("utf-8")


def _decodes(sample: bytes) -> bool:
    return _broken(sample, whole=False) == 0


def _broken(sample: bytes, *, whole: bool) -> int:
    """How many places aren't UTF-8; a character cut off at the end of a part isn't one."""
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(sample, whole)
    return sum(1 for c in text if "\udc80" <= c <= "\udcff")


def _utf16(sample: bytes) -> str | None:
    """UTF-16 without a mark: nearly every second byte of Western text is NUL."""
    if len(sample) < 4 or 0 not in sample:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    if odd > half * 0.4 and even < half * 0.05:
        return "utf-16-le"
    if even > half * 0.4 and odd < half * 0.05:
        return "utf-16-be"
    return None
