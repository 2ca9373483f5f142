// One question with the pictures that came with it, and its answer, as they stand on the page.

import {findMarks, MarkList} from './boxes.js';
import {copyText, div, el, icon, iconButton} from './dom.js';
import {duration, number, t} from './i18n.js';
import {renderMarkdown} from './markdown.js';

export const ERROR_TEXTS = {
  network: 'errNetwork', broken: 'errBroken', input: 'errInput', tooLarge: 'errTooLarge', busy: 'errBusy',
  starting: 'errStarting', key: 'errKey', server: 'errServer',
};

export class Turn {
  // `page`: {pictures, overlay, retry(turn), edit(turn, text), busy()}; `data`: what record() gave, when it is an old
  // one.
  constructor(question, pictures, shown, page, data = null) {
    this.question = question;
    this.pictures = pictures;  // new with this question
    this.shown = shown;        // the picture that boxes are drawn on
    this.page = page;
    this.text = '';
    this.state = 'waiting';    // waiting, streaming, done, stopped, failed
    this.result = null;        // {reason, usage, timings, total} of a complete answer
    this.error = null;         // {kind, detail}
    this.started = performance.now();
    this.stage = {stage: 'sending', done: 0, total: 0};
    this.pieces = 0;
    this.markCount = 0;
    if (data) Object.assign(this, data);
    this.build();
  }

  build() {
    this.asked = div('asked');
    this.body = div('body');
    this.marks = div('marks');
    this.status = div('status');
    this.figures = div('figures');
    this.answer = div('answer', this.body, this.marks, this.status, this.figures);
    this.element = el('article', {class: 'turn'}, this.asked, this.answer);
    this.render();
  }

  // Everything anew: after a change of language and for a conversation from the store.
  render() {
    this.renderQuestion();
    this.body.blockKeys = [];
    this.body.replaceChildren();
    renderMarkdown(this.body, this.text);
    this.markCount = 0;
    this.renderMarks();
    this.showStatus();
    this.renderFigures();
    if (this.state === 'failed') this.renderFailure();
  }

  renderQuestion() {
    const pictures = this.pictures.length > 0 &&
        div('asked-pictures', ...this.pictures.map((item) => el('img', {src: item.url, alt: item.name})));
    const tools = div('asked-tools', iconButton('edit', t('edit'), () => this.startEdit()));
    this.asked.replaceChildren(...[pictures, div('bubble', this.question), tools].filter(Boolean));
  }

  startEdit() {
    if (this.page.busy()) return;
    const area = el('textarea', {class: 'input', rows: '3', 'aria-label': t('edit')});
    area.value = this.question;
    const form = el('form', {class: 'edit', onsubmit: (event) => {
      event.preventDefault();
      const text = area.value.trim();
      if (text) this.page.edit(this, text);
    }}, area, div('edit-foot', el('button', {type: 'button', class: 'quiet', onclick: () => this.renderQuestion()}, t('cancel')),
                  el('button', {type: 'submit', class: 'primary'}, t('editSend'))));
    area.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') {
        event.stopPropagation();
        this.renderQuestion();
      } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
    this.asked.replaceChildren(form);
    area.focus();
    area.select();
  }

  // The waiting line: what the server is doing, how far it is, for how long. While text comes: how much and how fast.
  showStatus() {
    if (this.state === 'streaming') {
      const seconds = (performance.now() - this.firstPiece) / 1000;
      const rate = this.pieces >= 8 && seconds > 0.3 ? t('figRate', {n: number((this.pieces - 1) / seconds, 1)}) : '';
      this.status.replaceChildren(div('stage-label live', [t('figTokens', {n: this.pieces}), rate].filter(Boolean).join(' · ')));
      return;
    }
    if (this.state !== 'waiting') {
      this.status.replaceChildren();
      return;
    }
    const {done, total} = this.stage;
    const elapsed = performance.now() - this.started;
    const label = div('stage-label', elapsed > 1500 ?
        `${this.stageText()} · ${t('seconds', {n: Math.floor(elapsed / 1000)})}` : this.stageText());
    const fill = div('fill');
    const track = div(total > 0 ? 'track' : 'track endless', fill);
    if (total > 0) fill.style.width = `${Math.min(100, (100 * done) / total)}%`;
    this.status.replaceChildren(label, track);
  }

  stageText() {
    const {stage, done, total} = this.stage;
    return stage === 'queued' && done === 0 ? t('next') : t(stage, {n: done, total});
  }

  progress(stage) {
    this.stage = stage.total > 0 && stage.done >= stage.total ? {stage: 'thinking', done: 0, total: 0} : stage;
    this.showStatus();
  }

  addText(delta) {
    this.text += delta;
    ++this.pieces;
    if (this.state === 'waiting') {
      this.state = 'streaming';
      this.firstPiece = performance.now();
      this.showStatus();
      this.answer.classList.add('streaming');
    }
    // At most once per frame, however fast the tokens come.
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      renderMarkdown(this.body, this.text);
      this.renderMarks();
    });
  }

  end(state) {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = null;
    this.state = state;
    this.answer.classList.remove('streaming');
    this.showStatus();
    renderMarkdown(this.body, this.text);
    this.renderMarks();
  }

  // Boxes appear one after the other while the answer comes.
  renderMarks() {
    const marks = findMarks(this.text);
    if (!this.shown || marks.length === this.markCount) return;
    this.markCount = marks.length;
    const list = new MarkList(marks, this.page.overlay, () => show(false));
    const show = (always) => {
      const {pictures} = this.page;
      if (!always && pictures.shown === this.shown && this.shown.marks?.marks === marks) return;
      pictures.show(this.shown);
      pictures.setMarks(this.shown, marks, (index) => list.pin(index));
    };
    show(true);
    this.marks.replaceChildren(...(marks.length ? [div('figures', t('figPlaces', {n: marks.length})), list.element] : []));
  }

  // `result` as given by api.ask.
  finish(result) {
    this.result = {...result, total: performance.now() - this.started};
    this.end('done');
    this.renderFigures();
  }

  stop() {
    this.end('stopped');
    this.renderFigures();
  }

  renderFigures() {
    if (this.state !== 'done' && this.state !== 'stopped') {
      this.figures.replaceChildren();
      return;
    }
    const line = el('span', {}, this.state === 'stopped' ? t('stopped') : this.figureParts().join(' · '));
    const copy = iconButton('copy', t('copy'), async () => {
      await copyText(this.text);
      copy.replaceChildren(icon('done'));
      copy.setAttribute('aria-label', t('copied'));
      setTimeout(() => {
        copy.replaceChildren(icon('copy'));
        copy.setAttribute('aria-label', t('copy'));
      }, 1500);
    });
    const retry = iconButton('retry', t('retry'), () => this.page.retry(this));
    this.figures.replaceChildren(line, div('tools', this.text ? copy : '', retry));
  }

  figureParts() {
    const {reason, usage, timings, total} = this.result ?? {};
    const parts = [];
    if (reason === 'length') parts.push(t('truncated'));
    if (usage) {
      parts.push(t('figTokens', {n: usage.completion_tokens}));
      // The first token belongs to the prompt's time, and the rate of a few tokens says nothing.
      if (timings?.decode > 0 && usage.completion_tokens >= 8) {
        parts.push(t('figRate', {n: number(((usage.completion_tokens - 1) * 1000) / timings.decode, 1)}));
      }
    }
    if (timings?.first_token > 0) parts.push(t('figFirst', {n: duration(timings.first_token)}));
    if (total > 0) parts.push(t('figTotal', {n: duration(total)}));
    const details = usage?.prompt_tokens_details;
    if (details?.image_tokens) parts.push(t('figImage', {n: details.image_tokens}));
    if (details?.cached_tokens) parts.push(t('figCached', {n: details.cached_tokens}));
    return parts;
  }

  // After `retryIn` seconds (null: never) it is tried again without being asked.
  fail({kind, detail, retryIn = null}) {
    this.error = {kind, detail};
    this.end('failed');
    this.renderFailure(retryIn);
  }

  renderFailure(retryIn = null) {
    const {kind, detail} = this.error ?? {kind: 'server'};
    const wait = el('span', {class: 'detail'});
    const retry = el('button', {type: 'button', class: 'quiet', onclick: () => this.page.retry(this)},
                     t(retryIn ? 'retryNow' : 'retry'));
    const buttons = div('failure-foot', retry);
    this.status.replaceChildren(div('failure', el('strong', {}, t(ERROR_TEXTS[kind] ?? 'errServer')),
                                    detail && div('detail', detail), retryIn && wait, buttons));
    if (retryIn) this.countDown(retryIn, wait, buttons);
  }

  // Empty unless it failed.
  errorText() {
    return this.state === 'failed' ? [t(ERROR_TEXTS[this.error.kind] ?? 'errServer'), this.error.detail].join(' ').trim() : '';
  }

  countDown(seconds, wait, buttons) {
    let left = seconds;
    const end = () => clearInterval(this.timer);
    const tick = () => {
      wait.textContent = t('retrying', {n: left});
      if (left-- > 0) return;
      end();
      if (this.element.isConnected) this.page.retry(this);
    };
    this.cancelRetry = end;
    this.timer = setInterval(tick, 1000);
    tick();
    buttons.append(el('button', {type: 'button', class: 'quiet', onclick: () => {
      end();
      this.renderFailure();
    }}, t('cancel')));
  }

  // Whether later questions may build on this one.
  get usable() {
    return this.state === 'done' || (this.state === 'stopped' && this.text !== '');
  }

  async userMessage() {
    const parts = await Promise.all(this.pictures.map((item) => item.part(this.page.pictures.uploads)));
    return {role: 'user', content: [...parts, {type: 'text', text: this.question}]};
  }

  // Plain data for the store; pictures by their place in `items`.
  record(items) {
    const {question, text, state, result, error} = this;
    const interrupted = state === 'waiting' || state === 'streaming';
    return {question, text, state: interrupted ? 'stopped' : state, result, error,
            pictures: this.pictures.map((item) => items.indexOf(item)).filter((index) => index >= 0),
            shown: items.indexOf(this.shown)};
  }
}
