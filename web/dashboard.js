// What the server is doing, from /metrics: a tile per figure, with the last minute as a line.

import {send} from './api.js';
import {div, el, svg} from './dom.js';
import {byteCount, duration, number, t} from './i18n.js';
import {MetricHistory, parseMetrics} from './metrics.js';

const EVERY_MS = 2000;
const share = (part, whole) => (whole > 0 ? part / whole : 0);
const percent = (value) => `${number(100 * value, 1)} %`;

// [title, figures(history) -> {value, note, line?: [numbers], filled?: 0..1} or false when the server has no such thing]
const TILES = [
  ['dashRunning', (h) => ({value: number(h.latest('saccade_requests_running')),
                           note: t('dashWaiting', {n: number(h.latest('saccade_requests_waiting'))}),
                           line: h.series('saccade_requests_running')})],
  ['dashRate', (h) => {
    const rates = h.rates('saccade_completion_tokens_total');
    return {value: number(rates.at(-1) ?? 0, 1), line: rates,
            note: t('dashRateNote', {n: number(h.latest('saccade_completion_tokens_total'))})};
  }],
  ['dashFirst', (h) => {
    const mean = h.mean('saccade_time_to_first_token_seconds');
    return {value: mean === null ? t('none') : duration(1000 * mean), note: t('dashFirstNote')};
  }],
  ['dashMemory', (h) => ({value: byteCount(h.latest('process_resident_memory_bytes')),
                          note: t('dashMemoryNote', {n: number(h.latest('saccade_http_connections'))}),
                          line: h.series('process_resident_memory_bytes')})],
  ['dashKv', (h) => {
    const used = h.latest('saccade_kv_pages_used'), total = h.latest('saccade_kv_pages');
    return {value: percent(share(used, total)), filled: share(used, total),
            note: t('dashKvNote', {used: number(used), total: number(total),
                                   cached: number(h.latest('saccade_kv_pages_cached'))})};
  }],
  ['dashPrefix', (h) => {
    const cached = h.latest('saccade_prefix_cached_tokens_total'), total = h.latest('saccade_prompt_tokens_total');
    return {value: percent(share(cached, total)), filled: share(cached, total),
            note: t('dashPrefixNote', {n: number(cached), total: number(total)})};
  }],
  ['dashImages', (h) => ({value: byteCount(h.latest('saccade_image_cache_bytes')),
                          note: t('dashImagesNote', {hits: number(h.latest('saccade_image_cache_hits_total')),
                                                     encoded: number(h.latest('saccade_pictures_encoded_total'))}),
                          line: h.series('saccade_image_cache_bytes')})],
  ['dashTasks', (h) => h.has('saccade_tasks_queued') &&
      {value: number(h.latest('saccade_tasks_queued')), line: h.series('saccade_tasks_queued'),
       note: t('dashTasksNote', {n: number(h.latest('saccade_tasks_running')),
                                 finished: number(h.latest('saccade_tasks_finished_total'))})}],
  ['dashFinished', (h) => ({value: number(h.latest('saccade_requests_finished_total')),
                            note: t('dashFinishedNote', {failed: number(h.latest('saccade_requests_failed_total')),
                                                         stopped: number(h.latest('saccade_requests_cancelled_total')),
                                                         refused: number(h.latest('saccade_requests_refused_total'))})})],
];

export class Dashboard {
  constructor(root, settings) {
    this.root = root;
    this.settings = settings;
    this.history = new MetricHistory();
    this.timer = null;
  }

  show() {
    this.build();
    this.read();
    this.timer = setInterval(() => document.hidden || this.read(), EVERY_MS);
  }

  hide() {
    clearInterval(this.timer);
    this.timer = null;
  }

  build() {
    const address = new URL('metrics', document.baseURI);
    this.fault = el('p', {class: 'danger', role: 'status'});
    this.tiles = TILES.map(([title]) => {
      const tile = {value: el('strong'), note: el('small'), chart: div('chart')};
      tile.element = el('section', {class: 'tile'}, el('h2', {}, t(title)), tile.value, tile.note, tile.chart);
      return tile;
    });
    this.root.replaceChildren(el('h1', {}, t('serverTitle')), el('p', {}, t('serverNote', {address: address.pathname})),
                              this.fault, div('tiles', ...this.tiles.map((tile) => tile.element)));
    if (this.history.points.length) this.fill();
  }

  async read() {
    try {
      const text = await (await send('metrics', {key: this.settings.key})).text();
      this.history.add(performance.now(), parseMetrics(text));
      this.fault.textContent = '';
      this.fill();
    } catch (error) {
      this.fault.textContent = [t('dashLost'), error.message].join(' ').trim();
    }
  }

  fill() {
    TILES.forEach(([, figures], index) => {
      const shown = figures(this.history), tile = this.tiles[index];
      tile.element.hidden = !shown;
      if (!shown) return;
      const {value, note, line, filled} = shown;
      tile.value.textContent = value;
      tile.note.textContent = note;
      if (line) tile.chart.replaceChildren(sparkline(line));
      if (filled !== undefined) tile.chart.replaceChildren(fillBar(filled));
    });
  }
}

function fillBar(filled) {
  const bar = div('');
  bar.style.width = `${Math.min(100, 100 * filled)}%`;
  return div('bar-track', bar);
}

// The newest value at the right; the lowest line is 0.
function sparkline(values) {
  const most = Math.max(...values, 1e-9), step = 100 / Math.max(1, values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(34 - (32 * value) / most).toFixed(1)}`);
  return svg('svg', {viewBox: '0 0 100 36', preserveAspectRatio: 'none', 'aria-hidden': 'true'},
             svg('polyline', {points: points.join(' '), 'stroke-width': '1.6'}));
}
