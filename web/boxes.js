// Finds boxes and points in an answer and draws them over the picture. Coordinates of the model run from 0 to 1000
// over the whole picture, whatever its size.

const COLOURS = 6;  // .mark-0 to .mark-5 in style.css

// [{kind: 'box', at: [x1, y1, x2, y2], label}, {kind: 'point', at: [x, y], label}]
export function findMarks(text) {
  const marks = [];
  // Objects without nested objects, so that a cut-off list still gives its complete entries.
  for (const [source] of text.matchAll(/\{[^{}]*"(?:bbox_2d|point_2d)"[^{}]*\}/g)) {
    let entry;
    try {
      entry = JSON.parse(source);
    } catch {
      continue;
    }
    const box = entry.bbox_2d, point = entry.point_2d;
    const label = String(entry.label ?? entry.text_content ?? '');
    if (isNumbers(box, 4)) marks.push({kind: 'box', at: ordered(box), label});
    else if (isNumbers(point, 2)) marks.push({kind: 'point', at: point.map(clamp), label});
  }
  return marks;
}

const clamp = (value) => Math.min(1000, Math.max(0, value));
const isNumbers = (value, count) => Array.isArray(value) && value.length === count && value.every(Number.isFinite);

function ordered([x1, y1, x2, y2]) {
  return [Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2), Math.max(y1, y2)].map(clamp);
}

const percent = (value) => `${value / 10}%`;

// Replaces what `overlay` shows.
export function drawMarks(overlay, marks) {
  overlay.replaceChildren(...marks.map((mark, index) => {
    const element = document.createElement('div');
    element.className = `${mark.kind} mark-${index % COLOURS}`;
    element.dataset.index = index;
    const [x1, y1, x2, y2] = mark.at;
    element.style.left = percent(x1);
    element.style.top = percent(y1);
    if (mark.kind === 'box') {
      element.style.width = percent(x2 - x1);
      element.style.height = percent(y2 - y1);
      element.classList.toggle('low', y1 < 90);  // no room for the label above
    }
    if (mark.label) {
      const label = document.createElement('span');
      label.textContent = mark.label;
      element.append(label);
    }
    return element;
  }));
}

// One button per mark; pointing at it makes the mark on the picture stand out.
export function markButtons(marks, overlay, show) {
  const row = document.createElement('div');
  row.className = 'mark-list';
  marks.forEach((mark, index) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = `mark-button mark-${index % COLOURS}`;
    button.textContent = mark.label || `${index + 1}`;
    const highlight = (on) => {
      overlay.classList.toggle('focused', on);
      overlay.children[index]?.classList.toggle('lit', on);
    };
    button.addEventListener('pointerenter', () => { show(); highlight(true); });
    button.addEventListener('pointerleave', () => highlight(false));
    button.addEventListener('focus', () => { show(); highlight(true); });
    button.addEventListener('blur', () => highlight(false));
    button.addEventListener('click', show);
    row.append(button);
  });
  return row;
}
