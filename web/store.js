// Conversations and jobs in the browser: IndexedDB, bounded in number and in bytes of pictures; the oldest go first.

export const MAX_CONVERSATIONS = 100;
export const MAX_PICTURE_BYTES = 300e6;

const request = (pending) => new Promise((resolve, reject) => {
  pending.onsuccess = () => resolve(pending.result);
  pending.onerror = () => reject(pending.error);
});

function open() {
  const opening = indexedDB.open('saccade', 2);
  opening.onupgradeneeded = () => {
    const db = opening.result, names = db.objectStoreNames;
    if (!names.contains('conversations')) {
      db.createObjectStore('conversations', {keyPath: 'id'}).createIndex('updated', 'updated');
    }
    if (!names.contains('jobs')) db.createObjectStore('jobs', {keyPath: 'id'});
  };
  return request(opening);
}

// A record: {id, title, updated, pictures: [{..., blob}], turns: [...]}, all plain data.
export class Store {
  // Resolves to a store; `usable` is false when the browser keeps no data.
  static async open() {
    const store = new Store();
    try {
      store.db = await open();
      // Another tab with a newer page may want to change the database.
      store.db.onversionchange = () => store.db.close();
    } catch {
      store.db = null;
    }
    return store;
  }

  get usable() { return Boolean(this.db); }

  objects(mode, name = 'conversations') {
    return this.db.transaction(name, mode).objectStore(name);
  }

  // Jobs of many tasks: {id, created, question, fields, entries}, in no order.
  async jobs() {
    return this.db ? request(this.objects('readonly', 'jobs').getAll()) : [];
  }

  async saveJob(record) {
    try {
      if (this.db) await request(this.objects('readwrite', 'jobs').put(record));
    } catch {
      // No room: the job then ends with the page.
    }
  }

  async removeJob(id) {
    if (this.db) await request(this.objects('readwrite', 'jobs').delete(id));
  }

  // Newest first.
  async list() {
    if (!this.db) return [];
    const records = await request(this.objects('readonly').index('updated').getAll());
    return records.reverse();
  }

  async get(id) {
    return this.db ? request(this.objects('readonly').get(id)) : null;
  }

  async remove(id) {
    if (this.db) await request(this.objects('readwrite').delete(id));
  }

  async clear() {
    if (this.db) await request(this.objects('readwrite').clear());
  }

  // Saves and then removes the oldest ones that are over the bounds. False when the browser has no room.
  async save(record) {
    if (!this.db) return false;
    for (let attempt = 0; attempt < 4; ++attempt) {
      try {
        await request(this.objects('readwrite').put(record));
        await this.prune(record.id);
        return true;
      } catch (error) {
        if (error?.name !== 'QuotaExceededError' || !await this.removeOldest(record.id)) return false;
      }
    }
    return false;
  }

  async prune(kept) {
    const records = await this.list();
    let bytes = 0;
    for (const [index, record] of records.entries()) {
      bytes += record.pictures.reduce((sum, picture) => sum + picture.blob.size, 0);
      if ((index >= MAX_CONVERSATIONS || bytes > MAX_PICTURE_BYTES) && record.id !== kept) await this.remove(record.id);
    }
  }

  async removeOldest(kept) {
    const oldest = (await this.list()).filter((record) => record.id !== kept).at(-1);
    if (oldest) await this.remove(oldest.id);
    return Boolean(oldest);
  }
}
