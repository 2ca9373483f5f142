// The results of a job as files for other programs.

const COLUMNS = ['file', 'status', 'answer', 'error', 'prompt_tokens', 'completion_tokens', 'seconds'];

function row(record, entry) {
  return {file: entry.name, question: record.question, status: entry.status, answer: entry.answer ?? null,
          error: entry.error || null, prompt_tokens: entry.usage?.prompt_tokens ?? null,
          completion_tokens: entry.usage?.completion_tokens ?? null, seconds: entry.seconds ?? null,
          task_id: entry.task ?? null};
}

export const jsonLines = (record) => record.entries.map((entry) => `${JSON.stringify(row(record, entry))}\n`).join('');

// RFC 4180. A cell that a spreadsheet would take for a formula gets an apostrophe; numbers stay numbers.
function cell(value) {
  let text = String(value ?? '');
  if (/^[=+\-@\t\r]/.test(text) && !/^[+-]?\d+([.,]\d+)?%?$/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

// With a byte order mark, because spreadsheets take the file for something else than UTF-8 without one.
export function csv(record) {
  const lines = record.entries.map((entry) => {
    const values = row(record, entry);
    return COLUMNS.map((name) => cell(values[name])).join(',');
  });
  return `\ufeff${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`;
}
