// The server's public routes. The key lies in this tab's session storage and goes out in a header, nowhere else.

const KEY = 'seem.key';
const BASE = new URL('../v1/', document.baseURI);

/** A refusal: the server's own sentence, and after how many seconds to come back. */
export class Refused extends Error {
  constructor(status, told, after) {
    super(told.detail ?? 'The server gave no reason.');
    this.status = status;
    this.code = told.code ?? '';
    this.limit = told.limit ?? null;
    this.request = told.request_id ?? '';
    this.after = after;
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY) ?? '',
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

/** Ask a route; give what it tells, or throw Refused. */
export async function ask(method, path, { query = {}, body, signal } = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') url.searchParams.set(name, value);
  const headers = { Authorization: `Bearer ${key.get()}` };
  if (body) headers['Content-Type'] = 'application/json';
  let answer;
  try {
    answer = await fetch(url, { method, headers, body: body && JSON.stringify(body), signal, cache: 'no-store', credentials: 'omit' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refused(0, { detail: 'The server cannot be reached. It may be down, or this machine offline.' }, 5);
  }
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, told, Number(answer.headers.get('Retry-After')) || null);
  return told;
}

export const get = (path, query, signal) => ask('GET', path, { query, signal });
export const post = (path, body, signal) => ask('POST', path, { body, signal });

/** One list of the server, loaded page by page as far as it is wanted. */
export class Pages {
  constructor(path, query) {
    this.path = path;
    this.query = query;
    this.items = [];
    this.next = '';
    this.size = 200;
  }

  get ended() {
    return this.next === null;
  }

  async more(signal) {
    let page;
    try {
      page = await get(this.path, { ...this.query, limit: this.size, after: this.next }, signal);
    } catch (error) {
      // This server's pages are shorter.
      if (error.code !== 'too_large' || !(error.limit < this.size)) throw error;
      this.size = error.limit;
      return this.more(signal);
    }
    this.items.push(...page.results);
    this.next = page.next;
    return page.results;
  }
}
