"""Judges answers. Standard library only, so that score.py runs without torch."""
import json
from collections import Counter

BOX_IOU = .5
TASKS = ["colour", "shape", "caption", "count", "number", "word", "bar_max", "bar_min", "bar_value", "box",
         "outside"]


def box_overlap(answer: str, truth: str) -> float:
    """Intersection over union of the two boxes; 0 for another label or anything that is not the asked JSON."""
    try:
        got, want = json.loads(answer)[0], json.loads(truth)[0]
        if got["label"] != want["label"]:
            return 0.0
        a, b = [float(v) for v in got["bbox_2d"]], want["bbox_2d"]
        width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
        common = max(0, width) * max(0, height)
        return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)
    except (ValueError, LookupError, TypeError, ZeroDivisionError):
        return 0.0


def is_right(task: str, answer: str, truth: str) -> bool:
    return box_overlap(answer, truth) >= BOX_IOU if task == "box" else answer == truth


class Tally:
    def __init__(self):
        self.right, self.total, self.misses = Counter(), Counter(), []

    def add(self, task: str, question: str, answer: str, truth: str) -> None:
        right = is_right(task, answer, truth)
        self.total[task] += 1
        self.right[task] += right
        if not right:
            self.misses.append((question, truth, answer))

    def scores(self) -> dict[str, str]:
        return {task: f"{self.right[task]}/{self.total[task]}" for task in sorted(self.total)}

    def table(self) -> str:
        lines = ["task        right / asked    share"]
        for task in sorted(self.total, key=lambda t: TASKS.index(t) if t in TASKS else len(TASKS)):
            right, total = self.right[task], self.total[task]
            lines.append(f"{task:10} {right:6} / {total:<6} {100 * right / total:7.1f} %")
        right, total = sum(self.right.values()), sum(self.total.values())
        return "\n".join(lines + [f"{'all':10} {right:6} / {total:<6} {100 * right / max(1, total):7.1f} %"])
