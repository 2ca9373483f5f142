// Models write complex tables as HTML. Only rows and cells with their spans are read; every other tag is dropped and
// all text enters as text.

import {el} from './dom.js';

const MAX_SPAN = 100;
const ENTITIES = {'&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': '\'', '&nbsp;': '\u00a0', '&amp;': '&'};

const plain = (source) => source.replace(/<br\s*\/?>/gi, '\n').replace(/<[^<>]*>/g, '')
    .replace(/&(lt|gt|quot|#39|nbsp|amp);/g, (entity) => ENTITIES[entity]).trim();

function span(attributes, name) {
  const found = new RegExp(`\\b${name}\\s*=\\s*["']?(\\d{1,3})`, 'i').exec(attributes);
  const count = found ? Math.min(MAX_SPAN, Number(found[1])) : 1;
  return count > 1 ? String(count) : null;
}

// Also of a table that is still being written.
export function htmlTable(source) {
  const rows = source.split(/<tr\b[^<>]*>/i).slice(1).map((row) => {
    const made = el('tr');
    for (const [, tag, attributes, content] of row.matchAll(/<(t[dh])\b([^<>]*)>([\s\S]*?)(?=<\/?t[dhr]\b|<\/table|$)/gi)) {
      const lines = plain(content).split('\n').flatMap((line, index) => (index ? [el('br'), line] : [line]));
      made.append(el(tag.toLowerCase(), {colspan: span(attributes, 'colspan'), rowspan: span(attributes, 'rowspan')}, ...lines));
    }
    return made;
  });
  return el('div', {class: 'table', tabindex: '0'}, el('table', {}, el('tbody', {}, ...rows)));
}
