"""Addresses are shown with their real host, and nothing but http and https can be opened."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.links import links_in, real_address


def test_links_of_a_message_are_found_without_the_sentence_around_them() -> None:
    text = "See https://example.org/a_(b). And (http://example.com:8080/x?y=1), [w](https://example.org/a_(b))"
    assert links_in(text) == ("https://example.org/a_(b)", "http://example.com:8080/x?y=1")


def test_a_host_of_mixed_scripts_is_shown_as_punycode() -> None:
    assert real_address("https://ex\u0430mple.org/p\u0430th") == "https://xn--exmple-4nf.org/p%D0%B0th"


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "file:///etc/passwd", "https://user@example.org", "https://", "http://[::1", "ftp://x"],
)
def test_other_addresses_cannot_be_opened(address: str) -> None:
    assert real_address(address) is None and links_in(address) == ()


@given(st.text(max_size=200))
def test_any_text_gives_plain_addresses_only(text: str) -> None:
    for address in (*links_in(text), *links_in(f"https://{text}")):
        assert address.isascii() and address.isprintable() and address.startswith(("http://", "https://"))
