// What was forgotten, when and by whom: ids and numbers, never the words, which are gone.

import { get, Pages } from './api.js';
import { counted, h } from './dom.js';
import { changes, heading, nothing } from './parts.js';
import { moment } from './times.js';

const KINDS = { passage: 'passage', frame: 'episode', fact: 'fact', entity: 'name' };
const PAGES_AT_ONCE = 10;

export async function forgotten(place, signal) {
  return h('section', { class: 'narrow' }, heading('Forgotten'), await trail(place, signal), lookup(signal));
}

async function trail(place, signal) {
  const pages = new Pages('audit', place.ids);
  try {
    for (let n = 0; n < PAGES_AT_ONCE && !pages.ended; n++) await pages.more(signal);
  } catch (error) {
    if (error.status !== 403) throw error;
    return h('p', { class: 'lead', id: 'no-trail' }, 'The trail of all that was forgotten is for keys with the scope «audit». Below, the history of one item tells when it was deleted.');
  }
  // Frames and facts also go when they are made anew: forgotten is what was told.
  const gone = pages.items.filter(({ action, removed }) => removed.passage?.length || action === 'delete_memory');
  if (!gone.length) return nothing('Nothing was forgotten.', 'What is deleted later is listed here, without its words.');
  return [
    h('p', { class: 'lead' }, 'Of what is gone only its ids remain, to show that it went.'),
    h('ol', { class: 'trail' }, gone.reverse().map(entry)),
    pages.ended ? null : h('p', { class: 'quiet' }, 'The trail goes on; its later part is at /v1/audit.'),
  ];
}

function entry({ at, actor, action, removed }) {
  const kinds = Object.entries(removed).filter(([, ids]) => ids.length);
  const told = kinds.map(([kind, ids]) => counted(ids.length, name(kind))).join(', ');
  return h(
    'li',
    { 'data-step': true, tabindex: '-1' },
    h('time', {}, moment(at)),
    h('div', {},
      h('b', {}, told || 'The whole memory'),
      h('span', { class: 'quiet' }, ` ${action.replaceAll('_', ' ')}${actor ? ` by ${actor}` : ''}`),
      kinds.length ? h('details', {}, h('summary', {}, 'ids'), kinds.map(([, ids]) => h('p', { class: 'ids-gone' }, ids.join(' ')))) : null),
  );
}

function name(kind) {
  const one = kind === 'entities' ? 'entity' : kind.replace(/s$/, '');
  return KINDS[one] ?? one;
}

function lookup(signal) {
  const field = h('input', { id: 'item', autocomplete: 'off', spellcheck: 'false', placeholder: 'p_… f_… k_…', maxlength: '64' });
  const found = h('div', { role: 'status' });
  const enter = async (event) => {
    event.preventDefault();
    if (!field.value.trim()) return;
    try {
      const { results } = await get(`memories/${encodeURIComponent(field.value.trim())}/history`, {}, signal);
      found.replaceChildren(changes(results) ?? h('p', {}, 'Nothing is known of that id.'));
    } catch (error) {
      if (error.name !== 'AbortError') found.replaceChildren(h('p', { class: 'notice' }, error.message));
    }
  };
  return h('section', { class: 'block' }, h('h2', {}, 'One item'),
    h('form', { onsubmit: enter }, h('label', { for: 'item' }, 'Id of a passage, episode or fact'), h('div', { class: 'ask' }, field, h('button', { type: 'submit', class: 'second' }, 'Tell'))),
    found);
}
