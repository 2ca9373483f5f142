// What the user has chosen: sampling, picture size, instructions, appearance. Kept in localStorage.

import {div, el, iconButton} from './dom.js';
import {applyLanguage, language, number, setLanguage, t} from './i18n.js';
import {pictureTokens, tokensOfPixels} from './picture_cost.js';

const KEY = 'saccade-settings';
const MAX_TEXT = 20_000;

// name: [request field, least, most, step]; empty means the model's choice.
const NUMBERS = {
  setTemperature: ['temperature', 0, 2, 0.05],
  setTopP: ['top_p', 0, 1, 0.01],
  setTopK: ['top_k', 0, 1000, 1],
  setPenalty: ['repetition_penalty', 0.5, 2, 0.01],
  setSeed: ['seed', 0, 2 ** 31, 1],
  setMaxTokens: ['max_tokens', 1, 100_000, 1],
};
const PIXELS = {setPixelsAuto: 0, setPixelsSmall: 256 * 1024, setPixelsMedium: 1024 * 1024, setPixelsLarge: 3072 * 1024,
                setPixelsMax: 12288 * 1024};
const THEMES = {themeAuto: '', themeLight: 'light', themeDark: 'dark'};

function load() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof stored === 'object' && stored !== null ? stored : {};
  } catch {
    return {};
  }
}

export class Settings {
  // `changed` is called after every change.
  constructor(dialog, changed) {
    this.dialog = dialog;
    this.changed = changed;
    this.values = load();
    this.model = {min_pixels: 0, max_pixels: 0};
    this.applyTheme();
    dialog.addEventListener('click', (event) => {
      if (event.target === dialog) dialog.close();
    });
  }

  set(name, value) {
    if (value === '' || value === null || Number.isNaN(value)) delete this.values[name];
    else this.values[name] = value;
    try {
      localStorage.setItem(KEY, JSON.stringify(this.values));
    } catch {
      // The choice then lasts until the page is closed.
    }
    this.applyTheme();
    this.changed();
  }

  get system() { return String(this.values.system ?? '').trim(); }
  get key() { return String(this.values.key ?? '').trim(); }

  // Pixel limits that the model will see.
  get limits() {
    const max = this.values.max_pixels || this.model.max_pixels;
    return {min: Math.min(this.model.min_pixels, max), max};
  }

  // Fields for the request body.
  requestFields() {
    const fields = {};
    for (const [field] of Object.values(NUMBERS)) {
      const value = this.values[field];
      if (typeof value === 'number' && Number.isFinite(value)) fields[field] = value;
    }
    if (this.values.max_pixels) {
      fields.max_pixels = this.values.max_pixels;
      fields.min_pixels = this.limits.min;
    }
    return fields;
  }

  // Tokens of a picture of this size; null when not known.
  tokens(width, height) {
    return this.limits.max ? pictureTokens(width, height, this.limits) : null;
  }

  applyTheme() {
    const root = document.documentElement;
    if (this.values.theme) root.dataset.theme = this.values.theme;
    else delete root.dataset.theme;
  }

  // `shown`: {name, width, height} of the picture on the page, for the token cost.
  open(shown) {
    this.shown = shown;
    this.build();
    this.dialog.showModal();
  }

  build() {
    const title = el('h2', {id: 'settings-title'}, t('settings'));
    this.dialog.setAttribute('aria-labelledby', 'settings-title');
    this.dialog.replaceChildren(
        div('sheet-head', title, iconButton('remove', t('close'), () => this.dialog.close())),
        this.group('setAnswer', this.systemField(), div('grid', ...Object.keys(NUMBERS).map((key) => this.numberField(key)))),
        this.group('setPictures', this.pixelsField()),
        this.group('setLook', div('grid', this.themeField(), this.languageField())),
        this.group('setAccess', this.keyField()),
        div('sheet-foot', el('button', {type: 'button', class: 'quiet', onclick: () => this.reset()}, t('setReset')),
            el('button', {type: 'button', class: 'primary', onclick: () => this.dialog.close()}, t('close'))));
  }

  reset() {
    this.values = {};
    this.set('reset', '');
    this.build();
  }

  group(key, ...children) {
    return el('fieldset', {}, el('legend', {}, t(key)), ...children);
  }

  systemField() {
    const area = el('textarea', {rows: '3', maxlength: String(MAX_TEXT), class: 'input', name: 'system',
                                 onchange: () => this.set('system', area.value.trim())});
    area.value = this.system;
    return el('label', {}, t('setSystem'), area);
  }

  numberField(key) {
    const [field, min, max, step] = NUMBERS[key];
    const input = el('input', {
      type: 'number', class: 'input', name: field, min: String(min), max: String(max), step: String(step),
      placeholder: t('setDefault'), inputmode: 'decimal',
      onchange: () => {
        const value = input.value === '' ? NaN : Math.min(max, Math.max(min, Number(input.value)));
        input.value = Number.isNaN(value) ? '' : String(value);
        this.set(field, value);
      },
    });
    input.value = this.values[field] ?? '';
    return el('label', {}, t(key), input);
  }

  pixelsField() {
    const cost = el('output', {class: 'hint'});
    const select = this.select('max_pixels', PIXELS, this.values.max_pixels ?? 0, (value) => {
      this.set('max_pixels', Number(value) || '');
      cost.textContent = this.costLine();
    });
    cost.textContent = this.costLine();
    return div('', el('label', {}, t('setPixels'), select), cost);
  }

  costLine() {
    if (!this.limits.max) return '';
    const tokens = this.shown && this.tokens(this.shown.width, this.shown.height);
    if (tokens) return t('setCost', {name: this.shown.name, n: number(tokens)});
    return t('setCostMax', {n: number(tokensOfPixels(this.limits.max))});
  }

  themeField() {
    return el('label', {}, t('setTheme'),
              this.select('theme', THEMES, this.values.theme ?? '', (value) => this.set('theme', value)));
  }

  languageField() {
    const select = el('select', {class: 'input', name: 'language', onchange: () => {
      setLanguage(select.value);
      this.changed();
      this.build();
    }}, el('option', {value: 'en', lang: 'en'}, 'English'), el('option', {value: 'zh', lang: 'zh'}, '中文'));
    select.value = language();
    return el('label', {}, t('setLanguage'), select);
  }

  keyField() {
    const input = el('input', {type: 'password', class: 'input', name: 'key', autocomplete: 'off',
                               onchange: () => this.set('key', input.value.trim())});
    input.value = this.key;
    return el('label', {}, t('setKey'), input);
  }

  select(name, choices, current, chosen) {
    const select = el('select', {class: 'input', name, onchange: () => chosen(select.value)},
                      ...Object.entries(choices).map(([key, value]) => el('option', {value: String(value)}, t(key))));
    select.value = String(current);
    return select;
  }
}

// After the language was changed elsewhere.
export function switchLanguage() {
  setLanguage(language() === 'zh' ? 'en' : 'zh');
  applyLanguage();
}
