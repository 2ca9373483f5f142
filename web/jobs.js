// One question over many files as tasks of the server: sending, following, cancelling. A job outlives the page: its
// record lies in the browser's store and the tasks lie with the server.

import {ApiError, send} from './api.js';
import {readDataUrl} from './pictures.js';

const UPLOADS = 3;          // at once; more only compete for the same line
const FOLLOWED = 6;         // tasks asked for per round: they end nearly in the order of their arrival
const ROUND_MS = 600;
const PATIENCE_MS = 2500;   // after a lost connection, and when a busy server names no time
const OPEN = new Set(['sending', 'queued', 'running']);

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Fails with the server's words when it keeps no tasks.
export const probeTasks = (key) => send('api/tasks?limit=1', {key});

export class Job {
  // `record` from the store or from newRecord(); `files` of a new one, in the order of its entries. `changed(entry)` is
  // called after every change of an entry, `key()` gives the API key, `keep(record)` stores the record.
  constructor(record, {files = null, changed, key, keep}) {
    this.record = record;
    this.files = files;
    this.changed = changed;
    this.key = key;
    this.keep = keep;
    this.ended = false;
    if (files) return;
    // What the page had not sent when it was closed is gone.
    for (const entry of this.entries) {
      if (entry.status === 'sending') Object.assign(entry, {status: 'failed', error: '', unsent: true});
    }
  }

  static newRecord({question, system, fields}, files) {
    const id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`;
    return {id, created: Date.now(), question, system, fields,
            entries: files.map((file) => ({name: file.name || 'picture', status: 'sending', attempt: 0}))};
  }

  get entries() { return this.record.entries; }

  count(...states) {
    return this.entries.reduce((sum, entry) => sum + states.includes(entry.status), 0);
  }

  get open() { return this.entries.some((entry) => OPEN.has(entry.status)); }
  get repeatable() { return Boolean(this.files) && !this.open && this.count('failed', 'expired', 'cancelled') > 0; }

  set(entry, values) {
    Object.assign(entry, values);
    this.changed(entry);
  }

  // Until everything has ended or stop() is called.
  async run() {
    const uploads = Array.from({length: UPLOADS}, () => this.upload());
    await Promise.all([...uploads, this.follow()]);
    if (!this.ended) await this.keep(this.record);
  }

  stop() { this.ended = true; }

  async upload() {
    if (!this.files) return;
    let entry;
    while (!this.ended && (entry = this.entries.find((one) => one.status === 'sending' && !one.taken))) {
      entry.taken = true;
      await this.submit(entry);
      delete entry.taken;
      await this.keep(this.record);
    }
  }

  // The key makes a repeated upload the same task, so that a lost answer costs nothing.
  async submit(entry) {
    const request = await this.request(entry);
    while (!this.ended && entry.status === 'sending') {
      try {
        const reply = await (await send('api/task', {method: 'POST', key: this.key(), ...request})).json();
        if (entry.status === 'sending') this.set(entry, {status: reply.status, task: reply.task_id});
        else await this.cancelTask(reply.task_id);
        return;
      } catch (error) {
        if (!passing(error)) {
          this.set(entry, {status: 'failed', error: error.message});
          return;
        }
        await pause(error.retryAfter ? 1000 * error.retryAfter : PATIENCE_MS);
      }
    }
  }

  // A form with the file as it is; with instructions JSON, because a form has no place for them.
  async request(entry) {
    const {id, question, system, fields} = this.record, index = this.entries.indexOf(entry), file = this.files[index];
    const more = {...fields, idempotency_key: `${id}-${index}-${entry.attempt}`};
    if (system) {
      const content = [{type: 'image_url', image_url: {url: await readDataUrl(file)}}, {type: 'text', text: question}];
      const messages = [{role: 'system', content: system}, {role: 'user', content}];
      return {headers: {'content-type': 'application/json'}, body: JSON.stringify({messages, ...more})};
    }
    const form = new FormData();
    form.append('question', question);
    for (const [name, value] of Object.entries(more)) form.append(name, value);
    form.append('image', file, entry.name);
    return {body: form};
  }

  async follow() {
    while (!this.ended && this.open) {
      const waiting = this.entries.filter((entry) => OPEN.has(entry.status) && entry.task).slice(0, FOLLOWED);
      const ended = await Promise.all(waiting.map((entry) => this.ask(entry)));
      if (ended.includes('lost')) await pause(PATIENCE_MS);
      else if (!ended.includes('ended')) await pause(ROUND_MS);
      else await this.keep(this.record);
    }
  }

  // 'ended', 'open' or 'lost' (the server could not be asked).
  async ask(entry) {
    try {
      const task = await (await send(`api/task/${entry.task}`, {key: this.key()})).json();
      if (OPEN.has(entry.status)) this.set(entry, outcome(task));
    } catch (error) {
      if (passing(error)) return 'lost';
      this.set(entry, {status: 'failed', error: error.message});
    }
    return OPEN.has(entry.status) ? 'open' : 'ended';
  }

  async cancel() {
    const open = this.entries.filter((entry) => OPEN.has(entry.status));
    for (const entry of open) {
      if (entry.task) await this.cancelTask(entry.task);
      if (OPEN.has(entry.status)) this.set(entry, {status: 'cancelled', partial: ''});
    }
    await this.keep(this.record);
  }

  async cancelTask(id) {
    try {
      await send(`api/task/${id}`, {method: 'DELETE', key: this.key()});
    } catch {
      // It has ended meanwhile, or the server is gone: the next round tells.
    }
  }

  // What did not succeed is asked once more, as new tasks.
  repeat() {
    for (const entry of this.entries) {
      if (!['failed', 'expired', 'cancelled'].includes(entry.status)) continue;
      this.set(entry, {status: 'sending', task: null, error: '', attempt: entry.attempt + 1});
    }
    return this.run();
  }
}

const passing = (error) => error instanceof ApiError && ['network', 'busy', 'starting'].includes(error.kind);

// What the page keeps of GET /api/task/{id}.
function outcome(task) {
  const {status} = task;
  if (status === 'done') {
    return {status, partial: '', answer: task.answer ?? '', usage: task.result?.usage ?? null,
            seconds: task.finished_at - task.started_at};
  }
  if (status === 'running') return {status, partial: task.progress?.text ?? ''};
  if (status === 'queued') return {status, position: task.position};
  return {status, partial: '', error: task.error?.message ?? ''};
}
