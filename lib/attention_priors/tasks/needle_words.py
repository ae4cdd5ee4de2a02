"""The strings that needles are made of: words, numbers, uuids and the names of variables (Hsieh et al. 2024, RULER).

A word is adjective-noun from two lists of this project's own; RULER draws from another list of the same form.
"""

import uuid
from collections.abc import Callable, Mapping

import torch

_ADJECTIVES = """
    able amber ample arctic autumn awake bald bare basic bitter blank bleak blunt bold brave brief bright broad bronze
    brown busy calm candid careful cheap civil clean clear clever close coarse cold cosmic crisp crooked curious damp
    daring dark deep dense distant dry dull eager early eastern empty equal even exact faint fair famous fancy fast
    festive fierce final firm flat fond formal free fresh frozen full gentle giant glad global golden grand great grey
    happy hard heavy hidden high hollow honest huge humble icy idle inner ivory jolly keen kind large late lazy lean
    light little local lonely long loose loud low lucky lunar magenta marine mellow mighty mild modern modest muddy
    narrow native neat new noble nordic odd old open orange outer pale patient plain polite proud public pure purple
    quick quiet rapid rare ready remote rich rigid ripe rough round royal rural rusty safe salty scarlet sharp short
    shy silent silver simple slim slow small smooth soft solar solid sour spare steady steep stiff strange strong
    sudden sunny sweet swift tall tame tender thick thin tidy tiny urban useful vague vast violet vivid warm weary
    western wet white wide wild winter wise wooden young
"""
_NOUNS = """
    acorn anchor apple arrow badge bakery banjo barn basin basket beach beacon beaver bell bench berry blanket boat
    bottle bowl branch bread brick bridge brook broom bucket button cabin cable cactus camel camera candle canoe canyon
    carpet castle cedar cellar chair chalk cherry circle cliff clock cloud coast comet compass copper coral corner
    cottage cousin cradle crane crater cricket crown cup curtain desert desk diamond dolphin door dragon drum eagle
    engine envelope falcon farm feather fence ferry field finger flag flame flute forest fountain fox garden gate
    giraffe glacier glove goat goose grape guitar hammer harbor harp hat hawk hedge helmet heron hill honey horse hotel
    house island jacket jar jewel jungle kettle key kitchen kite ladder lake lamp lantern leaf lemon letter lion lizard
    magnet mango maple marble market meadow melon mirror mountain museum napkin needle nest notebook oak oasis ocean
    olive onion orchard otter owl oyster paddle palace panda parrot pebble pencil pepper piano pillow pine planet plate
    pocket pond potato prairie puzzle rabbit radio raven ribbon river rocket roof rope saddle sail salmon sandal shell
    ship shoe shovel signal sparrow spoon squirrel stable statue stone stove street suitcase swan table teapot temple
    thunder tiger tower trail train trumpet tulip tunnel turtle valley velvet village violin wagon walnut whale wheel
    willow window wolf
"""
ADJECTIVES, NOUNS = tuple(_ADJECTIVES.split()), tuple(_NOUNS.split())
PROBES = 64  # drawn strings that show how many tokens a kind of string can take


def word(generator: torch.Generator) -> str:
    """adjective-noun, every pair as likely as any other."""
    adjective, noun = divmod(_integer(0, len(ADJECTIVES) * len(NOUNS), generator), len(NOUNS))
    return f"{ADJECTIVES[adjective]}-{NOUNS[noun]}"


def number(generator: torch.Generator) -> str:
    """Seven digits, the first one not zero."""
    return str(_integer(10**6, 10**7, generator))


def uuid4(generator: torch.Generator) -> str:
    """A random uuid of version 4."""
    return str(uuid.UUID(bytes=bytes(torch.randint(256, (16,), generator=generator).tolist()), version=4))


def variable(generator: torch.Generator) -> str:
    """Five capital letters."""
    return "".join(chr(ord("A") + letter) for letter in torch.randint(26, (5,), generator=generator).tolist())


def amount(generator: torch.Generator) -> str:
    """Five digits, the first one not zero: what a variable is assigned."""
    return str(_integer(10**4, 10**5, generator))


KINDS: Mapping[str, Callable[[torch.Generator], str]] = {
    "words": word,
    "numbers": number,
    "uuids": uuid4,
    "variables": variable,
    "amounts": amount,
}


def probes(kind: str, width: Callable[[str], int]) -> list[str]:
    """Strings of a kind among which the one of the greatest `width` is looked for.

    A word is as wide as its adjective and its noun; where each digit is a token, no uuid is wider than one of digits.
    """
    if kind == "words":
        adjective = max(ADJECTIVES, key=lambda adjective: width(f"{adjective}-{NOUNS[0]}"))
        return [f"{adjective}-{noun}" for noun in NOUNS]
    generator = torch.Generator().manual_seed(0)
    drawn = [KINDS[kind](generator) for _ in range(PROBES)]
    return [*drawn, "00000000-0000-4000-8000-000000000000"] if kind == "uuids" else drawn


def _integer(low: int, high: int, generator: torch.Generator) -> int:
    return int(torch.randint(low, high, (), generator=generator))
