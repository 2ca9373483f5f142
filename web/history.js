// The list of conversations kept in the browser: open, save as a file, delete.

import {div, el, iconButton, icon} from './dom.js';
import {saveJson, saveMarkdown} from './exports.js';
import {byteCount, dateTime, number, t} from './i18n.js';
import {MAX_CONVERSATIONS, MAX_PICTURE_BYTES} from './store.js';

export class History {
  // `open(record)` shows a conversation on the page, `removed(id)` is called after one was deleted (null: all).
  constructor(dialog, store, {open, removed, current}) {
    this.dialog = dialog;
    this.store = store;
    this.openRecord = open;
    this.removed = removed;
    this.current = current;
    this.previews = [];
    dialog.addEventListener('click', (event) => {
      if (event.target === dialog) dialog.close();
    });
    dialog.addEventListener('close', () => this.release());
  }

  async open() {
    await this.build();
    this.dialog.showModal();
  }

  release() {
    for (const address of this.previews) URL.revokeObjectURL(address);
    this.previews = [];
  }

  async build() {
    this.release();
    const records = await this.store.list();
    const note = !this.store.usable ? t('historyOff') : records.length ?
      t('historyNote', {n: number(MAX_CONVERSATIONS), size: byteCount(MAX_PICTURE_BYTES)}) : t('historyEmpty');
    this.dialog.setAttribute('aria-labelledby', 'history-title');
    this.dialog.replaceChildren(
        div('sheet-head', el('h2', {id: 'history-title'}, t('history')),
            iconButton('remove', t('close'), () => this.dialog.close())),
        el('ul', {class: 'history-list'}, ...records.map((record) => this.entry(record))),
        el('p', {class: 'hint'}, note),
        div('sheet-foot', records.length > 1 && this.deleteAllButton()));
  }

  entry(record) {
    const first = record.pictures[0];
    const preview = first && URL.createObjectURL(first.blob);
    if (preview) this.previews.push(preview);
    const count = record.pictures.length;
    const details = [dateTime(record.updated), count > 1 && t('historyPictures', {n: count})].filter(Boolean);
    const open = el('button', {type: 'button', class: 'history-open', 'aria-current': String(record.id === this.current()),
                               onclick: () => {
                                 this.dialog.close();
                                 this.openRecord(record);
                               }},
                    preview ? el('img', {src: preview, alt: ''}) : el('span', {class: 'blank'}),
                    el('span', {}, el('strong', {}, record.title), el('small', {}, details.join(' · '))));
    const name = record.title;
    const json = iconButton('markdown', t('exportJson', {name}), () => saveJson(record));
    json.replaceChildren('{ }');
    return el('li', {}, open, div('tools',
        iconButton('markdown', t('exportMarkdown', {name}), () => saveMarkdown(record)), json,
        iconButton('trash', t('historyDelete', {name}), () => this.remove(record.id))));
  }

  async remove(id) {
    if (id === null) await this.store.clear();
    else await this.store.remove(id);
    this.removed(id);
    await this.build();
    this.dialog.querySelector('button').focus();
  }

  // The first click asks, the second deletes.
  deleteAllButton() {
    let sure = false;
    const button = el('button', {type: 'button', class: 'quiet', onclick: () => {
      if (sure) {
        this.remove(null);
        return;
      }
      sure = true;
      button.replaceChildren(icon('trash'), t('historyDeleteSure'));
      button.classList.add('danger');
    }}, t('historyDeleteAll'));
    return button;
  }
}
