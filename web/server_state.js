// The badge beside the name: which model answers, or what is the matter.

import * as api from './api.js';
import {t} from './i18n.js';

export class ServerState {
  // `settings` gives the key and takes the model's pixel limits.
  constructor(badge, label, settings) {
    this.badge = badge;
    this.label = label;
    this.settings = settings;
    this.state = 'loading';
    this.name = '';
    this.locked = false;  // it wants a key that it has not got
    this.watching = false;
  }

  show() {
    const text = this.state !== 'ready' ? t(this.state) : this.locked ? t('locked') : this.name;
    this.badge.dataset.state = this.state;
    this.badge.title = text;
    if (this.label.textContent !== text) this.label.textContent = text;
  }

  // Asks until the server is ready, less often as time passes.
  async watch() {
    if (this.watching) return;
    this.watching = true;
    for (let delay = 400; ; delay = Math.min(delay * 1.5, 5000)) {
      this.state = await api.readiness();
      if (this.state === 'ready') break;
      this.show();
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
    await this.readModel();
    this.watching = false;
  }

  async readModel() {
    try {
      const {id, min_pixels = 0, max_pixels = 0} = await api.modelCard(this.settings.key);
      this.name = id;
      this.locked = false;
      this.settings.model = {min_pixels, max_pixels};
      this.settings.changed();
    } catch (error) {
      this.locked = error.kind === 'key';
    }
    this.show();
  }
}
