#!/usr/bin/env python3
"""Tiles of BFP8, BFP4 or BFP2, as tt-metal stores them, as the BF16 numbers that a Tenstorrent chip's unpacker makes of them.

  bfp_tiles.py tiles.bin --format bfp8 --shape 64x256 -o a.npy

tiles.bin holds the tiles of a matrix, 32x32 each, row by row. A tile is 64 exponents (of 8 bits; one for 16 neighbours in a
row of a face of 16x16), then the codes (sign and magnitude), face by face, row by row; of BFP4 and BFP2 the first of a byte's
codes has the lowest bits. ttnn.to_torch gives the same numbers, but for codes that only the chip reads so: a zero with its
sign set is ff80, and a number below the smallest exponent wraps around. The standard library alone. Exit codes: 0, or 2.
"""

import argparse
import sys

BITS = {"bfp8": 8, "bfp4": 4, "bfp2": 2}
TILE, FACE, EXPONENTS = 32, 16, 64


def number(bits, code, exponent):
    """The BF16 code of a code and its shared exponent."""
    sign = code >> (bits - 1)
    magnitude = (code & ((1 << (bits - 1)) - 1)) << (8 - bits)
    if magnitude == 0:
        return 0xFF80 if sign else 0
    zeros = 7 - magnitude.bit_length()
    return sign << 15 | ((exponent - zeros) & 0xFF) << 7 | (magnitude << zeros & 0x3F) << 1


def unpacked(data, bits, rows, columns):
    """BF16 codes, row by row."""
    if rows % TILE or columns % TILE or not rows or not columns:
        raise ValueError(f"{rows}x{columns} is not whole tiles of 32x32")
    length = EXPONENTS + TILE * TILE * bits // 8
    wanted = rows * columns // (TILE * TILE) * length
    if len(data) != wanted:
        raise ValueError(f"{rows}x{columns} of {bits} bits are {wanted} bytes; the file has {len(data)}")
    codes, each = [0] * (rows * columns), 8 // bits
    for tile in range(len(data) // length):
        start = tile * length
        top, left = tile // (columns // TILE) * TILE, tile % (columns // TILE) * TILE
        for at in range(TILE * TILE):
            face, row, column = at // (FACE * FACE), at // FACE % FACE, at % FACE
            byte = data[start + EXPONENTS + at // each]
            code = byte >> (at % each * bits) & ((1 << bits) - 1)
            place = (top + face // 2 * FACE + row) * columns + left + face % 2 * FACE + column
            codes[place] = number(bits, code, data[start + at // FACE])
    return codes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tiles", metavar="TILES.bin")
    parser.add_argument("--format", required=True, choices=BITS)
    parser.add_argument("--shape", required=True, metavar="ROWSxCOLUMNS", help="with the padding to whole tiles")
    parser.add_argument("-o", "--output", required=True, metavar="X.npy")
    options = parser.parse_args()
    try:
        rows, columns = (int(axis) for axis in options.shape.split("x"))
        with open(options.tiles, "rb") as file:
            codes = unpacked(file.read(), BITS[options.format], rows, columns)
        header = f"{{'descr': '<u2', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
        header += " " * (63 - (10 + len(header)) % 64) + "\n"
        with open(options.output, "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode("ascii"))
            file.write(b"".join(code.to_bytes(2, "little") for code in codes))
    except (ValueError, OSError) as error:
        print(f"bfp_tiles: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
