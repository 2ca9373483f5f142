#!/usr/bin/env python3
"""Checks that kernel files compiled for an ISA export exactly the functions listed in kernels.inc.

Anything else with external linkage (a weak copy of an inline or template function above all) could be chosen by the
linker for code that runs on older processors. Usage: check_isa_symbols.py BUILD_DIR; exit code 1 on a finding.
"""
import pathlib
import re
import subprocess
import sys

ISA_SUFFIX = re.compile(r"_(avx2|avx512|avx512vnni|avx512bf16|amx|neon)\.cc\.o(bj)?$")
KERNEL = re.compile(r"^SACCADE_(?:GEMM|KERNEL)\((.*)\)$", re.MULTILINE)


def listed_kernels(source_root: pathlib.Path) -> set[str]:
    text = (source_root / "src/kernels/kernels.inc").read_text()
    return {line.split(",")[-1].strip() for line in KERNEL.findall(text)}


def symbols(obj: pathlib.Path) -> list[tuple[str, str]]:
    """(type letter, demangled name without arguments) of every defined external symbol."""
    out = subprocess.run(["nm", "--extern-only", "--defined-only", "--demangle", str(obj)],
                         check=True, capture_output=True, text=True).stdout
    found = []
    for line in out.splitlines():
        parts = line.split(maxsplit=2)
        if len(parts) == 3:
            found.append((parts[1], parts[2].split("(")[0]))
    return found


def check_object(obj: pathlib.Path, listed: set[str], seen: set[str]) -> list[str]:
    isa = ISA_SUFFIX.search(obj.name).group(1)
    problems = []
    for letter, name in symbols(obj):
        short = name.removeprefix("saccade::")
        if letter in "VvWwu":
            problems.append(f"{obj.name}: weak symbol {name}")
        elif short not in listed:
            problems.append(f"{obj.name}: exports {name}, which kernels.inc does not list")
        elif not short.endswith("_" + isa):
            problems.append(f"{obj.name}: exports {name}, a kernel of another ISA")
        seen.add(short)
    return problems


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    listed = listed_kernels(pathlib.Path(__file__).resolve().parent.parent)
    objects = [p for p in pathlib.Path(sys.argv[1]).rglob("*.o*") if ISA_SUFFIX.search(p.name)]
    if not objects:
        print(f"no kernel objects under {sys.argv[1]}: build saccade_kernels first", file=sys.stderr)
        return 2
    seen: set[str] = set()
    problems = [problem for obj in sorted(objects) for problem in check_object(obj, listed, seen)]
    problems += [f"kernels.inc lists {name}, but no object defines it" for name in sorted(listed - seen)]
    for problem in problems:
        print(problem)
    print(f"{len(objects)} objects, {len(seen)} kernels, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
