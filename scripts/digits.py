#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The picture side of the demo: PGM to the raw input of the digits model, and trtexec's JSON output to words.

    digits.py pack PGM ... RAW    one file of 28x28 float values per picture, one after the other
    digits.py show JSON PGM ...   what the model says of each picture
Only the standard library is used.
"""
import array
import json
import pathlib
import sys

SIDE = 28


def fail(message):
    sys.exit(f"error: {message}")


def read_pgm(path):
    """Width, height and the values in 0..1 of a grey PGM, text (P2) or binary (P5), 8 or 16 bits."""
    try:
        data = pathlib.Path(path).read_bytes()
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    fields, at = [], 0
    while len(fields) < 4 and at < len(data):
        if data[at:at + 1] == b"#":
            at = data.find(b"\n", at) if b"\n" in data[at:] else len(data)
        elif data[at:at + 1].isspace():
            at += 1
        else:
            end = at
            while end < len(data) and not data[end:end + 1].isspace():
                end += 1
            fields.append(data[at:end])
            at = end
    if not fields or fields[0] not in (b"P2", b"P5"):
        fail(f"{path}: not a grey PGM; expected a file that begins with P5 or P2")
    if len(fields) < 4 or not all(field.isdigit() for field in fields[1:]):
        fail(f"{path}: the header is damaged; expected width, height and the greatest value")
    width, height, greatest = (int(field) for field in fields[1:])
    if not (0 < width <= 4096 and 0 < height <= 4096 and 0 < greatest < 65536):
        fail(f"{path}: {width}x{height}, greatest value {greatest}; expected at most 4096x4096 and 65535")
    if fields[0] == b"P2":
        values = [int(word) for word in data[at:].split()]
    else:
        body = data[at + 1:]
        values = list(body) if greatest < 256 else [high << 8 | low for high, low in zip(body[::2], body[1::2])]
    if len(values) < width * height:
        fail(f"{path}: {len(values)} values; expected {width * height} for {width}x{height}")
    return width, height, [value / greatest for value in values[:width * height]]


def for_the_model(path):
    """28x28 values, ink high on 0: scaled by averaging where the size differs, turned over where paper is light."""
    width, height, values = read_pgm(path)
    if (width, height) != (SIDE, SIDE):
        values = [average(values, width, height, row, column) for row in range(SIDE) for column in range(SIDE)]
    border = [values[r * SIDE + c] for r in range(SIDE) for c in range(SIDE) if r in (0, SIDE - 1) or c in (0, SIDE - 1)]
    if sorted(border)[len(border) // 2] > 0.5:
        values = [1.0 - value for value in values]
    return values


def average(values, width, height, row, column):
    """The mean of the pixels that cell (row, column) of a SIDE x SIDE grid covers, at least one."""
    top, left = row * height // SIDE, column * width // SIDE
    bottom, right = max(top + 1, (row + 1) * height // SIDE), max(left + 1, (column + 1) * width // SIDE)
    cells = [values[r * width + c] for r in range(top, bottom) for c in range(left, right)]
    return sum(cells) / len(cells)


def pack(pictures, raw):
    with open(raw, "wb") as file:
        for picture in pictures:
            array.array("f", for_the_model(picture)).tofile(file)


def draw(values):
    shades = " .:-=+*#%@"
    for row in range(0, SIDE, 2):  # A letter is twice as high as wide, so two rows make one line.
        line = [(values[row * SIDE + c] + values[(row + 1) * SIDE + c]) / 2 for c in range(SIDE)]
        print("  |" + "".join(shades[min(9, int(value * 10))] for value in line) + "|")


def show(output, pictures):
    tensors = json.loads(pathlib.Path(output).read_text())
    values = [float(value) for value in tensors[0]["values"]]
    if len(values) != 10 * len(pictures):
        fail(f"{output}: {len(values)} values; expected 10 for each of {len(pictures)} pictures")
    if len(pictures) == 1:
        draw(for_the_model(pictures[0]))
    wrong = 0
    for k, picture in enumerate(pictures):
        row = values[10 * k:10 * k + 10]
        if abs(sum(row) - 1.0) > 1e-3:
            fail(f"{output}: the probabilities of {picture} sum up to {sum(row):.6f}; expected 1")
        digit = row.index(max(row))
        name = pathlib.Path(picture).stem
        known = name if name in "0123456789" else None
        wrong += known is not None and known != str(digit)
        print(f"{picture}: this is a {digit}, probability {100.0 * row[digit]:.2f} %"
              + ("" if known in (None, str(digit)) else f" (the file's name says {known})"))
    return 1 if wrong else 0


def main(arguments):
    if len(arguments) < 3 or arguments[0] not in ("pack", "show"):
        sys.exit(__doc__)
    if arguments[0] == "pack":
        return pack(arguments[1:-1], arguments[-1])
    return show(arguments[1], arguments[2:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
