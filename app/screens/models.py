"""F7: which model answers in this chat. Looking around sends nothing; names are asked for only when chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.screens.deck_chats import DeckChats
    from app.screens.picker import Picker

_ASK = "ask "


def catalogue_of(services: Any) -> Any:
    """The catalogue of the services, made when it is first wanted."""
    if services.catalogue is None and services.wires is not None:
        from app.providers.catalogue import Catalogue

        services.catalogue = Catalogue(services.wires, services.settings)
    return services.catalogue


def choose_model(deck: DeckChats) -> None:
    """Offline, the models used in other chats, and what is found here; a name may be typed."""
    from app.screens.picker import Choice, Picker

    now = deck.summary.model if deck.summary is not None else ""
    used = dict.fromkeys(["offline", deck.app.settings.model, *(c.model for c in deck.chats.values() if c.model)])
    notes = {"offline": "no key, no network: quotes your own chats"}
    choices = [Choice(m, m, " · ".join(w for w in (notes.get(m, ""), "now" if m == now else "") if w)) for m in used]
    picker = Picker("Model of this chat", choices, free="name one, such as openai:NAME")
    deck.app.push_screen(picker, lambda model: _chosen(deck, model))
    catalogue = catalogue_of(deck.services)
    if catalogue is not None:
        deck.run_later(_add_found(picker, catalogue))


async def _add_found(picker: Picker, catalogue: Any) -> None:
    from app.screens.picker import Choice

    found = await catalogue.look()
    picker.add([Choice(f"{_ASK}{f.name}", f"{f.name} …", f.words) for f in found if f.kind != "program"])


def _chosen(deck: DeckChats, model: str | None) -> None:
    if not model:
        return
    if not model.startswith(_ASK):
        deck.set_model(model)
        return
    catalogue = catalogue_of(deck.services)
    found = next((f for f in catalogue.found if f.name == model.removeprefix(_ASK)), None)
    if found is not None:
        deck.say(f"Asking {found.name} for its models…")
        deck.run_later(_list(deck, catalogue, found))


async def _list(deck: DeckChats, catalogue: Any, found: Any) -> None:
    from app.ports import WireError
    from app.screens.picker import Choice, Picker

    try:
        with_names = await catalogue.models(found)
    except WireError as error:
        deck.say(error.sentence, "error")
        return
    choices = [Choice(name, name) for name in with_names.model_names]
    picker = Picker(f"Models of {found.name}", choices, free="name another, such as openai:NAME")
    deck.app.push_screen(picker, lambda model: deck.set_model(model) if model else None)
