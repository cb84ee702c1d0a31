"""Ways in which a file may be wrong, drawn at random from a seed."""

import copy
import gzip
import itertools
import json
import re

#: Where a part of an archive, its entry in the list of parts, or an array
#: begins, and how many bytes may tell of it.
_HEADERS, _HEADER = re.compile(rb"PK\x03\x04|PK\x01\x02|\x93NUMPY"), 136
#: What may stand where something else should.
ODD = (
    *(None, True, False, -1, 0, 1, 7, 1.5, -0.0, 10**20, -(2**63), 10**400),
    *(float("nan"), float("inf"), 1e308, 5e-324),
    *("", " ", "0", "4", "cat", "\u00e9", "\U0001f436", "a\x00b", "a\nb"),
    *("\ud800", "\udc36\ud83d", "x" * 5000, "\u2028", "../../etc/passwd"),
    *([], {}, [[]], [None], {"": 0}, [1, 2], ["a"], {"raw": 3}, {"id": []}),
)


def mutated_bytes(data, random):
    """Bytes with a few things wrong.

    Args:
        data: Bytes, not empty.
        random: `random.Random`.

    Returns:
        Bytes.
    """
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        data = _spoiled(data or b"\0", random)
    return data


def damage(path, step=1):
    """Damages a file in one way after another, and mends it in the end.

    A bit is another, every one of its headers, which are at both ends and
    where a part of an archive or an array begins, and some of all else; it is
    cut off; or a block of it is zeros.

    Args:
        path: `pathlib.Path` of a good file.
        step: Integer: one of so many ways is taken. Defaults to `1`.

    Yields:
        Bytes, what the file holds.
    """
    good = path.read_bytes()
    try:
        for data in itertools.islice(_damaged(good), 0, None, step):
            # To write over a file is faster than to make it anew.
            with open(path, "r+b", buffering=0) as file:
                file.write(data)
                file.truncate()
            yield data
    finally:
        path.write_bytes(good)


def _damaged(good):
    places = set(range(0, len(good), 97))
    starts = [found.start() for found in _HEADERS.finditer(good)]
    for start in (0, max(0, len(good) - _HEADER), *starts):
        places |= set(range(start, min(start + _HEADER, len(good))))
    for place, bit in itertools.product(sorted(places), range(8)):
        flipped = bytes([good[place] ^ (1 << bit)])
        yield good[:place] + flipped + good[place + 1 :]
    for size in range(0, len(good), 211):
        yield good[:size]
    for start in range(0, len(good), 512):
        block = good[start : start + 512]
        if any(block):
            yield good[:start] + bytes(len(block)) + good[start + 512 :]


def mutated_json(content, random):
    """A JSON file's content with a few things wrong.

    Args:
        content: What JSON can hold.
        random: `random.Random`.

    Returns:
        Bytes.
    """
    content = copy.deepcopy(content)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        content = _changed(content, random)
    data = json.dumps(content, ensure_ascii=random.random() < 0.5)
    data = data.encode("utf-8", "surrogatepass")
    how = random.random()
    if how < 0.04:
        return data.decode("utf-8", "surrogatepass").encode(
            random.choice(("utf-16", "utf-32", "utf-8-sig", "utf-16-le")),
            "surrogatepass",
        )
    if how < 0.08:
        return gzip.compress(data, mtime=0)
    if how < 0.1:
        return mutated_bytes(gzip.compress(data, mtime=0), random)
    if how < 0.12:
        key = next(iter(content), "") if isinstance(content, dict) else ""
        return data.replace(b"{", b'{"%s": 1,' % key.encode(), 1)
    if how < 0.14:
        deep = random.choice((b"[", b'{"a":')) * 200_000
        return data[:-1] + b"," + deep
    return data


def mutated_lines(data, random):
    """A text file whose lines are not as they were.

    Args:
        data: Bytes.
        random: `random.Random`.

    Returns:
        Bytes.
    """
    lines = data.split(b"\n")
    for _ in range(random.choice((1, 1, 2))):
        place = random.randrange(len(lines))
        line, other = lines[place], random.choice(lines)
        lines[place : place + 1] = random.choice(
            (
                *((), (line, other), (line + other,), (line[::-1],)),
                (line.replace(b"\t", b" "),),
                (line.replace(b"#", b""),),
                (line.replace(b" ", b"\t"),),
                *((line + b"\r",), (line, b"", b"  ")),
                (line, "\u2028\x0b\u00e9\x85".encode()),
            )
        )
        lines = lines or [b""]
    return b"\n".join(lines)


def _spoiled(data, random):
    """Bytes of which a part is another, gone, or there twice."""
    start, size = random.randrange(len(data)), random.choice((1, 4, 64, 512))
    before, part = data[:start], data[start : start + size]
    flipped = bytes([part[0] ^ (1 << random.randrange(8))]) + part[1:]
    filling = random.choice((b"\0", b"\xff", random.randbytes(1)))
    odd = random.choice(
        (
            *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"\\", b"\\ud800"),
            *(b"{", b"]", b",", b"\n", b"\t", b"\r", b"NaN", b"-", b"1e999"),
            *(random.randbytes(3), b"\xed\xa0\x80", "\u00e9".encode()),
        )
    )
    after = data[start + size :]
    return random.choice(
        (
            *(before + flipped + after, before + flipped + after),
            *(before, before + after, before + filling * len(part) + after),
            *(before + part + part + after, before + odd + part + after),
            data + random.choice((b"\0" * 9, b"}", b"\n", b"more", data)),
        )
    )


def _changed(content, random):
    """The content with one thing another."""
    places = list(_places(content))
    if not places:
        return random.choice(ODD)
    # Places near the root matter as much as the many near the leaves.
    depth = random.choice(sorted({len(place) for place in places}))
    place = random.choice([p for p in places if len(p) == depth])
    *way, last = place
    holder = content
    for key in way:
        holder = holder[key]
    how = random.randrange(7)
    if how < 3:
        holder[last] = copy.deepcopy(random.choice(ODD))
    elif how == 3:
        del holder[last]
    elif how == 4:
        other = content
        for key in random.choice(places):
            other = other[key]
        holder[last] = copy.deepcopy(other)
    elif isinstance(holder, list):
        holder.insert(last, copy.deepcopy(random.choice(holder)))
    else:
        name = random.choice((last.upper(), last[:-1], "", last + "\u00e9"))
        holder[name] = holder.pop(last)
    return content


def _places(content, way=()):
    """Ways to everything in some content but itself."""
    pairs = ()
    if isinstance(content, dict):
        pairs = content.items()
    elif isinstance(content, list):
        pairs = enumerate(content)
    for key, value in pairs:
        yield (*way, key)
        yield from _places(value, (*way, key))
