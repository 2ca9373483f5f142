// Small helpers to build the page. Text always enters as text nodes or attributes, never as markup.

const SVG = 'http://www.w3.org/2000/svg';

// el('button', {class: 'quiet', type: 'button', 'aria-label': 'x', onclick: f, hidden: true}, 'text', child)
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const div = (className, ...children) => el('div', {class: className}, ...children);

export function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Stroked paths on a 24 by 24 grid.
const ICONS = {
  rotate: 'M19.5 12a7.5 7.5 0 1 1-2.3-5.4L19.5 9M19.5 4.2V9h-4.8',
  remove: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h10v11H9zM5.5 15H5V4h10v1.5',
  done: 'm5 12.5 4.5 4.5L19 7',
  retry: 'M4.5 12a7.5 7.5 0 1 0 2.3-5.4L4.5 9M4.5 4.2V9h4.8',
  edit: 'M4.5 19.5l1-4L16 5l3 3L8.5 18.5zM13.5 7.5l3 3',
  markdown: 'M12 4v11M7 10.5 12 15.5l5-5M5 20h14',
  trash: 'M5 7h14M10 7V4.5h4V7M7 7l.8 12.5h8.4L17 7M10.3 10.5v6M13.7 10.5v6',
};

export function icon(name, size = 18) {
  return svg('svg', {viewBox: '0 0 24 24', width: size, height: size, 'aria-hidden': 'true'},
             svg('path', {d: ICONS[name]}));
}

// A button that shows only an icon; the label is its name and its tooltip.
export function iconButton(name, label, onclick, className = 'tool') {
  return el('button', {type: 'button', class: className, 'aria-label': label, title: label, onclick}, icon(name));
}

// Puts `text` on the clipboard, also where the page is not in a secure context (http from another machine).
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch {
    // Older way below.
  }
  const area = el('textarea', {class: 'unseen', 'aria-hidden': 'true', tabindex: '-1'});
  area.value = text;
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
}

// Offers `content` as a file.
export function download(name, type, content) {
  const address = URL.createObjectURL(new Blob([content], {type}));
  el('a', {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
