// Shows the text of an answer: paragraphs, lists, code, bold. Every piece enters the page as a text node, so nothing
// in an answer can become markup.

export function renderText(target, text) {
  target.replaceChildren(...blocks(text));
}

function element(tag, ...children) {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
}

function blocks(text) {
  const out = [];
  const parts = text.split(/^```/m);
  parts.forEach((part, index) => {
    if (index % 2 === 1) {
      const body = part.replace(/^[^\n]*\n?/, '').replace(/\n$/, '');
      out.push(element('pre', element('code', body)));
    } else {
      for (const paragraph of part.split(/\n{2,}/)) {
        if (paragraph.trim()) out.push(block(paragraph.replace(/^\n+|\s+$/g, '')));
      }
    }
  });
  return out;
}

function block(paragraph) {
  const lines = paragraph.split('\n');
  const trimmed = paragraph.trim();
  if (/^[[{]/.test(trimmed) && /[\]}]$/.test(trimmed)) return element('pre', element('code', trimmed));
  if (lines.every((line) => /^\s*[-*] /.test(line))) return list('ul', lines, /^\s*[-*] /);
  if (lines.every((line) => /^\s*\d+[.)] /.test(line))) return list('ol', lines, /^\s*\d+[.)] /);
  const heading = /^#{1,6} (.*)$/.exec(paragraph);
  if (heading) return element('p', element('strong', heading[1]));
  return element('p', ...lines.flatMap((line, i) => (i ? [document.createElement('br')] : []).concat(inline(line))));
}

function list(tag, lines, marker) {
  return element(tag, ...lines.map((line) => element('li', ...inline(line.replace(marker, '')))));
}

// `code` and **bold**; everything else as it stands.
function inline(line) {
  return line.split(/(`[^`]+`|\*\*[^*]+\*\*)/).filter(Boolean).map((piece) => {
    if (/^`[^`]+`$/.test(piece)) return element('code', piece.slice(1, -1));
    if (/^\*\*[^*]+\*\*$/.test(piece)) return element('strong', piece.slice(2, -2));
    return document.createTextNode(piece);
  });
}
