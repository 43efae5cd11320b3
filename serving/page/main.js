// The page: from the address to a view, one at a time; refusals become sentences, keys on the keyboard become steps.

import { key, Refused } from './api.js';
import { h } from './dom.js';
import { choose, keyForm } from './doors.js';
import { forgotten } from './forgotten.js';
import { graph } from './graph.js';
import { fact, frame, passage } from './item.js';
import { here, to, whose } from './place.js';
import { search } from './search.js';
import { timeline } from './timeline.js';

const TABS = { search: 'Search', timeline: 'Timeline', graph: 'Graph', forgotten: 'Forgotten' };
const VIEWS = { search, timeline, graph, forgotten, frame, passage, fact, choose };
const view = document.getElementById('view');
const status = document.getElementById('status');
let asking = new AbortController();

async function show() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const place = here();
  const owned = Object.keys(place.ids).length > 0;
  bar(place, owned);
  view.setAttribute('aria-busy', 'true');
  try {
    const element = await shown(place, owned, signal);
    if (signal.aborted) return;
    put(element);
  } catch (error) {
    if (signal.aborted) return;
    put(refused(error));
    // A key that was refused is forgotten, and the bar with it.
    bar(place, owned);
  }
  view.removeAttribute('aria-busy');
}

function shown(place, owned, signal) {
  if (!key.get() || place.view === 'key') return keyForm('', place.view === 'key' ? () => { location.hash = to('search'); } : show);
  const wanted = VIEWS[place.view] ?? search;
  // An item names its memory itself; everything else needs to know whose.
  return (owned || place.item ? wanted : choose)(place, signal);
}

function put(element) {
  view.replaceChildren(element);
  const title = view.querySelector('h1')?.textContent ?? 'SEEM';
  document.title = `${title} · SEEM`;
  status.textContent = title;
  (view.querySelector('[data-focus]') ?? view.querySelector('h1'))?.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function refused(error) {
  if (!(error instanceof Refused)) throw error;
  if (error.status === 401) {
    key.forget();
    return keyForm(sentence(error.message), show);
  }
  return h(
    'section',
    { class: 'narrow' },
    h('div', { class: 'notice', role: 'alert' }, h('h1', { tabindex: '-1' }, title(error)), h('p', {}, sentence(error.message)), again(error)),
    error.request ? h('p', { class: 'quiet' }, `Request ${error.request}`) : null,
    error.status === 403 ? h('a', { href: to('key') }, 'Use another key') : null,
  );
}

function title({ status: code }) {
  const titles = { 0: 'No connection', 403: 'This key may not', 404: 'Not here', 410: 'Gone', 413: 'Too large', 422: 'That cannot be used', 429: 'Too many requests', 503: 'Not now' };
  return titles[code] ?? 'That did not work';
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`;

function again({ after, status: code }) {
  const button = h('button', { type: 'button', class: 'second', onclick: show }, 'Try again');
  if (!after || ![0, 429, 503].includes(code)) return code === 404 || code === 403 ? null : button;
  const { signal } = asking;
  const until = Date.now() + after * 1000;
  const tick = () => {
    if (signal.aborted) return;
    const left = Math.ceil((until - Date.now()) / 1000);
    button.disabled = left > 0;
    button.textContent = left > 0 ? `Try again in ${left} s` : 'Try again';
    if (left > 0) setTimeout(tick, 250);
  };
  tick();
  return button;
}

function bar(place, owned) {
  const current = { frame: 'timeline', passage: 'search', fact: 'graph' }[place.view] ?? (place.view || 'search');
  const tab = ([name, label]) => h('a', { href: to(name), 'aria-current': name === current ? 'page' : null }, label);
  document.getElementById('tabs').replaceChildren(...(owned && key.get() ? Object.entries(TABS).map(tab) : []));
  const chosen = document.getElementById('whose');
  chosen.textContent = owned ? whose(place.ids) : 'Choose a memory';
  chosen.href = to('choose');
  chosen.hidden = !key.get();
  chosen.title = chosen.textContent;
  document.getElementById('key').href = to('key');
  document.getElementById('brand').href = to('search');
}

/** Step through what is listed: `/` asks, `j` and `k` or the arrows move, Enter opens, Escape leaves a field. */
function press(event) {
  const typing = event.target.closest('input, textarea, select');
  if (event.key === 'Escape' && typing) typing.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === '/') {
    event.preventDefault();
    const field = view.querySelector('input[type="search"]');
    if (field) field.select();
    else location.hash = to('search');
  }
  const move = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
  const steps = move ? [...view.querySelectorAll('[data-step]')] : [];
  if (steps.length) {
    event.preventDefault();
    const at = steps.indexOf(event.target.closest('[data-step]'));
    const next = steps[Math.min(steps.length - 1, Math.max(0, at + move))];
    next.focus();
    next.scrollIntoView({ block: 'nearest' });
  }
  if (event.key === 'Enter' && event.target.matches('[data-step]:not(a)')) event.target.querySelector('a.open, a.open-wide')?.click();
}

document.querySelector('.skip').addEventListener('click', (event) => {
  // Its address would be taken for a view's.
  event.preventDefault();
  view.focus();
});
addEventListener('hashchange', show);
addEventListener('keydown', press);
show();
