#!/usr/bin/env python3
"""Checks the size budget of CONTRIBUTING.md: lines per file and per function of src/, web/ and tools/.

Files: 400 lines wanted, 700 refused (headers 200 / 350). Functions: 40 wanted, 100 refused (micro-kernels 150).
An exemption is a line in EXEMPT with its reason. Functions are found by matching braces from a line that opens one
at the outermost level of a class or namespace: good to rank, exact enough to refuse.
"""
import pathlib
import re
import sys

EXEMPT = {
    # "path": "reason"
}
FILE_LIMIT, HEADER_LIMIT, FUNCTION_LIMIT, KERNEL_FUNCTION_LIMIT = 700, 350, 100, 150
FILE_WANTED, FUNCTION_WANTED = 400, 40
NAMESPACE = re.compile(r"^\s*(inline\s+)?(namespace|extern\s+\"C\"|class|struct|enum|union)\b")


def strip(line):
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    line = re.sub(r"'(\\.|[^'\\])'", "''", line)
    return re.sub(r"//.*", "", line)


def functions(lines):
    """Yields (first line, length) of every brace block that is neither a namespace nor a type."""
    stack = []  # (opens a function, line)
    head = ""
    for number, raw in enumerate(lines, 1):
        line = strip(raw)
        if line.lstrip().startswith("#"):
            continue
        for char in line:
            if char == "{":
                inside = any(function for function, _ in stack)
                is_function = not inside and not NAMESPACE.match(head.strip() or " ") and ")" in head
                stack.append((is_function, number))
                head = ""
            elif char == "}" and stack:
                function, first = stack.pop()
                head = ""
                if function:
                    yield first, number - first + 1
            elif char == ";":
                head = ""
            else:
                head += char
        head += " "


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    refused, wide = [], []
    paths = [p for folder in ("src", "web", "tools", "tests", "fuzz", "benchmarks") for p in sorted((root / folder).rglob("*"))
             if p.suffix in {".h", ".cc", ".js", ".css", ".py", ".html"} and "golden" not in p.parts]
    for path in paths:
        name = str(path.relative_to(root))
        lines = path.read_text(encoding="utf-8").splitlines()
        limit = HEADER_LIMIT if path.suffix == ".h" else FILE_LIMIT
        if name in EXEMPT:
            continue
        if len(lines) > limit:
            refused.append(f"{name}: {len(lines)} lines, limit {limit}")
        elif len(lines) > FILE_WANTED:
            wide.append(f"{name}: {len(lines)} lines")
        if path.suffix not in {".h", ".cc"}:
            continue
        kernel = "kernels" in path.parts and re.search(r"_(avx|vnni|amx|neon)", path.name)
        function_limit = KERNEL_FUNCTION_LIMIT if kernel else FUNCTION_LIMIT
        for first, length in functions(lines):
            if length > function_limit:
                refused.append(f"{name}:{first}: function of {length} lines, limit {function_limit}")
            elif length > FUNCTION_WANTED and "-v" in sys.argv:
                wide.append(f"{name}:{first}: function of {length} lines")
    if "-v" in sys.argv:
        print("\n".join(wide))
    print("\n".join(refused) if refused else "sizes: clean")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
