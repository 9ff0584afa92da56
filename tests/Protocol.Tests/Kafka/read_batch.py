#!/usr/bin/python3
"""Prints what python3-kafka finds in the batch on standard input: a header line, then a line per record.

Fields are separated by tabs; bytes are hexadecimal, "-" is null. Exits 1 if the CRC is wrong or the batch malformed.
"""
import sys

from kafka.record.default_records import DefaultRecordBatch


def text(value):
    return "-" if value is None else "x" + bytes(value).hex()


batch = DefaultRecordBatch(sys.stdin.buffer.read())
if not batch.validate_crc():
    sys.exit("CRC differs")
print("batch", batch.base_offset, batch.magic, batch.attributes, batch.last_offset_delta, batch.first_timestamp,
      batch.max_timestamp, sep="\t")
for record in batch:
    headers = [part for name, value in record.headers for part in (text(name.encode()), text(value))]
    print("record", record.offset, record.timestamp, text(record.key), text(record.value), *headers, sep="\t")
