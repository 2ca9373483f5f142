// Wires the page together: the parts, the question form, and what depends on the state of all.

import {takePhoto} from './camera.js';
import {Conversation} from './conversation.js';
import {Dashboard} from './dashboard.js';
import {el} from './dom.js';
import {History} from './history.js';
import {applyLanguage, language, t} from './i18n.js';
import {takeFiles} from './intake.js';
import {Pictures} from './pictures.js';
import {Samples} from './samples.js';
import {ServerState} from './server_state.js';
import {Settings, switchLanguage} from './settings.js';
import {Store} from './store.js';
import {Tabs} from './tabs.js';
import {Tasks} from './tasks.js';
import {Uploads} from './uploads.js';

const $ = (id) => document.getElementById(id);
const form = $('ask'), question = $('question'), log = $('log'), notice = $('notice');
const SPOKEN_CHARACTERS = 1000;

function showNotice(text) {
  notice.textContent = text;
  notice.hidden = !text;
}

const settings = new Settings($('settings-dialog'), renderAll);
const server = new ServerState($('model'), $('model-name'), settings);
const pictures = new Pictures(
    {view: $('view'), picture: $('picture'), overlay: $('overlay'), thumbs: $('thumbs'), noPreview: $('no-preview'),
     line: $('picture-line')},
    {changed: refresh, notice: showNotice, tokens: (width, height) => settings.tokens(width, height),
     uploads: new Uploads(() => settings.key)});
const samples = new Samples($('sample-list'), {
  taken: (file, questions) => addFiles([file], questions),
  failed: () => showNotice(t('errSample')),
});
const store = await Store.open();
const conversation = new Conversation({
  log, overlay: $('overlay'), pictures, settings, store, follow, changed: refresh,
  announce(turn) {
    $('announcer').textContent = turn.state === 'done' ?
      t('answerDone', {text: turn.text.slice(0, SPOKEN_CHARACTERS)}) : turn.errorText();
  },
  lost: () => server.watch(),
});
const history = new History($('history-dialog'), store, {
  open: (record) => conversation.open(record),
  current: () => conversation.id,
  removed(id) {
    if (id === null || id === conversation.id) conversation.id = null;  // the next answer saves it again
  },
});

const dashboard = new Dashboard($('tab-server'), settings);
const tasks = new Tasks($('tab-tasks'), settings, store);
const tabs = new Tabs($('tabs'), {tasks, server: dashboard});

// Everything that depends on what the page holds.
function refresh() {
  const talking = conversation.turns.length > 0;
  const empty = pictures.items.length === 0 && !talking;
  document.body.dataset.state = empty ? 'empty' : talking ? 'talking' : 'ready';
  document.body.dataset.pictures = pictures.items.length ? 'some' : 'none';
  $('samples').hidden = !empty || samples.empty;
  $('restart').hidden = empty;
  question.placeholder = t(empty ? 'placeholderEmpty' : talking ? 'placeholderMore' : 'placeholder');
  const send = $('send'), running = conversation.running !== null;
  send.classList.toggle('running', running);
  send.setAttribute('aria-label', t(running ? 'stop' : 'send'));
  send.title = t(running ? 'stop' : 'send');
  $('language').textContent = t('otherLanguage');
  $('language').lang = language() === 'zh' ? 'en' : 'zh-CN';
  follow(showChips);
}

// After a change of language or settings.
function renderAll() {
  applyLanguage();
  samples.show();
  server.show();
  dashboard.build();
  tasks.build();
  if (server.state === 'ready' && !server.name) server.readModel();  // a key may have been entered
  conversation.render();
  pictures.refresh();
}

function showChips() {
  const asked = new Set(conversation.turns.map((turn) => turn.question));
  const own = pictures.shown?.questions?.[language()] ?? [];
  const general = ['chipDescribe', 'chipText', 'chipTable', 'chipLocate'].map((key) => t(key));
  if (pictures.items.length > 1) general.unshift(t('chipCompare'));
  const offered = (own.length ? own : general).filter((text) => !asked.has(text)).slice(0, 5);
  const visible = pictures.items.length > 0 && !conversation.running ? offered : [];
  $('chips').replaceChildren(...visible.map((text) => el('button', {
    type: 'button', class: 'chip', onclick: () => start(text),
  }, text)));
}

function growQuestion() {
  question.style.height = 'auto';
  question.style.height = `${Math.min(question.scrollHeight, 180)}px`;
}

// Keeps the newest text in sight unless the reader has scrolled up.
function follow(change) {
  const stick = log.scrollHeight - log.scrollTop - log.clientHeight < 120;
  change();
  if (stick) requestAnimationFrame(() => { log.scrollTop = log.scrollHeight; });
}

function start(text) {
  if (conversation.running) return;
  question.value = '';
  growQuestion();
  showNotice('');
  conversation.ask(text);
}

function addFiles(files, questions = null) {
  showNotice('');
  pictures.add(files, questions);
  if (pictures.items.length) question.focus({preventScroll: true});
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (conversation.running) {
    conversation.stop();
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
    if (!conversation.running) form.requestSubmit();
  }
});
question.addEventListener('input', () => {
  growQuestion();
  showNotice('');
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !document.querySelector('dialog[open]')) conversation.stop();
});

$('restart').addEventListener('click', () => {
  showNotice('');
  conversation.clear();
  question.focus();
});
$('language').addEventListener('click', () => {
  switchLanguage();
  renderAll();
});
$('history').addEventListener('click', () => history.open());
$('settings').addEventListener('click', () => settings.open(pictures.shown));
$('photo').addEventListener('click', () => takePhoto($('camera-dialog'), {
  taken: (file) => addFiles([file]),
  fallback: () => $('capture').click(),
  failed: () => showNotice(t('cameraFailed')),
}));
for (const id of ['drop', 'add']) $(id).addEventListener('click', () => $('files').click());
takeFiles({
  input: $('files'), capture: $('capture'), drag: $('drag'),
  taken: (files) => (tabs.current === 'tasks' ? tasks.add(files) : addFiles(files)),
  active: () => tabs.current !== 'server' && !document.querySelector('dialog[open]'),
});

renderAll();
tabs.follow();
server.watch();
samples.load().then(refresh);
