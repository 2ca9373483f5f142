// The conversation on the page: its questions and answers, asking, stopping, trying again, and its record in the store.

import * as api from './api.js';
import {Picture} from './pictures.js';
import {Turn} from './turn.js';

const MAX_TITLE = 80;

export class Conversation {
  // `page`: {log, overlay, pictures, settings, store, follow(change), changed(), announce(turn), lost()}.
  constructor(page) {
    this.page = page;
    this.turns = [];
    this.running = null;  // {turn, controller}
    this.id = null;       // in the store, once there is something to keep
    this.turnPage = {
      pictures: page.pictures,
      overlay: page.overlay,
      busy: () => this.running !== null,
      retry: (turn) => this.retry(turn, turn.question),
      edit: (turn, text) => this.retry(turn, text),
    };
  }

  ask(text) {
    const {pictures} = this.page;
    this.begin(text, pictures.items.filter((item) => !item.sent), pictures.shown);
  }

  begin(text, fresh, shown) {
    if (this.running) return;
    const {pictures, log} = this.page;
    for (const turn of this.turns) turn.cancelRetry?.();
    for (const item of fresh) item.sent = true;
    const turn = new Turn(text, fresh, shown, this.turnPage);
    this.turns.push(turn);
    log.append(turn.element);
    pictures.refresh();
    log.scrollTop = log.scrollHeight;
    this.run(turn);
  }

  // Asks again from this question on; what came after it goes.
  retry(turn, text) {
    const at = this.turns.indexOf(turn);
    if (this.running || at < 0) return;
    const {pictures} = this.page;
    // Pictures of later questions come along unless they are still in an earlier one.
    const dropped = this.turns.splice(at);
    for (const old of dropped) {
      old.cancelRetry?.();
      old.element.remove();
    }
    const kept = new Set(this.turns.flatMap((other) => other.pictures));
    const later = dropped.slice(1).flatMap((other) => other.pictures);
    for (const item of later) item.sent = false;
    const fresh = turn.pictures.filter((item) => pictures.items.includes(item) && !kept.has(item));
    this.begin(text, fresh, pictures.items.includes(turn.shown) ? turn.shown : pictures.shown);
  }

  stop() {
    this.running?.controller.abort();
  }

  async run(turn) {
    const {follow, pictures} = this.page;
    const controller = new AbortController();
    this.running = {turn, controller};
    this.page.changed();
    const clock = setInterval(() => turn.showStatus(), 500);
    try {
      await this.send(turn, controller.signal);
    } catch (error) {
      if (error.name === 'AbortError') follow(() => turn.stop());
      else follow(() => this.explain(turn, error));
    } finally {
      clearInterval(clock);
      this.running = null;
      // Pictures of a question without an answer belong to the next one, and may be removed.
      if (!turn.usable) for (const item of turn.pictures) item.sent = false;
      pictures.refresh();
      this.page.announce(turn);
      if (this.turns.includes(turn)) await this.save();
    }
  }

  async send(turn, signal, again = false) {
    const {follow, pictures, settings} = this.page;
    const messages = await untilAborted(this.messages(turn), signal);
    try {
      await api.ask({messages, ...settings.requestFields()}, {
        progress: (stage) => follow(() => turn.progress(stage)),
        text: (delta) => follow(() => turn.addText(delta)),
        done: (result) => follow(() => turn.finish(result)),
      }, {signal, key: settings.key});
    } catch (error) {
      // The server has lost a picture that it was sent: once more, with the pictures.
      if (error.status !== 404 || again) throw error;
      pictures.uploads.forget();
      await this.send(turn, signal, true);
    }
  }

  explain(turn, error) {
    if (!(error instanceof api.ApiError)) console.error(error);
    const retryIn = error.kind === 'busy' || error.kind === 'starting' ? error.retryAfter : null;
    turn.fail({kind: error.kind ?? 'server', detail: error.message ?? '', retryIn});
    if (error.kind === 'network') this.page.lost();
  }

  // All usable turns and then `next`, as the API wants them.
  async messages(next) {
    const {system} = this.page.settings;
    const messages = system ? [{role: 'system', content: system}] : [];
    for (const turn of this.turns) {
      if (!turn.usable || turn === next) continue;
      messages.push(await turn.userMessage(), {role: 'assistant', content: turn.text});
    }
    messages.push(await next.userMessage());
    return messages;
  }

  render() {
    for (const turn of this.turns) turn.render();
  }

  // A new, empty one.
  clear() {
    this.stop();
    for (const turn of this.turns) turn.cancelRetry?.();
    this.turns = [];
    this.id = null;
    this.page.log.replaceChildren();
    this.page.pictures.clear();
  }

  async save() {
    const {pictures, store} = this.page;
    const items = pictures.items;
    this.id ??= `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`;
    await store.save({
      id: this.id,
      title: this.turns[0].question.slice(0, MAX_TITLE),
      updated: Date.now(),
      pictures: items.map((item) => item.record()),
      turns: this.turns.map((turn) => turn.record(items)),
    });
  }

  // Shows one from the store.
  open(record) {
    this.clear();
    const {pictures, log} = this.page;
    this.id = record.id;
    const items = record.pictures.map((saved) => new Picture(saved));
    items.forEach((item) => pictures.put(item));
    for (const saved of record.turns) {
      const {question, text, state, result, error} = saved;
      const own = saved.pictures.map((index) => items[index]).filter(Boolean);
      this.turns.push(new Turn(question, own, items[saved.shown] ?? null, this.turnPage,
                               {text, state, result, error}));
    }
    log.replaceChildren(...this.turns.map((turn) => turn.element));
    pictures.refresh();
    for (const item of items) {
      if (item.wanted) item.turnTo(item.wanted).then(() => this.afterTurn(item), () => {});
    }
    log.scrollTop = log.scrollHeight;
  }

  // A turned picture has a new address, and its boxes are drawn anew.
  afterTurn(item) {
    this.page.pictures.refresh();
    for (const turn of this.turns) {
      if (turn.pictures.includes(item) || turn.shown === item) turn.render();
    }
  }
}

// The promise's result, or at once the AbortError of the signal.
function untilAborted(promise, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new DOMException('stopped', 'AbortError'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, {once: true});
    promise.then(resolve, reject);
  });
}
