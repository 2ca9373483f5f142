// Sends each picture to the server once, as soon as it is on the page, so that questions only name it.

import {ApiError, send} from './api.js';

const MARGIN_MS = 60_000;  // before its time is up a picture is sent again

export class Uploads {
  // `key()` gives the API key.
  constructor(key) {
    this.key = key;
    this.off = false;    // this server keeps no pictures
    this.generation = 0;
    this.known = new WeakMap();  // blob -> {generation, until, url: promise}
  }

  // Begins in the background; the result is waited for by url().
  start(blob) {
    if (this.off) return;
    const entry = {generation: this.generation, until: Infinity};
    entry.url = this.post(blob, entry).catch((error) => {
      const status = error instanceof ApiError ? error.status : null;
      if (status === 404 || status === 405) this.off = true;
      // A picture that is refused would be refused again; everything else may pass.
      if (status !== 400 && status !== 413) this.known.delete(blob);
      return null;
    });
    this.known.set(blob, entry);
  }

  async post(blob, entry) {
    const reply = await send('v1/images', {method: 'POST', body: blob, key: this.key(),
                                           headers: {'content-type': blob.type || 'application/octet-stream'}});
    const {url, expires_in: seconds} = await reply.json();
    entry.until = Date.now() + 1000 * seconds - MARGIN_MS;
    return url;
  }

  // Where the server has this picture; null when it must come with the question.
  async url(blob) {
    const entry = this.known.get(blob);
    if (!entry || entry.generation !== this.generation || Date.now() > entry.until) this.start(blob);
    return this.known.get(blob)?.url ?? null;
  }

  // The server does not know them any more: it was restarted or needed the room.
  forget() { ++this.generation; }
}
