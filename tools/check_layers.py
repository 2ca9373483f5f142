#!/usr/bin/env python3
"""Checks the layer rule of ARCHITECTURE.md over the #include lines of src/.

A file may include its own folder and folders of a lower layer. From another folder only the facade headers named
below may be included, plus anything in base/ and tensor/. Exit status 1 and one line per breach.
"""
import pathlib
import re
import sys

LAYER = {"base": 0, "tensor": 1, "kernels": 2, "model": 3, "text": 3, "image": 3, "documents": 3, "engine": 4, "tasks": 4,
         "server": 5, "bench": 5, "cli": 6}
FACADES = {
    "kernels": {"kernels.h", "peaks/peaks.h"},
    "model": {"model.h", "config.h"},
    "text": {"text.h"},
    "image": {"image.h"},
    "documents": {"document.h", "document_testing.h", "png.h"},
    "engine": {"engine.h", "request.h", "checkpoint.h", "trace.h", "memory_plan.h"},
    "tasks": {"task_store.h", "task_queue.h"},
    "server": {"server.h"},
    "bench": {"bench.h"},
}
# One folder of a layer may not see another of the same layer, with this exception and its reason.
ALLOWED = set()
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def breaches(root):
    source = root / "src"
    for path in sorted(source.rglob("*")):
        if path.suffix not in {".h", ".cc", ".inc"}:
            continue
        folder = path.relative_to(source).parts[0]
        for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
            target, _, rest = include.partition("/")
            where = f"{path.relative_to(root)}: includes {include}"
            if target not in LAYER:
                if not (path.parent / include).exists():
                    yield f"{where}: paths start at src/, with the folder's name"
                continue
            if target == folder or (folder, target) in ALLOWED:
                continue
            if LAYER[target] >= LAYER[folder]:
                yield f"{where}: layer {LAYER[folder]} ({folder}) must not see layer {LAYER[target]} ({target})"
            elif target in FACADES and rest not in FACADES[target]:
                yield f"{where}: only {', '.join(sorted(FACADES[target]))} may be included from outside {target}/"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    found = list(breaches(root))
    print("\n".join(found) if found else "layers: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
