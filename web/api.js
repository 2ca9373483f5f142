// Talks to the server: readiness, model name, samples, and the streamed answer with its progress.

// Relative to the page, so that the page also works behind a path prefix.
const url = (path) => new URL(path, document.baseURI);

// What went wrong, as the page explains it: `kind` is network, broken, input, tooLarge, busy, starting, key or server.
export class ApiError extends Error {
  constructor(kind, message = '', {retryAfter = null, status = null} = {}) {
    super(message);
    this.kind = kind;
    this.retryAfter = retryAfter;  // seconds
    this.status = status;          // of HTTP, when there was an answer
  }
}

function kindOf(status) {
  if (status === 413) return 'tooLarge';
  if (status === 429) return 'busy';
  if (status === 503) return 'starting';
  if (status === 401 || status === 403) return 'key';
  return status >= 500 ? 'server' : 'input';
}

async function errorFrom(response) {
  const retryAfter = Number(response.headers.get('retry-after')) || null;
  let message = '';
  try {
    message = (await response.json()).error?.message ?? '';
  } catch {
    // A proxy may have answered with something else.
  }
  return new ApiError(kindOf(response.status), message, {retryAfter, status: response.status});
}

// 'ready', 'loading' or 'offline'.
export async function readiness() {
  try {
    return (await fetch(url('readyz'), {cache: 'no-store'})).ok ? 'ready' : 'loading';
  } catch {
    return 'offline';
  }
}

const authorization = (key) => (key ? {authorization: `Bearer ${key}`} : {});

// One request whose failure is an ApiError; the AbortError of a signal goes through.
export async function send(path, {key = '', headers = {}, ...options} = {}) {
  let response;
  try {
    response = await fetch(url(path), {cache: 'no-store', ...options, headers: {...authorization(key), ...headers}});
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError('network');
  }
  if (!response.ok) throw await errorFrom(response);
  return response;
}

// {id, context_tokens, min_pixels, max_pixels}
export async function modelCard(key) {
  return (await (await send('v1/models', {key})).json()).data?.[0] ?? {id: ''};
}

// [{url, name, questions: {en: [...], zh: [...]}}]; empty when the server has none.
export async function samples() {
  try {
    const response = await fetch(url('examples/'));
    if (!response.ok) return [];
    const {pictures = [], questions = null} = await response.json();
    return pictures.map((name) => ({
      name,
      url: url(`examples/${encodeURIComponent(name)}`),
      questions: questionsFor(name, questions),
    }));
  } catch {
    return [];
  }
}

// examples/questions.json is a list of {file, question_en, question_zh, ...}, several per picture.
function questionsFor(name, list) {
  const entries = (Array.isArray(list) ? list : []).filter((entry) => entry.file === name);
  const texts = (key) => entries.map((entry) => entry[key]).filter((text) => typeof text === 'string');
  return {en: texts('question_en'), zh: texts('question_zh')};
}

export async function samplePicture(sample) {
  const response = await fetch(sample.url);
  if (!response.ok) throw await errorFrom(response);
  const blob = await response.blob();
  return new File([blob], sample.name, {type: blob.type});
}

// Splits a stream of bytes into server-sent events. `onEvent` gets {comment} or {data} in order.
export class EventParser {
  constructor(onEvent) {
    this.onEvent = onEvent;
    this.decoder = new TextDecoder();
    this.rest = '';
  }

  push(bytes) {
    this.rest += this.decoder.decode(bytes, {stream: true});
    let end;
    while ((end = this.rest.indexOf('\n\n')) >= 0) {
      const block = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + 2);
      for (const line of block.split('\n')) {
        if (line.startsWith(':')) this.onEvent({comment: line.slice(1).trim()});
        else if (line.startsWith('data:')) this.onEvent({data: line.slice(5).trim()});
      }
    }
  }
}

// "encoding 3/24" -> {stage: 'encoding', done: 3, total: 24}; "queued 2" -> {stage: 'queued', done: 2, total: 0}.
export function parseProgress(comment) {
  const match = /^(queued|encoding|prefill) (\d+)(?:\/(\d+))?$/.exec(comment);
  return match && {stage: match[1], done: Number(match[2]), total: Number(match[3] ?? 0)};
}

// Asks and streams. `on` has progress(stage), text(delta) and done({reason, usage, timings}). Rejects with an
// ApiError, or with the AbortError of `signal`.
export async function ask(fields, on, {signal, key}) {
  const response = await send('v1/chat/completions', {
    method: 'POST',
    headers: {'content-type': 'application/json'},
    body: JSON.stringify({model: 'default', stream: true, stream_options: {include_usage: true}, ...fields}),
    signal,
    key,
  });
  await readAnswer(response.body.getReader(), on);
}

async function readAnswer(reader, on) {
  const result = {reason: null, usage: null, timings: null};
  let complete = false;
  const parser = new EventParser(({comment, data}) => {
    if (comment !== undefined) {
      const progress = parseProgress(comment);
      if (progress) on.progress(progress);
      return;
    }
    if (data === '[DONE]') {
      complete = true;
      return;
    }
    const chunk = JSON.parse(data);
    if (chunk.error) throw new ApiError('server', chunk.error.message ?? '');
    const choice = chunk.choices?.[0];
    if (choice?.delta?.content) on.text(choice.delta.content);
    if (choice?.finish_reason) result.reason = choice.finish_reason;
    if (chunk.usage) result.usage = chunk.usage;
    if (chunk.timings_ms) result.timings = chunk.timings_ms;
  });
  while (true) {
    let step;
    try {
      step = await reader.read();
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new ApiError('broken');
    }
    if (step.done) break;
    parser.push(step.value);
  }
  if (!complete) throw new ApiError('broken');
  on.done(result);
}
