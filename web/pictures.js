// The pictures of the conversation: taking them in, showing one large and all small, turning them, and making them
// parts of a request.

import {drawMarks} from './boxes.js';
import {div, el, iconButton} from './dom.js';
import {byteCount, number, t} from './i18n.js';

// The server takes bodies of 64 MiB; base64 adds a third.
const MAX_TOTAL_BYTES = 47 * 1024 * 1024;
const IMAGE_NAME = /\.(png|jpe?g|webp|gif|tiff?|bmp|heic|heif|avif)$/i;
export const ACCEPTED = 'image/*,.heic,.heif,.avif,.tif,.tiff,.bmp,.webp';

export const isPicture = (file) => file.type.startsWith('image/') || IMAGE_NAME.test(file.name);

let nextId = 1;

// One picture. `original` is the file as it came, `blob` what is sent: the same, or turned by `rotation` degrees.
export class Picture {
  constructor({name, blob, rotation = 0, questions = null, sent = false}) {
    this.id = nextId++;
    this.name = name;
    this.original = blob;
    this.rotation = 0;
    this.questions = questions;
    this.sent = sent;   // belongs to an answered question
    this.marks = null;  // {marks, chosen} as drawn over it
    this.wanted = rotation;
    this.width = this.height = 0;  // upright, as shown; 0 until known
    this.setBlob(blob);
  }

  setBlob(blob) {
    if (this.url) URL.revokeObjectURL(this.url);
    this.blob = blob;
    this.url = URL.createObjectURL(blob);
    this.dataUrl = null;
  }

  // Always from the original, so that turning four times gives the file itself again.
  async turnTo(rotation) {
    const degrees = ((rotation % 360) + 360) % 360;
    this.setBlob(degrees === 0 ? this.original : await turned(this.original, degrees));
    this.rotation = this.wanted = degrees;
    this.marks = null;
  }

  // A part of a chat message: where the server has the picture, else the picture itself.
  async part(uploads) {
    if (this.wanted !== this.rotation) await this.turnTo(this.wanted);
    const url = await uploads.url(this.blob) ?? (this.dataUrl ??= await readDataUrl(this.blob));
    return {type: 'image_url', image_url: {url}};
  }

  record() {
    return {name: this.name, blob: this.original, rotation: this.rotation, questions: this.questions, sent: this.sent};
  }

  release() {
    URL.revokeObjectURL(this.url);
  }
}

export const readDataUrl = (blob) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result);
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(blob);
});

async function turned(blob, degrees) {
  const bitmap = await createImageBitmap(blob);  // upright by its EXIF orientation, as the server reads it
  const lying = degrees % 180 !== 0;
  const canvas = el('canvas', {width: String(lying ? bitmap.height : bitmap.width),
                               height: String(lying ? bitmap.width : bitmap.height)});
  const context = canvas.getContext('2d');
  context.translate(canvas.width / 2, canvas.height / 2);
  context.rotate((degrees * Math.PI) / 180);
  context.drawImage(bitmap, -bitmap.width / 2, -bitmap.height / 2);
  bitmap.close();
  // Photographs stay JPEG, everything else keeps its pixels exactly.
  const type = blob.type === 'image/jpeg' ? 'image/jpeg' : 'image/png';
  return new Promise((resolve, reject) => canvas.toBlob(
      (made) => (made ? resolve(made) : reject(new Error('no picture'))), type, 0.95));
}

export class Pictures {
  // `changed` is called whenever the list or the shown picture changes, `notice` with a text for the user, `tokens`
  // gives the cost of a size or null; `uploads` begins to send what is added.
  constructor(elements, {changed, notice, tokens, uploads}) {
    this.elements = elements;
    this.uploads = uploads;
    this.changed = changed;
    this.notice = notice;
    this.tokens = tokens;
    this.items = [];
    this.shown = null;
    elements.picture.addEventListener('error', () => this.previewFailed(true));
    elements.picture.addEventListener('load', () => {
      this.previewFailed(false);
      this.fit();
    });
  }

  add(files, questions = null) {
    for (const file of files) {
      const name = file.name || 'picture';
      if (!isPicture(file)) {
        this.notice(t('errKind', {name}));
        continue;
      }
      const total = this.items.reduce((sum, item) => sum + item.blob.size, file.size);
      if (total > MAX_TOTAL_BYTES) {
        this.notice(t('errSize', {name, size: byteCount(file.size), limit: byteCount(MAX_TOTAL_BYTES)}));
        continue;
      }
      this.put(new Picture({name, blob: file, questions}));
      this.uploads.start(file);
    }
    this.refresh();
  }

  put(item) {
    this.items.push(item);
    this.shown = item;
  }

  // Only offered for pictures that no answered question refers to.
  remove(item) {
    this.items = this.items.filter((other) => other !== item);
    item.release();
    if (this.shown === item) this.shown = this.items.at(-1) ?? null;
    this.refresh();
  }

  async rotate(item) {
    try {
      await item.turnTo(item.rotation + 90);
      this.uploads.start(item.blob);
    } catch {
      this.notice(t('rotateFailed'));
    }
    this.refresh();
  }

  clear() {
    for (const item of this.items) item.release();
    this.items = [];
    this.shown = null;
    this.refresh();
  }

  show(item) {
    if (this.shown === item) return;
    this.shown = item;
    this.refresh();
  }

  // `chosen` is called with the number of a mark that is clicked.
  setMarks(item, marks, chosen) {
    item.marks = {marks, chosen};
    if (this.shown === item) drawMarks(this.elements.overlay, marks, chosen);
  }

  refresh() {
    const {view, picture, overlay, thumbs} = this.elements;
    view.hidden = !this.shown;
    if (this.shown) {
      if (picture.src !== this.shown.url) picture.src = this.shown.url;
      picture.alt = this.shown.name;
      const {marks = [], chosen} = this.shown.marks ?? {};
      drawMarks(overlay, marks, chosen);
    } else {
      picture.removeAttribute('src');
      overlay.replaceChildren();
    }
    thumbs.replaceChildren(...this.items.map((item) => this.thumb(item)));
    thumbs.hidden = this.items.length < 2 && !this.items.some((item) => !item.sent);
    this.describe();
    this.changed();
  }

  // Name, size and cost of the shown picture.
  describe() {
    const {line} = this.elements, item = this.shown;
    line.hidden = !item;
    if (!item) return;
    const parts = [item.name];
    if (item.width) {
      const tokens = this.tokens(item.width, item.height);
      parts.push(tokens ? t('pictureCost', {width: item.width, height: item.height, n: number(tokens)}) :
                          `${item.width} × ${item.height}`);
    }
    line.textContent = parts.join(' · ');
  }

  thumb(item) {
    const entry = el('li', {class: item === this.shown ? 'current' : null});
    entry.append(el('button', {
      type: 'button', class: 'thumb', title: item.name, 'aria-label': t('show', {name: item.name}),
      'aria-pressed': String(item === this.shown), onclick: () => this.show(item),
    }, el('img', {src: item.url, alt: ''})));
    if (!item.sent) {
      entry.append(div('thumb-tools',
                       iconButton('rotate', t('rotate', {name: item.name}), () => this.rotate(item)),
                       iconButton('remove', t('remove', {name: item.name}), () => this.remove(item))));
    }
    return entry;
  }

  // The frame takes the picture's proportions, so that boxes in percent of the frame fit the picture. Small pictures
  // are enlarged, but not to a blur.
  fit() {
    const {picture} = this.elements;
    const style = picture.parentElement.style;
    style.setProperty('--ratio', picture.naturalWidth / picture.naturalHeight || 1);
    style.setProperty('--widest', `${picture.naturalWidth * 5}px`);
    if (this.shown && picture.src === this.shown.url) {
      this.shown.width = picture.naturalWidth;
      this.shown.height = picture.naturalHeight;
      this.describe();
    }
  }

  previewFailed(failed) {
    this.elements.noPreview.hidden = !failed;
    this.elements.picture.hidden = failed;
  }
}
