#!/usr/bin/python3
"""Checks a JSON file of `solidobj-bench matrix`: the names that other tools read, and that every cell was verified.

Use: check_matrix.py FILE
"""

import json
import sys

TOP = {"solidobj_bench", "command", "environment", "cells"}
CELL = {
    "database", "engine_version", "durability", "topology", "shape", "handler", "path", "concurrency", "workload",
    "operations", "warmup", "repetitions", "ops_per_s", "latency_ms", "fairness", "floor_ops_per_s", "floor_ratio",
    "verified", "errors", "latencies_ms",
}
INNER = {
    "ops_per_s": {"median", "min", "max"},
    "floor_ops_per_s": {"median", "min", "max"},
    "latency_ms": {"p50", "p95", "p99", "max"},
}


def faults(run):
    if set(run) != TOP:
        yield f"the top level has {sorted(run)}, not {sorted(TOP)}"
    if not run.get("cells"):
        yield "there are no cells"
    for number, cell in enumerate(run.get("cells", [])):
        name = f"cell {number} ({cell.get('shape')}, {cell.get('path')}, {cell.get('handler')})"
        for missing in sorted(CELL - set(cell)):
            yield f"{name}: no {missing}"
        for member, names in INNER.items():
            if not names <= set(cell.get(member, {})):
                yield f"{name}: {member} has {sorted(cell.get(member, {}))}, not {sorted(names)}"
        if cell.get("verified") is not True:
            yield f"{name}: not verified"
        if cell.get("errors"):
            yield f"{name}: errors {cell['errors']}"
        kept = [len(latencies) for latencies in cell.get("latencies_ms", [])]
        if kept != [cell.get("operations")] * cell.get("repetitions", 0):
            yield f"{name}: {kept} latencies for {cell.get('operations')} operations"
        if not cell.get("ops_per_s", {}).get("median", 0) > 0:
            yield f"{name}: nothing per second"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = list(faults(json.load(file)))
    for fault in found:
        print(fault)
    return 1 if found else 0


sys.exit(main())
