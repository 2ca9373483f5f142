// Which of the two languages is shown, and its texts.

import {en} from './texts_en.js';
import {zh} from './texts_zh.js';

const TEXTS = {en, zh};
const KEY = 'saccade-language';

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;  // storage may be switched off
  }
}

let current = stored() ?? ((navigator.language || 'en').toLowerCase().startsWith('zh') ? 'zh' : 'en');
if (!TEXTS[current]) current = 'en';

export const language = () => current;

export function setLanguage(next) {
  current = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // The choice then lasts until the page is closed.
  }
  applyLanguage();
}

// t('queued', {n: 2})
export function t(key, values = {}) {
  const text = TEXTS[current][key] ?? TEXTS.en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

// Fills every element that names its text. Elements made later call t() themselves.
export function applyLanguage() {
  document.documentElement.lang = current === 'zh' ? 'zh-CN' : 'en';
  for (const element of document.querySelectorAll('[data-i18n]')) element.textContent = t(element.dataset.i18n);
  for (const element of document.querySelectorAll('[data-i18n-label]')) {
    element.setAttribute('aria-label', t(element.dataset.i18nLabel));
    if (element.tagName === 'BUTTON') element.title = t(element.dataset.i18nLabel);
  }
}

const LOCALES = {en: 'en-GB', zh: 'zh-CN'};

export const number = (value, digits = 0) =>
    new Intl.NumberFormat(LOCALES[current], {maximumFractionDigits: digits}).format(value);

export const dateTime = (ms) =>
    new Intl.DateTimeFormat(LOCALES[current], {dateStyle: 'medium', timeStyle: 'short'}).format(new Date(ms));

// "52 ms", "3.1 s", "48 s"
export function duration(ms) {
  if (ms < 1000) return t('millis', {n: Math.round(ms)});
  return t('seconds', {n: ms < 9950 ? (ms / 1000).toFixed(1) : Math.round(ms / 1000)});
}

// "812 KB", "3.4 MB"
export function byteCount(bytes) {
  if (bytes < 1e6) return `${number(Math.ceil(bytes / 1000))} KB`;
  return bytes < 1e9 ? `${number(bytes / 1e6, 1)} MB` : `${number(bytes / 1e9, 2)} GB`;
}
