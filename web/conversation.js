// Questions and answers as they stand on the page, and as messages for the server.

import {findMarks, markButtons} from './boxes.js';
import {t} from './i18n.js';
import {picturePart} from './pictures.js';
import {renderText} from './text.js';

function div(className, ...children) {
  const made = document.createElement('div');
  made.className = className;
  made.append(...children);
  return made;
}

// "52 ms", "3.1 s", "48 s"
function duration(ms) {
  if (ms < 1000) return t('millis', {n: Math.round(ms)});
  return t('seconds', {n: ms < 9950 ? (ms / 1000).toFixed(1) : Math.round(ms / 1000)});
}

// One question with the pictures that came with it, and its answer.
export class Turn {
  constructor(question, pictures, shown) {
    this.question = question;
    this.pictures = pictures;  // new with this question
    this.shown = shown;        // the picture that boxes are drawn on
    this.text = '';
    this.state = 'waiting';    // waiting, streaming, done, stopped, failed
    this.started = performance.now();
    this.stage = {stage: 'sending', done: 0, total: 0};
    this.build();
  }

  build() {
    this.asked = div('asked');
    if (this.pictures.length) {
      this.asked.append(div('asked-pictures', ...this.pictures.map((item) => {
        const image = document.createElement('img');
        image.src = item.url;
        image.alt = item.name;
        return image;
      })));
    }
    const bubble = div('bubble');
    bubble.textContent = this.question;
    this.asked.append(bubble);
    this.body = div('body');
    this.marks = div('marks');
    this.status = div('status');
    this.figures = div('figures');
    this.answer = div('answer', this.body, this.marks, this.status, this.figures);
    this.element = div('turn', this.asked, this.answer);
    this.showStatus();
  }

  // The waiting line: what the server is doing, how far it is, for how long.
  showStatus() {
    if (this.state !== 'waiting') {
      this.status.replaceChildren();
      return;
    }
    const {stage, done, total} = this.stage;
    const text = stage === 'queued' && done === 0 ? t('next') : t(stage, {n: done});
    const elapsed = performance.now() - this.started;
    const label = div('stage-label');
    label.textContent = elapsed > 1500 ? `${text} \u00b7 ${t('seconds', {n: Math.floor(elapsed / 1000)})}` : text;
    const track = div(total > 0 ? 'track' : 'track endless', div('fill'));
    if (total > 0) track.firstChild.style.width = `${Math.min(100, (100 * done) / total)}%`;
    this.status.replaceChildren(label, track);
  }

  progress(stage) {
    this.stage = stage.total > 0 && stage.done >= stage.total ? {stage: 'thinking', done: 0, total: 0} : stage;
    this.showStatus();
  }

  addText(delta) {
    this.text += delta;
    if (this.state === 'waiting') {
      this.state = 'streaming';
      this.showStatus();
      this.answer.classList.add('streaming');
    }
    // At most once per frame, however fast the tokens come.
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      renderText(this.body, this.text);
    });
  }

  end(state) {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.state = state;
    this.answer.classList.remove('streaming');
    this.showStatus();
    renderText(this.body, this.text);
  }

  // `result` as given by api.ask; `drawing` knows the pictures and their overlay.
  finish(result, drawing) {
    this.end('done');
    const marks = findMarks(this.text);
    if (marks.length && this.shown) {
      const show = () => {
        drawing.pictures.show(this.shown);
        drawing.pictures.setMarks(this.shown, marks);
      };
      show();
      this.marks.replaceChildren(markButtons(marks, drawing.overlay, show));
    }
    this.showFigures(result);
  }

  showFigures({reason, usage, timings}) {
    const parts = [];
    if (reason === 'length') parts.push(t('truncated'));
    const total = performance.now() - this.started;
    if (usage) {
      parts.push(t('figTokens', {n: usage.completion_tokens}));
      // The first token belongs to the prompt's time, and the rate of a few tokens says nothing.
      if (timings?.decode > 0 && usage.completion_tokens >= 8) {
        parts.push(t('figRate', {n: (((usage.completion_tokens - 1) * 1000) / timings.decode).toFixed(1)}));
      }
    }
    if (timings?.first_token > 0) parts.push(t('figFirst', {n: duration(timings.first_token)}));
    parts.push(t('figTotal', {n: duration(total)}));
    const details = usage?.prompt_tokens_details;
    if (details?.image_tokens) parts.push(t('figImage', {n: details.image_tokens}));
    if (details?.cached_tokens) parts.push(t('figCached', {n: details.cached_tokens}));
    const line = document.createElement('span');
    line.textContent = parts.join(' \u00b7 ');
    this.figures.replaceChildren(line, this.copyButton());
  }

  copyButton() {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'quiet small';
    button.textContent = t('copy');
    button.addEventListener('click', async () => {
      await navigator.clipboard?.writeText(this.text);
      button.textContent = t('copied');
      setTimeout(() => { button.textContent = t('copy'); }, 1500);
    });
    return button;
  }

  stop() {
    this.end('stopped');
    const line = document.createElement('span');
    line.textContent = t('stopped');
    this.figures.replaceChildren(line);
  }

  fail(text, detail, retry) {
    this.end('failed');
    const box = div('failure');
    const title = document.createElement('strong');
    title.textContent = text;
    box.append(title);
    if (detail) box.append(div('detail', detail));
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'quiet';
    button.textContent = t('retry');
    button.addEventListener('click', retry);
    box.append(button);
    this.status.replaceChildren(box);
  }

  // Whether later questions may build on this one.
  get usable() {
    return this.state === 'done' || (this.state === 'stopped' && this.text !== '');
  }

  async userMessage() {
    const parts = await Promise.all(this.pictures.map(picturePart));
    return {role: 'user', content: [...parts, {type: 'text', text: this.question}]};
  }
}

// All usable turns and then `next`, as the API wants them.
export async function messagesFor(turns, next) {
  const messages = [];
  for (const turn of turns) {
    if (!turn.usable || turn === next) continue;
    messages.push(await turn.userMessage(), {role: 'assistant', content: turn.text});
  }
  messages.push(await next.userMessage());
  return messages;
}
