// Finds boxes and points in an answer and draws them over the picture. Coordinates of the model run from 0 to 1000
// over the whole picture, whatever its size.

import {div, el} from './dom.js';

const COLOURS = 6;  // .mark-0 to .mark-5 in style.css
const MAX_MARKS = 500;

// [{kind: 'box', at: [x1, y1, x2, y2], label}, {kind: 'point', at: [x, y], label}]
export function findMarks(text) {
  const marks = [];
  if (!text.includes('_2d"')) return marks;
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
    if (marks.length === MAX_MARKS) break;
  }
  return marks;
}

const clamp = (value) => Math.min(1000, Math.max(0, value));
const isNumbers = (value, count) => Array.isArray(value) && value.length === count && value.every(Number.isFinite);

function ordered([x1, y1, x2, y2]) {
  return [Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2), Math.max(y1, y2)].map(clamp);
}

const percent = (value) => `${value / 10}%`;

// Replaces what `overlay` shows. A click on a mark calls `chosen` with its number.
export function drawMarks(overlay, marks, chosen = () => {}) {
  overlay.classList.remove('focused');
  overlay.replaceChildren(...marks.map((mark, index) => {
    const [x1, y1, x2, y2] = mark.at;
    const element = el('div', {class: `${mark.kind} mark-${index % COLOURS}`, 'data-index': index,
                               onclick: () => chosen(index)}, mark.label && el('span', {}, mark.label));
    element.style.left = percent(x1);
    element.style.top = percent(y1);
    if (mark.kind === 'box') {
      element.style.width = percent(x2 - x1);
      element.style.height = percent(y2 - y1);
      element.classList.toggle('low', y1 < 90);  // no room for the label above
      // Small boxes lie above large ones, so that both can be clicked.
      element.style.zIndex = String(1000 - Math.round(Math.sqrt((x2 - x1) * (y2 - y1))));
    }
    element.classList.toggle('flip', x1 > 650);
    return element;
  }));
}

// One button per mark. Pointing at it makes the mark on the picture stand out; a click keeps it so until the next.
export class MarkList {
  // `show` brings the picture of the marks into sight and draws them.
  constructor(marks, overlay, show) {
    this.overlay = overlay;
    this.show = show;
    this.pinned = null;
    this.buttons = marks.map((mark, index) => el('button', {
      type: 'button', class: `mark-button mark-${index % COLOURS}`, 'aria-pressed': 'false',
      onpointerenter: () => this.light(index),
      onpointerleave: () => this.light(this.pinned),
      onfocus: () => this.light(index),
      onblur: () => this.light(this.pinned),
      onclick: () => this.pin(index),
    }, mark.label || `${index + 1}`));
    this.element = div('mark-list', ...this.buttons);
  }

  pin(index) {
    this.pinned = this.pinned === index ? null : index;
    this.buttons.forEach((button, at) => button.setAttribute('aria-pressed', String(at === this.pinned)));
    this.light(this.pinned);
    if (this.pinned !== null) this.buttons[index].scrollIntoView({block: 'nearest'});
  }

  light(index) {
    if (index !== null) this.show();
    this.overlay.classList.toggle('focused', index !== null);
    [...this.overlay.children].forEach((mark, at) => mark.classList.toggle('lit', at === index));
  }
}
