// The marks inside a paragraph: code, bold, italic, struck, links, formulas, line breaks. Returns nodes made here.

import {el} from './dom.js';

const MAX_INLINE = 20_000;  // longer paragraphs are shown as they stand
const MAX_DEPTH = 6;
const ESCAPABLE = /[\\`*_{}[\]()#+\-.!|~<>$]/;

export function inline(text, depth = 0) {
  if (text.length > MAX_INLINE || depth > MAX_DEPTH) return [text];
  const nodes = [];
  let plain = '', at = 0;
  const flush = () => {
    if (plain) nodes.push(document.createTextNode(plain));
    plain = '';
  };
  while (at < text.length) {
    const found = READERS[text[at]]?.(text, at, depth);
    if (found) {
      if (typeof found.node === 'string') {
        plain += found.node;
      } else {
        flush();
        nodes.push(found.node);
      }
      at = found.end;
    } else {
      plain += text[at];
      ++at;
    }
  }
  flush();
  return nodes;
}

const READERS = {
  '\\': readBackslash,
  '`': readCode,
  '*': readStars,
  '_': readUnderscores,
  '~': readStruck,
  '[': readLink,
  '!': readImage,
  '<': readAngle,
  'h': readAddress,
  '$': readDollar,
  '\n': (text, at) => ({node: el('br'), end: at + 1}),
};

function readBackslash(text, at) {
  const next = text[at + 1];
  if (next === '(' || next === '[') {
    const close = text.indexOf(next === '(' ? '\\)' : '\\]', at + 2);
    if (close > 0) return {node: math(text.slice(at + 2, close)), end: close + 2};
  }
  return next && ESCAPABLE.test(next) ? {node: next, end: at + 2} : null;
}

const math = (source) => el('span', {class: 'math'}, source.trim());

// $x$ but not "$5 and $6": no space inside, no digit right behind.
function readDollar(text, at) {
  const width = text[at + 1] === '$' ? 2 : 1;
  const close = text.indexOf('$'.repeat(width), at + width);
  if (close <= at + width) return null;
  const source = text.slice(at + width, close);
  if (width === 1 && (/^\s|\s$|\n/.test(source) || /\d/.test(text[close + 1] ?? ''))) return null;
  return {node: math(source), end: close + width};
}

function readCode(text, at) {
  const ticks = /^`+/.exec(text.slice(at, at + 20))[0];
  const close = text.indexOf(ticks, at + ticks.length);
  if (close < 0) return {node: ticks, end: at + ticks.length};
  const source = text.slice(at + ticks.length, close).replace(/\n/g, ' ');
  return {node: el('code', {}, source.replace(/^ (.+) $/, '$1')), end: close + ticks.length};
}

// The text between the mark at `at` and the next same mark, when it neither begins nor ends with a space.
function between(text, at, mark) {
  const begin = at + mark.length;
  if (/\s/.test(text[begin] ?? ' ')) return null;
  let close = text.indexOf(mark, begin + 1);
  // "*" must not take the first half of "**".
  while (close > 0 && mark.length === 1 && text[close + 1] === mark) close = text.indexOf(mark, close + 2);
  if (close < 0 || /\s/.test(text[close - 1])) return null;
  return {inner: text.slice(begin, close), end: close + mark.length};
}

function readStars(text, at, depth) {
  const run = /^\*+/.exec(text.slice(at, at + 4))[0];
  for (const [mark, tag] of [['**', 'strong'], ['*', 'em']]) {
    if (run.length < mark.length) continue;
    const found = between(text, at, mark);
    if (found) return {node: el(tag, {}, ...inline(found.inner, depth + 1)), end: found.end};
  }
  return {node: run, end: at + run.length};
}

// Not inside words: snake_case stays as it is.
function readUnderscores(text, at, depth) {
  if (/[\p{L}\p{N}]/u.test(text[at - 1] ?? '')) return null;
  for (const [mark, tag] of [['__', 'strong'], ['_', 'em']]) {
    if (!text.startsWith(mark, at)) continue;
    const found = between(text, at, mark);
    if (found && !/[\p{L}\p{N}]/u.test(text[found.end] ?? '')) {
      return {node: el(tag, {}, ...inline(found.inner, depth + 1)), end: found.end};
    }
  }
  return null;
}

function readStruck(text, at, depth) {
  const found = text.startsWith('~~', at) ? between(text, at, '~~') : null;
  return found && {node: el('s', {}, ...inline(found.inner, depth + 1)), end: found.end};
}

// Only addresses that open a page or a mail; javascript:, data: and the like stay text.
function safeAddress(source) {
  try {
    const address = new URL(source);
    return ['http:', 'https:', 'mailto:'].includes(address.protocol) ? address.href : null;
  } catch {
    return null;
  }
}

const link = (address, ...children) =>
    el('a', {href: address, target: '_blank', rel: 'noopener noreferrer nofollow'}, ...children);

const LINK = /\[([^[\]]{1,500})\]\(\s*<?([^\s()<>]{1,2000}(?:\([^\s()]{0,200}\))?)>?(?:\s+"[^"]{0,200}")?\s*\)/y;

function readLink(text, at, depth) {
  LINK.lastIndex = at;
  const found = LINK.exec(text);
  const address = found && safeAddress(found[2]);
  return address ? {node: link(address, ...inline(found[1], depth + 1)), end: at + found[0].length} : null;
}

// Pictures of an answer are never loaded: their address could tell somebody that it was read.
function readImage(text, at) {
  if (text[at + 1] !== '[') return null;
  LINK.lastIndex = at + 1;
  const found = LINK.exec(text);
  const address = found && safeAddress(found[2]);
  return address ? {node: link(address, found[1]), end: at + 1 + found[0].length} : null;
}

function readAngle(text, at) {
  const found = /^<(br ?\/?|https?:\/\/[^\s<>]{1,2000})>/i.exec(text.slice(at, at + 2010));
  if (!found) return null;
  const address = safeAddress(found[1]);
  return {node: address ? link(address, found[1]) : el('br'), end: at + found[0].length};
}

const BARE = /https?:\/\/[^\s<>"'`，。；）】]{1,2000}/y;

function readAddress(text, at) {
  if (/[\w/]/.test(text[at - 1] ?? '')) return null;
  BARE.lastIndex = at;
  const found = BARE.exec(text);
  if (!found) return null;
  const source = found[0].replace(/[.,;:!?)\]*_]+$/, '');
  const address = safeAddress(source);
  return address && {node: link(address, source), end: at + source.length};
}
