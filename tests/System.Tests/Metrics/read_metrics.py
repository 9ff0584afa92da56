#!/usr/bin/python3
"""Prints what python3-prometheus-client finds in each page named: a line of JSON per page.

{"types": {family: type}, "samples": [[name, {label: value}, value], ...]}. Exits 1 if a page is not one, a series stands
there twice, or the buckets of a histogram do not add up.
"""
import json
import sys

from prometheus_client.parser import text_string_to_metric_families


def check_histogram(family):
    series = {}
    for sample in family.samples:
        labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name != "le"))
        buckets, others = series.setdefault(labels, ([], {}))
        if sample.name.endswith("_bucket"):
            buckets.append((float(sample.labels["le"]), sample.value))
        else:
            others[sample.name] = sample.value
    for labels, (buckets, others) in series.items():
        if buckets != sorted(buckets) or [count for _, count in buckets] != sorted(count for _, count in buckets):
            sys.exit(f"{family.name}{labels}: buckets do not rise")
        if buckets[-1] != (float("inf"), others[family.name + "_count"]):
            sys.exit(f"{family.name}{labels}: the last bucket is not the count")


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as page:
        text = page.read()
    if not text.endswith("\n"):
        sys.exit(f"{path} does not end with a line")
    types, samples, seen = {}, [], set()
    for family in text_string_to_metric_families(text):
        if family.name in types or family.type == "unknown":
            sys.exit(f"{family.name} stands there twice or has no type")
        types[family.name] = family.type
        if family.type == "histogram":
            check_histogram(family)
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            if key in seen:
                sys.exit(f"{key} stands there twice")
            seen.add(key)
            samples.append([sample.name, sample.labels, sample.value])
    print(json.dumps({"types": types, "samples": samples}))
