"""Rows of TIFF strips and tiles that are too large to be decoded at once.

libtiff, as Pillow uses it, decodes a strip or a tile as a whole, and so does tifffile, which is well kept but needs
imagecodecs (some 20 MB) for LZW; neither bounds the memory of a page that is stored in one strip. The four codings
below are those of nearly all such pages. They are short, and each is decoded a little at a time, so that a hostile
strip costs time, which is limited elsewhere, but no memory. zlib decodes deflate. PackBits and LZW are written here in
Python: LZW takes about half a second per million codes, which only pages beyond the memory limit have to pay.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from drmamba.errors import ImageError

UNCOMPRESSED, LZW, DEFLATE, OLD_DEFLATE, PACKBITS = 1, 5, 8, 32946, 32773  # values of TIFF's COMPRESSION
STREAMED = (UNCOMPRESSED, LZW, DEFLATE, OLD_DEFLATE, PACKBITS)
READ_BYTES = 1 << 16  # bytes of coded data read at a time; PackBits makes at most 64 times as many of them
INFLATED_BYTES = 1 << 22  # bytes of decoded data that deflate gives at a time

CLEAR, END, FIRST_FREE, TABLE_SIZE = 256, 257, 258, 4096  # codes of LZW, and the entries of its table
LZW_AHEAD = 8192  # bytes that hold all codes between two CLEARs, unless the table overflows
# The number of bits of the k-th code after a CLEAR: it grows one code before the table needs it (TIFF 6.0).
_K = np.arange(TABLE_SIZE)
LZW_WIDTHS = 9 + (_K >= 254).astype(np.int64) + (_K >= 766) + (_K >= 1790)
LZW_STARTS = np.concatenate([[0], np.cumsum(LZW_WIDTHS)])  # bits from the CLEAR to the k-th code


@dataclass
class StripRows:
    """The decoded rows of strips or tiles that stand one below the other; rows are read mostly in order."""

    path: Path
    places: list[tuple[int, int]]  # offset and bytes of each strip
    compression: int
    row_bytes: int
    strip_rows: int

    def __post_init__(self) -> None:
        self._next = -1  # the row that the stream gives next; -1 before there is a stream
        self._held = bytearray()
        self._stream: Iterator[bytes] = iter(())

    def rows(self, top: int, bottom: int) -> bytes:
        """Return the bytes of the rows from top to bottom, which may lie in several strips."""
        found = b""
        while top < bottom:
            number = top // self.strip_rows
            end = min(bottom, (number + 1) * self.strip_rows)
            found += self._rows_of(number, top, end)
            top = end
        return found

    def _rows_of(self, number: int, top: int, bottom: int) -> bytes:
        """Return rows of one strip."""
        first = number * self.strip_rows
        if self.compression == UNCOMPRESSED:
            offset, count = self.places[number]
            begin, end = (top - first) * self.row_bytes, (bottom - first) * self.row_bytes
            with self.path.open("rb") as file:
                file.seek(offset + begin)
                found = file.read(max(0, min(end, count) - begin))
            return self._complete(found, end - begin)
        if not (first <= self._next <= top):
            self._stream = decoded(self.compression, _chunks(self.path, *self.places[number]))
            self._next, self._held = first, bytearray()
        self._take(top - self._next)
        return self._complete(self._take(bottom - top), (bottom - top) * self.row_bytes)

    def _take(self, rows: int) -> bytes:
        """Return so many rows of the stream, or what is left of it."""
        wanted = rows * self.row_bytes
        try:
            while len(self._held) < wanted and (more := next(self._stream, None)) is not None:
                self._held += more
        except ImageError as error:
            raise ImageError(f"{self.path} is damaged: {error}") from error
        found = bytes(self._held[:wanted])
        del self._held[:wanted]
        self._next += rows
        return found

    def _complete(self, found: bytes, wanted: int) -> bytes:
        if len(found) != wanted:
            raise ImageError(f"{self.path} is damaged: a strip or tile ends too early")
        return found


def _chunks(path: Path, offset: int, count: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(offset)
        while count > 0 and (data := file.read(min(count, READ_BYTES))):
            count -= len(data)
            yield data


def decoded(compression: int, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the decoded bytes of one strip, a few megabytes at most at a time; damaged data raises ImageError."""
    if compression == PACKBITS:
        return unpacked(chunks)
    return expanded(chunks) if compression == LZW else inflated(chunks)


def inflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decode deflate."""
    inflate = zlib.decompressobj()
    try:
        for chunk in chunks:
            data = chunk
            while data:
                yield inflate.decompress(data, INFLATED_BYTES)
                data = inflate.unconsumed_tail
            if inflate.eof:
                return
        yield inflate.flush()
    except zlib.error as error:
        raise ImageError(f"its deflated data cannot be read: {error}") from error


def unpacked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decode PackBits: runs of one byte, and runs of different bytes."""
    held = b""
    for chunk in chunks:
        held += chunk
        size, at, found = len(held), 0, bytearray()
        while at < size:
            head = held[at]
            end = at + (2 + head if head < 128 else 1 if head == 128 else 2)
            if end > size:
                break
            if head < 128:
                found += held[at + 1 : end]
            elif head > 128:
                found += held[at + 1 : end] * (257 - head)
            at = end
        held = held[at:]
        yield bytes(found)


def expanded(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Decode LZW as TIFF 6.0 has it: codes of 9 to 12 bits, the highest bit first.

    The widths of the codes between two CLEARs do not depend on the codes, so that all of them are extracted at once.
    """
    held, bit, last = b"", 0, False
    count, table, previous = 0, list[bytes](), b""  # codes since the CLEAR, the table, the last string
    while True:
        held, bit = held[bit >> 3 :], bit & 7
        while not last and len(held) < LZW_AHEAD:
            chunk = next(chunks, None)
            last = chunk is None
            held += chunk or b""
        codes, ends = _codes(held, bit, count)
        if not len(codes):
            return
        special = np.flatnonzero((codes == CLEAR) | (codes == END))
        stop = int(special[0]) if len(special) else len(codes)
        found = []
        for code in codes[:stop].tolist():
            if code < len(table):
                entry = table[code]
            elif code == len(table) and previous:
                entry = previous + previous[:1]
            else:
                raise ImageError("a code of its LZW data has no entry")
            found.append(entry)
            if previous and len(table) < TABLE_SIZE:
                table.append(previous + entry[:1])
            previous = entry
        yield b"".join(found)
        if stop == len(codes):
            count, bit = count + stop, int(ends[-1])
            continue
        if codes[stop] == END:
            return
        count, bit = 0, int(ends[stop])
        table, previous = [bytes([value]) for value in range(256)] + [b"", b""], b""


def _codes(held: bytes, bit: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes from a bit on, and the bits at their ends; the first is number `count` after the CLEAR."""
    known = min(count, TABLE_SIZE - 1)  # Beyond the table all codes have 12 bits.
    starts = LZW_STARTS[known:] - LZW_STARTS[known] + bit
    fitting = int(np.searchsorted(starts[1:], 8 * len(held), side="right"))
    starts, ends, widths = starts[:fitting], starts[1 : fitting + 1], LZW_WIDTHS[known : known + fitting]
    data = np.frombuffer(held + b"\0\0", np.uint8).astype(np.uint32)
    place = starts >> 3
    three = data[place] << 16 | data[place + 1] << 8 | data[place + 2]
    shift = (24 - (starts & 7) - widths).astype(np.uint32)
    return three >> shift & ((1 << widths) - 1).astype(np.uint32), ends
