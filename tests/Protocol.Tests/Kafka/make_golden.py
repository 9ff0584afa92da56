#!/usr/bin/python3
"""Writes the batches of ../Golden/kafka-*.bin with python3-kafka (Debian), an implementation that is not ours.

Run it by hand when a shape is added; the tests read the files. The shapes are spelled out again in
KafkaGoldenTests.cs, which compares what our reader finds in them.
"""
import pathlib

from kafka.record.default_records import DefaultRecordBatchBuilder

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "Golden"
BASE = 1_700_000_000_000


def batch(name, records, codec=0, producer=(-1, -1, -1)):
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=codec, is_transactional=False, producer_id=producer[0],
        producer_epoch=producer[1], base_sequence=producer[2], batch_size=1 << 24)
    for offset, (timestamp, key, value, headers) in enumerate(records):
        builder.append(offset, timestamp=timestamp, key=key, value=value, headers=headers)
    (GOLDEN / f"kafka-{name}.bin").write_bytes(bytes(builder.build()))


def many():
    return [(BASE + i % 50, None, bytes([i % 251]) * (i % 200), []) for i in range(300)]


batch("single", [(BASE, b"k", b"hello", [])])
batch("nulls", [(BASE, None, None, []), (BASE, b"", b"", []), (BASE, b"k", None, []), (BASE, None, b"v", [])])
batch("headers", [
    (BASE, b"customer-7", b"body", [("eq-tag", b"paid"), ("trace", b"\x00\xff"), ("trace", None), ("empty", b"")]),
    (BASE, None, b"untagged", [("na\u00efve", "\u00fcber".encode())]),
])
batch("times", [(BASE, None, b"a", []), (BASE - 5, None, b"b", []), (BASE + 86_400_000, None, b"c", [])],
      producer=(4_000_000_000_000, 7, 2_147_483_640))
batch("many", many())
batch("large", [(BASE, None, b"x" * 63, []), (BASE, None, b"y" * 64, []), (BASE, None, b"z" * 8192, []),
                (BASE, None, b"w" * 20_000, [])])
batch("gzip", many(), codec=1)
