// Shows the Markdown of an answer. Everything enters the page as text nodes and elements made here, so nothing in an
// answer can become markup, load anything or run. LaTeX stays as it is written, set apart so that it can be read.

import {copyText, el, iconButton} from './dom.js';
import {inline} from './inline.js';
import {htmlTable} from './html_table.js';
import {t} from './i18n.js';

const MAX_DEPTH = 8;  // nested lists and quotes

// Renders into `target` and keeps the blocks that have not changed since the last call, so that a streamed answer
// does not flicker and selected text stays selected.
export function renderMarkdown(target, text) {
  const blocks = parseBlocks(text.replace(/\r\n?/g, '\n').split('\n'), 0);
  const before = target.blockKeys ?? [];
  const keys = blocks.map((block) => block.key);
  let same = 0;
  while (same < keys.length && same < before.length && keys[same] === before[same]) ++same;
  while (target.childNodes.length > same) target.lastChild.remove();
  target.append(...blocks.slice(same).map((block) => block.make()));
  target.blockKeys = keys;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])(\s+|$)/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const MATH_OPEN = /^\s*(\$\$|\\\[)/;

const READERS = [readFence, readMath, readHeading, readRule, readQuote, readHtmlTable, readTable, readList];

// [{key, make}]: `key` changes when the block does, make() builds its element.
function parseBlocks(lines, depth) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      ++at;
      continue;
    }
    const read = readBlock(lines, at, depth) ?? readParagraph(lines, at, depth);
    const source = lines.slice(at, read.end).join('\n');
    // The end belongs to the key: an open code block changes its look when it is closed.
    blocks.push({key: `${read.kind}:${source}`, make: read.make});
    at = read.end;
  }
  return blocks;
}

function readBlock(lines, at, depth) {
  for (const reader of READERS) {
    const read = reader(lines, at, depth);
    if (read) return read;
  }
  return null;
}

const build = (lines, depth) => parseBlocks(lines, depth).map((block) => block.make());

function readFence(lines, at) {
  const open = FENCE.exec(lines[at]);
  if (!open) return null;
  const close = new RegExp(`^ {0,3}${open[1][0]}{${open[1].length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !close.test(lines[end])) ++end;
  const code = lines.slice(at + 1, end).join('\n');
  return {kind: 'code', end: Math.min(end + 1, lines.length), make: () => codeBlock(code, open[2])};
}

function codeBlock(code, language) {
  const copy = iconButton('copy', t('copy'), async () => {
    await copyText(code);
    copy.title = t('copied');
    copy.classList.add('done');
    setTimeout(() => copy.classList.remove('done'), 1200);
  });
  return el('div', {class: 'code'}, el('div', {class: 'code-bar'}, el('span', {}, language), copy),
            el('pre', {tabindex: '0'}, el('code', {}, code)));
}

function readMath(lines, at) {
  const open = MATH_OPEN.exec(lines[at]);
  if (!open) return null;
  const close = open[1] === '$$' ? '$$' : '\\]';
  const rest = lines[at].slice(open[0].length);
  let end = at;
  if (!rest.includes(close)) {
    do ++end;
    while (end < lines.length && !lines[end].includes(close));
  }
  if (end >= lines.length && lines[at].trim() !== open[1]) return null;
  const text = lines.slice(at, end + 1).join('\n').trim();
  if (end < lines.length && !text.endsWith(close)) return null;  // text follows: inline formula
  return {
    kind: 'math',
    end: Math.min(end + 1, lines.length),
    make: () => el('pre', {class: 'math', tabindex: '0'}, text.replace(/^(\$\$|\\\[)\s*/, '').replace(/\s*(\$\$|\\\])$/, '')),
  };
}

function readHeading(lines, at) {
  const found = HEADING.exec(lines[at]);
  // The page has its own h1 and h2.
  return found && {kind: 'h', end: at + 1, make: () => el(`h${Math.min(6, found[1].length + 2)}`, {}, ...inline(found[2]))};
}

function readRule(lines, at) {
  return RULE.test(lines[at]) ? {kind: 'hr', end: at + 1, make: () => el('hr')} : null;
}

function readQuote(lines, at, depth) {
  if (!QUOTE.test(lines[at]) || depth >= MAX_DEPTH) return null;
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) ++end;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ''));
  return {kind: 'quote', end, make: () => el('blockquote', {}, ...build(inner, depth + 1))};
}

function readHtmlTable(lines, at) {
  if (!/^\s*<table\b/i.test(lines[at])) return null;
  let end = at;
  while (end < lines.length && !/<\/table>/i.test(lines[end])) ++end;
  const source = lines.slice(at, end + 1).join('\n');
  return {kind: 'html-table', end: Math.min(end + 1, lines.length), make: () => htmlTable(source)};
}

function readTable(lines, at) {
  if (!lines[at].includes('|') || at + 1 >= lines.length) return null;
  if (!TABLE_RULE.test(lines[at + 1]) || !lines[at + 1].includes('-')) return null;
  const head = cells(lines[at]), rule = cells(lines[at + 1]);
  if (head.length !== rule.length) return null;
  const align = rule.map((cell) => (cell.endsWith(':') ? (cell.startsWith(':') ? 'center' : 'right') : 'left'));
  let end = at + 2;
  while (end < lines.length && lines[end].trim() && lines[end].includes('|')) ++end;
  const rows = lines.slice(at + 2, end).map(cells);
  const row = (tag, values) => el('tr', {}, ...head.map((_, column) => el(
      tag, {class: `to-${align[column]}`, scope: tag === 'th' ? 'col' : null}, ...inline(values[column] ?? ''))));
  return {
    kind: 'table',
    end,
    make: () => el('div', {class: 'table', tabindex: '0'}, el('table', {}, el('thead', {}, row('th', head)),
                                                           el('tbody', {}, ...rows.map((values) => row('td', values))))),
  };
}

// "| a | b \| c |" -> ["a", "b | c"]; a bar inside `code` does not split.
function cells(line) {
  const out = [''];
  let code = false;
  for (let i = 0; i < line.length; ++i) {
    const char = line[i];
    if (char === '\\' && line[i + 1] === '|') {
      out[out.length - 1] += '|';
      ++i;
    } else if (char === '|' && !code) {
      out.push('');
    } else {
      if (char === '`') code = !code;
      out[out.length - 1] += char;
    }
  }
  if (!out[0].trim()) out.shift();
  if (out.length && !out.at(-1).trim()) out.pop();
  return out.map((cell) => cell.trim());
}

function readList(lines, at, depth) {
  const first = ITEM.exec(lines[at]);
  if (!first || depth >= MAX_DEPTH) return null;
  const ordered = /\d/.test(first[2]), indent = first[1].length;
  const items = [];
  let end = at;
  while (end < lines.length) {
    const marker = ITEM.exec(lines[end]);
    if (marker && marker[1].length <= indent + 1 && marker[1].length >= indent && /\d/.test(marker[2]) === ordered) {
      items.push([lines[end].slice(marker[0].length)]);
      ++end;
    } else if (items.length && belongsToItem(lines, end, indent)) {
      items.at(-1).push(lines[end]);
      ++end;
    } else {
      break;
    }
  }
  const start = ordered ? Number.parseInt(first[2], 10) : null;
  return {
    kind: 'list',
    end,
    make: () => el(ordered ? 'ol' : 'ul', {start: start !== null && start !== 1 ? String(start) : null},
                   ...items.map((item) => el('li', {}, ...itemContent(item, depth)))),
  };
}

// Indented lines, and an empty line before one.
function belongsToItem(lines, at, indent) {
  const indented = (line) => line !== undefined && line.trim() && /^\s*/.exec(line)[0].length > indent;
  return indented(lines[at]) || (!lines[at].trim() && indented(lines[at + 1]));
}

function itemContent([first, ...rest], depth) {
  const least = Math.min(...rest.filter((line) => line.trim()).map((line) => /^\s*/.exec(line)[0].length), 99);
  const content = build([first, ...rest.map((line) => line.slice(least))], depth + 1);
  // A lone paragraph is shown without the distance of one.
  return content.length && content[0].tagName === 'P' ? [...content[0].childNodes, ...content.slice(1)] : content;
}

function readParagraph(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !readBlock(lines, end, depth)) ++end;
  const text = lines.slice(at, end).map((line) => line.trim()).join('\n');
  const data = /^[[{]/.test(text) && /[\]}]$/.test(text) && isJson(text);
  return {kind: 'p', end, make: () => (data ? codeBlock(text, 'json') : el('p', {}, ...inline(text)))};
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
