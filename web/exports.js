// A conversation from the store as a file that others can read.

import {download} from './dom.js';
import {readDataUrl} from './pictures.js';

const fileName = (record, suffix) => {
  const words = record.title.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '').slice(0, 50);
  return `${words || 'conversation'}.${suffix}`;
};

// A title or name of a file must not become markup of the document.
const escaped = (text) => text.replace(/[\\`*_[\]<>#|]/g, '\\$&').replace(/\s+/g, ' ');

export function markdownOf(record) {
  const parts = [`# ${escaped(record.title)}`, new Date(record.updated).toISOString()];
  for (const turn of record.turns) {
    const names = turn.pictures.map((index) => record.pictures[index]?.name).filter(Boolean);
    if (names.length) parts.push(names.map((name) => `* ${escaped(name)}`).join('\n'));
    parts.push(turn.question.split('\n').map((line) => `> ${line}`).join('\n'));
    if (turn.text) parts.push(turn.text.trim());
  }
  return `${parts.join('\n\n')}\n`;
}

export function saveMarkdown(record) {
  download(fileName(record, 'md'), 'text/markdown;charset=utf-8', markdownOf(record));
}

// With the pictures as data URLs, so that the file is complete.
export async function saveJson(record) {
  const pictures = await Promise.all(record.pictures.map(async ({name, rotation, blob}) =>
    ({name, rotation, url: await readDataUrl(blob)})));
  const turns = record.turns.map(({question, text, state, result, error, pictures: indices}) =>
    ({question, answer: text, state, pictures: indices, usage: result?.usage ?? null,
      timings_ms: result?.timings ?? null, error: error ?? null}));
  const whole = {title: record.title, updated: new Date(record.updated).toISOString(), pictures, turns};
  download(fileName(record, 'json'), 'application/json', JSON.stringify(whole, null, 2));
}
