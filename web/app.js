// Wires the page together: adding pictures, asking, stopping, language, samples, server state.

import * as api from './api.js';
import {messagesFor, Turn} from './conversation.js';
import {applyLanguage, language, setLanguage, t} from './i18n.js';
import {Pictures} from './pictures.js';

const $ = (id) => document.getElementById(id);
const form = $('ask'), question = $('question'), log = $('log'), notice = $('notice');

let turns = [];
let running = null;  // {turn, controller}
let samples = [];

const pictures = new Pictures(
    {view: $('view'), picture: $('picture'), overlay: $('overlay'), thumbs: $('thumbs'), noPreview: $('no-preview')},
    {changed: refresh, notice: showNotice});

function showNotice(text) {
  notice.textContent = text;
  notice.hidden = !text;
}

// Everything that depends on what the page holds.
function refresh() {
  const empty = pictures.items.length === 0 && turns.length === 0;
  document.body.dataset.state = empty ? 'empty' : turns.length ? 'talking' : 'ready';
  document.body.dataset.pictures = pictures.items.length ? 'some' : 'none';
  $('samples').hidden = !empty || samples.length === 0;
  $('restart').hidden = empty;
  question.placeholder = t(empty ? 'placeholderEmpty' : turns.length ? 'placeholderMore' : 'placeholder');
  const send = $('send');
  send.classList.toggle('running', running !== null);
  send.setAttribute('aria-label', t(running ? 'stop' : 'send'));
  send.title = t(running ? 'stop' : 'send');
  $('language').textContent = t('otherLanguage');
  follow(showChips);
}

function showChips() {
  const asked = new Set(turns.map((turn) => turn.question));
  const own = pictures.shown?.questions?.[language()] ?? [];
  const general = ['chipDescribe', 'chipText', 'chipLocate'].map((key) => t(key));
  if (pictures.items.length > 1) general.unshift(t('chipCompare'));
  const offered = (own.length ? own : general).filter((text) => !asked.has(text)).slice(0, 5);
  const visible = pictures.items.length > 0 && !running ? offered : [];
  $('chips').replaceChildren(...visible.map((text) => {
    const chip = document.createElement('button');
    chip.type = 'button';
    chip.className = 'chip';
    chip.textContent = text;
    chip.addEventListener('click', () => start(text));
    return chip;
  }));
}

function growQuestion() {
  question.style.height = 'auto';
  question.style.height = `${Math.min(question.scrollHeight, 180)}px`;
}

const nearEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 120;

// Keeps the newest text in sight unless the reader has scrolled up.
function follow(change) {
  const stick = nearEnd();
  change();
  if (stick) requestAnimationFrame(() => { log.scrollTop = log.scrollHeight; });
}

function start(text) {
  if (running) return;
  question.value = '';
  growQuestion();
  showNotice('');
  begin(text, pictures.items.filter((item) => !item.sent), pictures.shown);
}

function begin(text, fresh, shown) {
  for (const item of fresh) item.sent = true;
  const turn = new Turn(text, fresh, shown);
  turns.push(turn);
  log.append(turn.element);
  pictures.refresh();
  log.scrollTop = log.scrollHeight;
  run(turn);
}

async function run(turn) {
  const controller = new AbortController();
  running = {turn, controller};
  refresh();
  const clock = setInterval(() => turn.showStatus(), 500);
  try {
    const messages = await messagesFor(turns, turn);
    await api.ask(messages, {
      progress: (stage) => turn.progress(stage),
      text: (delta) => follow(() => turn.addText(delta)),
      done: (result) => follow(() => turn.finish(result, {pictures, overlay: $('overlay')})),
    }, controller.signal);
  } catch (error) {
    if (error.name === 'AbortError') turn.stop();
    else follow(() => explain(turn, error));
  } finally {
    clearInterval(clock);
    running = null;
    // Pictures of a question without an answer belong to the next one, and may be removed.
    if (!turn.usable) for (const item of turn.pictures) item.sent = false;
    pictures.refresh();
  }
}

const ERROR_TEXTS = {
  network: 'errNetwork', broken: 'errBroken', input: 'errInput', tooLarge: 'errTooLarge', busy: 'errBusy',
  starting: 'errStarting', server: 'errServer',
};

function explain(turn, error) {
  if (!(error instanceof api.ApiError)) console.error(error);
  const text = t(ERROR_TEXTS[error.kind] ?? 'errServer');
  let detail = error.message ?? '';
  if (error.retryAfter) detail = `${detail} ${t('retryIn', {n: error.retryAfter})}`.trim();
  turn.fail(text, detail, () => {
    if (running) return;
    turn.element.remove();
    turns = turns.filter((other) => other !== turn);
    begin(turn.question, turn.pictures.filter((item) => !item.sent && pictures.items.includes(item)), turn.shown);
  });
  if (error.kind === 'network') watchServer();
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (running) {
    running.controller.abort();
    return;
  }
  const text = question.value.trim();
  if (!text) {
    showNotice(t('askSomething'));
    question.focus();
    return;
  }
  start(text);
});
question.addEventListener('keydown', (event) => {
  // Enter that ends the choice of a Chinese character is not meant for the form.
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
    event.preventDefault();
    if (!running) form.requestSubmit();
  }
});
question.addEventListener('input', () => {
  growQuestion();
  showNotice('');
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && running) running.controller.abort();
});

$('restart').addEventListener('click', () => {
  running?.controller.abort();
  turns = [];
  log.replaceChildren();
  showNotice('');
  pictures.clear();
  question.focus();
});
$('language').addEventListener('click', () => {
  setLanguage(language() === 'zh' ? 'en' : 'zh');
  showSamples();
  showModel();
  pictures.refresh();
});

// Adding pictures: choose, paste, drop anywhere.
const choose = () => $('files').click();
$('drop').addEventListener('click', choose);
$('add').addEventListener('click', choose);
$('files').addEventListener('change', (event) => {
  addFiles([...event.target.files]);
  event.target.value = '';
});
document.addEventListener('paste', (event) => {
  const files = [...(event.clipboardData?.files ?? [])];
  if (!files.length) return;
  event.preventDefault();
  addFiles(files);
});
let dragDepth = 0;
const showDrag = (on) => { $('drag').hidden = !on; };
const hasFiles = (event) => event.dataTransfer?.types.includes('Files');
document.addEventListener('dragenter', (event) => {
  if (hasFiles(event) && ++dragDepth > 0) showDrag(true);
});
document.addEventListener('dragleave', (event) => {
  if (hasFiles(event) && --dragDepth <= 0) showDrag(false);
});
document.addEventListener('dragover', (event) => {
  if (hasFiles(event)) event.preventDefault();
});
document.addEventListener('drop', (event) => {
  dragDepth = 0;
  showDrag(false);
  const files = [...(event.dataTransfer?.files ?? [])];
  if (!files.length) return;
  event.preventDefault();
  addFiles(files);
});

function addFiles(files, questions = null) {
  showNotice('');
  pictures.add(files, questions);
  if (pictures.items.length) question.focus({preventScroll: true});
}

function showSamples() {
  $('sample-list').replaceChildren(...samples.map((sample) => {
    const entry = document.createElement('li');
    const card = document.createElement('button');
    card.type = 'button';
    const frame = document.createElement('span');
    frame.className = 'frame';
    const image = document.createElement('img');
    image.src = sample.url;
    image.alt = sample.name;
    image.loading = 'lazy';
    frame.append(image);
    const caption = document.createElement('span');
    caption.textContent = sample.questions[language()][0] ?? sample.name.replace(/\.\w+$/, '');
    card.append(frame, caption);
    card.addEventListener('click', async () => {
      try {
        addFiles([await api.samplePicture(sample)], sample.questions);
      } catch {
        showNotice(t('errSample'));
      }
    });
    entry.append(card);
    return entry;
  }));
  refresh();
}

// The badge beside the name: model name when ready, otherwise what is the matter.
let server = {state: 'loading', name: ''};
function showModel() {
  $('model').dataset.state = server.state;
  $('model-name').textContent = server.state === 'ready' ? server.name : t(server.state);
}

let watching = false;
async function watchServer() {
  if (watching) return;
  watching = true;
  for (let delay = 400; ; delay = Math.min(delay * 1.5, 5000)) {
    const state = await api.readiness();
    server = {state, name: server.name};
    if (state === 'ready') {
      server.name = await api.modelName().catch(() => '');
      showModel();
      break;
    }
    showModel();
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
  watching = false;
}

applyLanguage();
showModel();
refresh();
watchServer();
api.samples().then((found) => {
  samples = found;
  showSamples();
});
