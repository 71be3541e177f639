"""``python -m radixengine.selftest [--device cpu|cuda] [--json FILE] [--points FILE]``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]

EXIT_FAILED, EXIT_USAGE = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it: 0 if every check passed, 1 if one failed, 2 for a device that is not there."""
    parser = argparse.ArgumentParser(prog="python -m radixengine.selftest", description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    parser.add_argument(
        "--points", type=Path, metavar="FILE", help="write measured passes for 'radixadvisor calibrate'"
    )
    parser.add_argument("--seed", type=int, help="for the inputs (default: other ones in each run)")
    options = parser.parse_args(arguments)
    try:
        import torch
    except ImportError:
        print("The self-test needs torch: pip install 'radixadvisor[replay]'.", file=sys.stderr)
        return EXIT_USAGE
    if options.device == "cuda" and not torch.cuda.is_available():
        print(
            "There is no CUDA device here; run: python -m radixengine.selftest --device cpu.", file=sys.stderr
        )
        return EXIT_USAGE
    from radixengine.selftest.conduct import self_test
    from radixengine.selftest.report import lines, to_json

    found = self_test(options.device, options.seed)
    for line in lines(found):
        print(line)
    try:
        if options.json is not None:
            options.json.write_bytes(to_json(found))
        if options.points is not None:
            options.points.write_text(json.dumps(found.points, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        print(f"Cannot write {error.filename}: {error.strerror}.", file=sys.stderr)
        return EXIT_USAGE
    return 0 if found.passed else EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
