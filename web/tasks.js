// The section for many files: one question over all of them, as tasks that go on when the page is closed.

import {div, download, el} from './dom.js';
import {dateTime, duration, number, t} from './i18n.js';
import {Job, probeTasks} from './jobs.js';
import {ACCEPTED, isPicture} from './pictures.js';
import {csv, jsonLines} from './tables.js';

const MAX_JOBS = 20;

export class Tasks {
  constructor(root, settings, store) {
    this.root = root;
    this.settings = settings;
    this.store = store;
    this.files = [];     // chosen for the next job
    this.question = '';
    this.jobs = [];      // newest first
    this.shown = null;
    this.rows = new Map();
    this.loaded = false;
  }

  async show() {
    this.build();
    if (this.loaded) return;
    this.loaded = true;
    for (const record of await this.store.jobs()) this.take(new Job(record, this.hooks()));
    this.shown ??= this.jobs[0] ?? null;
    this.build();
    for (const job of this.jobs) if (job.open) job.run();
  }

  hide() {}

  take(job) {
    this.jobs.push(job);
    this.jobs.sort((a, b) => b.record.created - a.record.created);
  }

  hooks(files = null) {
    return {
      files,
      key: () => this.settings.key,
      keep: (record) => this.store.saveJob(record),
      changed: (entry) => this.update(entry),
    };
  }

  add(files) {
    const pictures = files.filter(isPicture);
    this.files.push(...pictures);
    this.say(pictures.length < files.length ? t('tasksSkipped', {n: files.length - pictures.length}) : '');
    this.fillForm();
  }

  say(text) {
    this.notice.textContent = text;
    this.notice.hidden = !text;
  }

  async start() {
    const question = this.area.value.trim(), files = this.files;
    if (!files.length || !question) {
      this.say(t(files.length ? 'askSomething' : 'tasksNoFiles'));
      return;
    }
    try {
      await probeTasks(this.settings.key);
    } catch (error) {
      this.say([t('tasksRefused'), error.message].join(' ').trim());
      return;
    }
    const {system} = this.settings, fields = this.settings.requestFields();
    const job = new Job(Job.newRecord({question, system, fields}, files), this.hooks(files));
    this.files = [];
    this.take(job);
    this.shown = job;
    this.build();
    job.run();
    for (const old of this.jobs.slice(MAX_JOBS)) this.remove(old);
  }

  async remove(job) {
    job.stop();
    await this.store.removeJob(job.record.id);
    this.jobs = this.jobs.filter((other) => other !== job);
    if (this.shown === job) this.shown = this.jobs[0] ?? null;
    this.build();
  }

  build() {
    this.question = this.area?.value ?? this.question;
    this.root.replaceChildren(el('h1', {}, t('tasksTitle')), el('p', {}, t('tasksNote')), this.form(), this.jobSection());
    this.fillForm();
    this.fillJob();
  }

  form() {
    const chooser = el('input', {type: 'file', multiple: true, hidden: true, accept: ACCEPTED, onchange: () => {
      this.add([...chooser.files]);
      chooser.value = '';
    }});
    this.chosen = el('span', {class: 'hint'});
    this.forget = el('button', {type: 'button', class: 'quiet', onclick: () => {
      this.files = [];
      this.fillForm();
    }}, t('tasksForget'));
    this.area = el('textarea', {class: 'input', rows: '2', id: 'task-question', 'aria-label': t('question'),
                                placeholder: t('tasksPlaceholder')});
    this.area.value = this.question;
    this.notice = el('p', {class: 'notice', role: 'alert', hidden: true});
    return el('form', {class: 'card', onsubmit: (event) => {
      event.preventDefault();
      this.start();
    }}, div('task-files', el('button', {type: 'button', class: 'quiet outlined', onclick: () => chooser.click()}, t('tasksChoose')),
            chooser, this.chosen, this.forget),
       this.area, this.notice, div('sheet-foot', el('button', {type: 'submit', class: 'primary'}, t('tasksStart'))));
  }

  fillForm() {
    const names = this.files.slice(0, 3).map((file) => file.name).join(', ');
    this.chosen.textContent = this.files.length ?
      t('tasksChosen', {n: number(this.files.length), names: this.files.length > 3 ? `${names}, …` : names}) : t('tasksDrop');
    this.forget.hidden = this.files.length === 0;
  }

  jobSection() {
    this.rows.clear();
    if (!this.shown) return div('');
    const job = this.shown, {record} = job;
    const choice = el('select', {class: 'input', 'aria-label': t('tasksJobs'), onchange: () => {
      this.shown = this.jobs[choice.selectedIndex];
      this.build();
    }}, ...this.jobs.map((one) => el('option', {selected: one === job}, `${dateTime(one.record.created)} · ${one.record.question.slice(0, 60)}`)));
    this.bar = div('fill');
    this.line = el('p', {class: 'hint', role: 'status'});
    this.cancel = el('button', {type: 'button', class: 'quiet', onclick: () => job.cancel()}, t('tasksCancel'));
    this.again = el('button', {type: 'button', class: 'quiet', onclick: () => job.repeat()}, t('tasksRepeat'));
    const save = (suffix, type, content) => el('button', {type: 'button', class: 'quiet outlined', onclick: () =>
      download(`saccade-${record.id}.${suffix}`, type, content(record))}, suffix.toUpperCase());
    const rows = record.entries.map((entry) => this.row(entry));
    const heads = ['tasksFile', 'tasksStatus', 'tasksAnswer'].map((key) => el('th', {scope: 'col'}, t(key)));
    return el('section', {class: 'card job', 'aria-label': t('tasksJobs')}, choice, el('h2', {}, record.question),
              div('track', this.bar), this.line,
              div('job-tools', save('csv', 'text/csv;charset=utf-8', csv), save('jsonl', 'application/jsonl', jsonLines),
                  this.cancel, this.again,
                  el('button', {type: 'button', class: 'quiet', onclick: () => this.remove(job)}, t('tasksDelete'))),
              el('div', {class: 'job-table', tabindex: '0', role: 'region', 'aria-label': t('tasksResults')},
                 el('table', {}, el('thead', {}, el('tr', {}, ...heads)), el('tbody', {}, ...rows))));
  }

  row(entry) {
    const made = {state: el('td'), answer: el('td', {class: 'job-answer'})};
    this.rows.set(entry, made);
    made.element = el('tr', {}, el('td', {class: 'job-name'}, entry.name), made.state, made.answer);
    this.fillRow(entry, made);
    return made.element;
  }

  fillRow(entry, {element, state, answer}) {
    element?.setAttribute('data-status', entry.status);
    const waits = entry.status === 'queued' && entry.position > 0 ? ` · ${number(entry.position)}` : '';
    const took = entry.status === 'done' && entry.seconds >= 0 ? ` · ${duration(1000 * entry.seconds)}` : '';
    state.textContent = t(`task_${entry.status}`) + waits + took;
    answer.textContent = entry.unsent ? t('tasksUnsent') : entry.answer ?? (entry.partial || entry.error || '');
  }

  // At most once per frame, however many entries change.
  update(entry) {
    const row = this.rows.get(entry);
    if (!row) return;
    this.fillRow(entry, row);
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.fillJob();
    });
  }

  fillJob() {
    const job = this.shown;
    if (!job) return;
    for (const [entry, row] of this.rows) row.element.setAttribute('data-status', entry.status);
    const total = job.entries.length, done = job.count('done');
    const bad = job.count('failed', 'expired', 'cancelled');
    this.bar.style.width = `${(100 * (done + bad)) / total}%`;
    this.line.textContent = t('tasksProgress', {done: number(done), total: number(total), bad: number(bad),
                                                running: number(job.count('running'))});
    this.cancel.hidden = !job.open;
    this.again.hidden = !job.repeatable;
  }
}
