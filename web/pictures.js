// The pictures of the conversation: taking them in, showing one large and all small, turning them into request parts.

import {drawMarks} from './boxes.js';
import {t} from './i18n.js';

// The server takes bodies of 64 MiB; base64 adds a third.
const MAX_TOTAL_BYTES = 47 * 1024 * 1024;
const IMAGE_NAME = /\.(png|jpe?g|webp|gif|tiff?|bmp|heic|heif|avif)$/i;

export class Pictures {
  // `changed` is called whenever the list or the shown picture changes, `notice` with a text for the user.
  constructor(elements, {changed, notice}) {
    this.elements = elements;
    this.changed = changed;
    this.notice = notice;
    this.items = [];  // {file, name, url, sent, marks, questions}
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
      if (!file.type.startsWith('image/') && !IMAGE_NAME.test(name)) {
        this.notice(t('errKind', {name}));
        continue;
      }
      const total = this.items.reduce((sum, item) => sum + item.file.size, file.size);
      if (total > MAX_TOTAL_BYTES) {
        this.notice(t('errSize', {name, size: (file.size / 1048576).toFixed(1), limit: 47}));
        continue;
      }
      const item = {file, name, url: URL.createObjectURL(file), sent: false, marks: [], questions};
      this.items.push(item);
      this.shown = item;
    }
    this.refresh();
  }

  // Only offered for pictures that no answered question refers to.
  remove(item) {
    this.items = this.items.filter((other) => other !== item);
    URL.revokeObjectURL(item.url);
    if (this.shown === item) this.shown = this.items.at(-1) ?? null;
    this.refresh();
  }

  clear() {
    for (const item of this.items) URL.revokeObjectURL(item.url);
    this.items = [];
    this.shown = null;
    this.refresh();
  }

  show(item) {
    if (this.shown === item) return;
    this.shown = item;
    this.refresh();
  }

  setMarks(item, marks) {
    item.marks = marks;
    if (this.shown === item) drawMarks(this.elements.overlay, marks);
  }

  refresh() {
    const {view, picture, overlay, thumbs} = this.elements;
    view.hidden = !this.shown;
    if (this.shown) {
      if (picture.src !== this.shown.url) picture.src = this.shown.url;
      picture.alt = this.shown.name;
      drawMarks(overlay, this.shown.marks);
    } else {
      picture.removeAttribute('src');
      overlay.replaceChildren();
    }
    thumbs.replaceChildren(...this.items.map((item) => this.thumb(item)));
    thumbs.hidden = this.items.length < 2 && !this.items.some((item) => !item.sent);
    this.changed();
  }

  thumb(item) {
    const entry = document.createElement('li');
    entry.classList.toggle('current', item === this.shown);
    const show = document.createElement('button');
    show.type = 'button';
    show.className = 'thumb';
    show.title = item.name;
    show.setAttribute('aria-label', t('show', {name: item.name}));
    const image = document.createElement('img');
    image.src = item.url;
    image.alt = '';
    show.append(image);
    show.addEventListener('click', () => this.show(item));
    entry.append(show);
    if (!item.sent) {
      const remove = document.createElement('button');
      remove.type = 'button';
      remove.className = 'remove';
      remove.textContent = '\u00d7';
      remove.setAttribute('aria-label', t('remove', {name: item.name}));
      remove.addEventListener('click', () => this.remove(item));
      entry.append(remove);
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
  }

  previewFailed(failed) {
    this.elements.noPreview.hidden = !failed;
    this.elements.picture.hidden = failed;
  }
}

// A part of a chat message. The data URL is made once per picture and kept with it.
export async function picturePart(item) {
  item.dataUrl ??= await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(item.file);
  });
  return {type: 'image_url', image_url: {url: item.dataUrl}};
}
