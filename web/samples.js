// The sample pictures that come with the server: one click adds the picture and offers its questions.

import * as api from './api.js';
import {el} from './dom.js';
import {language} from './i18n.js';

export class Samples {
  // `taken(file, questions)` gets a chosen sample, `failed()` is called when it could not be loaded.
  constructor(list, {taken, failed}) {
    this.list = list;
    this.taken = taken;
    this.failed = failed;
    this.samples = [];
  }

  get empty() { return this.samples.length === 0; }

  async load() {
    this.samples = await api.samples();
    this.show();
  }

  show() {
    this.list.replaceChildren(...this.samples.map((sample) => el('li', {}, this.card(sample))));
  }

  card(sample) {
    const caption = sample.questions[language()][0] ?? sample.name.replace(/\.\w+$/, '');
    return el('button', {type: 'button', onclick: () => this.take(sample)},
              el('span', {class: 'frame'}, el('img', {src: sample.url, alt: sample.name, loading: 'lazy'})),
              el('span', {}, caption));
  }

  async take(sample) {
    try {
      this.taken(await api.samplePicture(sample), sample.questions);
    } catch {
      this.failed();
    }
  }
}
