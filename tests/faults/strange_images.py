"""Trials of images: of any mode and kind, mutated, cut off, huge, animated.

An image that Pillow has written is read as Pillow's plain steps read it; any
other is read as numbers from 0 to 255 or refused by name, in bounded memory
and time.
"""

import io
import os
import struct
import warnings
import zlib

import numpy as np
from PIL import Image
from PIL import ImageOps
from tfcap.data.video_extraction import read_frames

from tests.faults.file_operations import attempt
from tests.faults.mutations import mutated_bytes
from tfcap.data.extraction import read_image

FORMATS = {
    "JPEG": ("L", "RGB", "CMYK"),
    "PNG": ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"),
    "GIF": ("1", "L", "P", "RGB", "RGBA"),
    "WEBP": ("L", "RGB", "RGBA", "P"),
    "TIFF": ("1", "L", "RGB", "RGBA", "CMYK", "I;16", "I", "F", "LAB"),
    "BMP": ("1", "L", "P", "RGB"),
    "PPM": ("1", "L", "RGB", "I"),
    "ICO": ("RGBA",),
    "TGA": ("L", "RGB", "RGBA"),
    "MPO": ("RGB",),
    "JPEG2000": ("L", "RGB", "RGBA"),
}
#: Images in one process: to fork takes longer than to read one.
BATCH = 40
#: Bytes that reading small images may take.
MEMORY = 1 << 30


def trial(rng, folder):
    how = rng.choice((plain, mutated, mutated, mutated, huge, animated, odd))
    seed = rng.random()

    def work(place):
        return how(np.random.default_rng(int(seed * 2**40)), rng, place)

    tried = {"what": how.__name__, "parts": BATCH}
    outcome = attempt(work, folder, seconds=60, memory=MEMORY)
    if outcome.status != "done":
        return tried, f"{outcome}"
    # A huge image that is read takes what its pixels do, and no more.
    return tried, outcome.value or ""


def sample(numbers, rng, frames=1):
    """A small image as bytes, its format, and frames as Pillow's images."""
    name = rng.choice([*FORMATS])
    mode = rng.choice(FORMATS[name])
    width, height = (rng.choice((1, 2, 7, 16, 33, 64)) for _ in range(2))
    made = []
    for _ in range(frames):
        pixels = numbers.integers(0, 256, (height, width, 4), "uint8")
        if rng.random() < 0.3:
            pixels[:] = pixels[0, 0]
        if mode in ("I", "I;16"):
            values = pixels[..., 0].astype("uint16") * 257
            image = Image.fromarray(values)
            image = image.convert("I") if mode == "I" else image
        elif mode == "F":
            image = Image.fromarray(pixels[..., 0].astype("float32"))
        elif mode == "LAB":
            image = Image.merge("LAB", Image.fromarray(pixels).split()[:3])
        else:
            image = Image.fromarray(pixels)
            if mode not in ("RGBA", "CMYK"):
                image = image.convert("RGB")
            image = image.convert(mode)
        made.append(image)
    out, options = io.BytesIO(), extras(name, mode, rng)
    if frames > 1:
        options |= {"save_all": True, "append_images": made[1:]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made[0].save(out, name, **options)
    return out.getvalue(), name, mode


def extras(name, mode, rng):
    """Options of a format, such as metadata."""
    options = {}
    if name in ("JPEG", "PNG", "WEBP", "MPO") and rng.random() < 0.5:
        exif = Image.Exif()
        exif[0x0112] = rng.choice((1, 3, 6, 8, 0, 99))
        exif[0x010E] = "x" * rng.choice((1, 3000))
        options["exif"] = exif.tobytes()
    if name == "JPEG":
        options["quality"] = rng.choice((5, 75, 95))
        options["progressive"] = rng.random() < 0.5
    if name == "TIFF" and mode in ("RGB", "L"):
        options["compression"] = rng.choice((None, "tiff_lzw", "tiff_deflate"))
    if mode == "P" and name in ("PNG", "GIF") and rng.random() < 0.5:
        options["transparency"] = 0
    return options


def plain(numbers, rng, folder):
    """Whole images, as Pillow's own steps read them."""
    wrong = []
    for number in range(BATCH):
        data, name, mode = sample(numbers, rng)
        size = rng.choice(((1, 1), (8, 8), (5, 9), (64, 64)))
        path = folder / f"{number}.{name.lower()}"
        path.write_bytes(data)
        unknown = mode == "F" or (name, mode) == ("TIFF", "I")
        try:
            found = read_image(path, size)
        except ValueError:
            if not unknown:
                raise
            continue
        with Image.open(io.BytesIO(data)) as image:
            image = ImageOps.exif_transpose(image)
            if mode in ("I", "I;16"):
                # Numbers were made of those of 8 bits, by 257.
                gray = np.asarray(image) // 257
                image = Image.fromarray(gray.astype("uint8"))
            picture = image.convert("RGB")
            if picture.size != size[::-1]:
                how = Image.Resampling.BILINEAR
                picture = picture.resize(size[::-1], how)
            wanted = np.asarray(picture, "float32")
        if unknown or found.shape != wanted.shape or (found != wanted).any():
            wrong.append(f"{name} {mode}")
    return f"read otherwise: {wrong}" if wrong else ""


def mutated(numbers, rng, folder):
    """Images with a few bytes wrong, or cut off."""
    for number in range(BATCH):
        frames = rng.choice((1, 1, 3))
        data, name, _ = sample(numbers, rng, 1)
        if frames > 1:
            data = animation(numbers, rng, frames)
        if rng.random() < 0.2:
            data = repaired(mutated_bytes(data, rng))
        else:
            data = mutated_bytes(data, rng)
        problem = read_or_refused(folder / f"{number}.{name.lower()}", data)
        if problem:
            return problem
    return ""


def repaired(data):
    """A PNG whose checksums are right again; anything else as it is."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        return data
    place, out = 8, bytearray(data)
    while place + 12 <= len(out):
        (size,) = struct.unpack(">I", out[place : place + 4])
        end = place + 8 + size
        if end + 4 > len(out):
            break
        out[end : end + 4] = struct.pack(
            ">I", zlib.crc32(bytes(out[place + 4 : end]))
        )
        place = end + 4
    return bytes(out)


def read_or_refused(path, data):
    """What is wrong with how a file is read; empty if nothing."""
    path.write_bytes(data)
    for read, shape in (
        (lambda: read_image(path, (8, 8)), (8, 8, 3)),
        (lambda: read_frames(path, 3, (8, 8)), (3, 8, 8, 3)),
    ):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = read()
        except ValueError as error:
            text = str(error)
            if path.name not in text or len(text) > 3000:
                return f"not named: {text} {data[:2000].hex()}"
            continue
        except Exception as error:
            return f"{type(error).__name__} {error}: {data[:2000].hex()}"
        right = found.shape == shape and np.isfinite(found).all()
        if not right or found.min() < 0 or found.max() > 255:
            return f"{found.shape}, {found.min()}: {data[:2000].hex()}"
    os.unlink(path)
    return ""


def png(width, height, depth=8, color=2, rows=b"", frames=None):
    """A PNG of any size, however few pixels it holds."""

    def chunk(name, content):
        told = struct.pack(">I", len(content)) + name + content
        return told + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    parts = [chunk(b"IHDR", head)]
    if frames:
        parts.append(chunk(b"acTL", struct.pack(">II", frames, 0)))
    parts += [chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def huge(numbers, rng, folder):
    """Files of a few bytes with any dimensions and numbers of frames."""
    sizes = (0, 1, 9000, 20000, 65535, 2**31 - 1, 2**32 - 1)
    for number in range(BATCH):
        width, height = rng.choice(sizes), rng.choice(sizes)
        kind = rng.randrange(3)
        if kind == 0:
            # Only so many are decoded that this process may hold.
            if width * height > 89_478_485 or width * height < 10**7:
                data = png(width, height, rows=bytes(rng.choice((0, 999))))
            else:
                continue
        elif kind == 1:
            frames = rng.choice((0, 1, 10**6, 2**32 - 1))
            data = png(8, 8, rows=bytes(8 * 25), frames=frames)
        else:
            data = patched_gif(numbers, rng, width, height)
        problem = read_or_refused(folder / f"{number}.img", data)
        if problem:
            return problem
    return ""


def animation(numbers, rng, frames):
    name = rng.choice(("GIF", "PNG", "WEBP", "TIFF"))
    made = [
        Image.fromarray(numbers.integers(0, 256, (9, 7, 3), "uint8"))
        for _ in range(frames)
    ]
    out = io.BytesIO()
    made[0].save(out, name, save_all=True, append_images=made[1:])
    return out.getvalue()


def patched_gif(numbers, rng, width, height):
    """A GIF that tells of another size, on the whole or of its frames."""
    made = Image.fromarray(numbers.integers(0, 256, (9, 7, 3), "uint8"))
    out = io.BytesIO()
    made.save(out, "GIF", save_all=True, append_images=[made.rotate(90)])
    data = bytearray(out.getvalue())
    sizes = struct.pack("<HH", width % 65536, height % 65536)
    if rng.random() < 0.6:
        data[6:10] = sizes
    place = data.find(b"\x2c")
    if rng.random() < 0.5 and place > 0:
        data[place + 5 : place + 9] = sizes
    return bytes(data)


def animated(numbers, rng, folder):
    """Animations, whose frames are evenly taken."""
    for number in range(BATCH):
        count = rng.choice((1, 2, 5, 60))
        grays = numbers.integers(0, 256, count).astype("uint8")
        made = [Image.fromarray(np.full((5, 4), gray)) for gray in grays]
        name = rng.choice(("PNG", "TIFF", "GIF"))
        path = folder / f"{number}.{name.lower()}"
        made[0].save(path, name, save_all=True, append_images=made[1:])
        with Image.open(path) as image:
            kept = getattr(image, "n_frames", 1)
        frames = rng.choice((1, 3, 8))
        found = read_frames(path, frames, (3, 3))
        if kept != count:
            # Frames that are alike are joined by some formats.
            continue
        rows = [(2 * k + 1) * count // (2 * frames) for k in range(frames)]
        wanted = np.asarray(grays, "float32")[rows][:, None, None, None]
        if found.shape != (frames, 3, 3, 3) or (found != wanted).any():
            return f"{name} of {grays.tolist()}: {found[:, 0, 0].tolist()}"
    return ""


def odd(numbers, rng, folder):
    """What is no image at all, or one that asks for a program."""
    choices = (
        lambda: numbers.bytes(rng.randrange(200)),
        lambda: b"",
        lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n",
        lambda: b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        lambda: b"P6 99999 99999 255\n",
        lambda: b"P6 " + b"9" * 5000 + b" 1 255\n",
        lambda: b"BM" + numbers.bytes(60),
        lambda: b"GIF89a" + numbers.bytes(80),
        lambda: b"\xff\xd8\xff\xe0" + numbers.bytes(300),
        lambda: b"RIFF\xff\xff\xff\xffWEBPVP8 " + numbers.bytes(99),
        lambda: b"II*\0\x08\0\0\0" + b"\xff\xff" + numbers.bytes(300),
        lambda: (
            b"#define a_width 99999\n#define a_height 99999\n"
            b"static char a_bits[] = {0x00};"
        ),
        lambda: b"\x76\x2f\x31\x01" + numbers.bytes(90),
        lambda: b"8BPS\0\1" + numbers.bytes(90),
        lambda: b"icns" + numbers.bytes(90),
        lambda: b"\0\0\0\x0cjP  \r\n\x87\n" + numbers.bytes(90),
    )
    for number in range(BATCH):
        path = folder / f"{number}.jpg"
        problem = read_or_refused(path, rng.choice(choices)())
        if problem:
            return problem
    return ""
