// What stands before every view: the key to the server, and the choice of a memory.

import { get, key } from './api.js';
import { h } from './dom.js';
import { heading } from './parts.js';
import { IDS, to, whose } from './place.js';

/** Ask for the key; `sentence` says why the last one did not do, `then` is where to go with the new one. */
export function keyForm(sentence, then) {
  const field = h('input', {
    type: 'password', id: 'api-key', autocomplete: 'off', required: true, spellcheck: 'false', 'data-focus': true,
    'aria-describedby': 'key-why', placeholder: 'seem_…',
  });
  const enter = (event) => {
    event.preventDefault();
    key.set(field.value.trim());
    then();
  };
  const forget = () => {
    key.forget();
    then();
  };
  return h(
    'section',
    { class: 'narrow door' },
    heading('Your key'),
    sentence ? h('p', { class: 'notice', role: 'alert' }, sentence) : null,
    h('p', { id: 'key-why', class: 'lead' }, 'A key opens the memories of one team. The operator makes one with ', h('code', {}, 'python -m serving.admin keys create'), '.'),
    h('form', { onsubmit: enter }, h('label', { for: 'api-key' }, 'API key'), h('div', { class: 'ask' }, field, h('button', { type: 'submit' }, 'Open'))),
    h('p', { class: 'quiet' }, 'It stays in this tab until the tab is closed, and is never part of an address.'),
    key.get() ? h('button', { type: 'button', class: 'second', onclick: forget }, 'Forget the key now') : null,
  );
}

/** Choose whose memory to look at: one that exists, or ids typed in. */
export async function choose(place, signal) {
  const { results } = await get('entities', {}, signal);
  const known = results.map((owner) => ({ [`${owner.type}_id`]: owner.id }));
  return h(
    'section',
    { class: 'narrow door' },
    heading('Whose memory?'),
    known.length
      ? h('ul', { class: 'owners' }, known.map((ids) => h('li', { 'data-step': true, tabindex: '-1' }, h('a', { class: 'open-wide', href: to('search', { ids }), dir: 'auto' }, whose(ids)))))
      : h('p', { class: 'lead' }, 'No memory holds anything yet.'),
    typed(place),
  );
}

function typed(place) {
  const fields = IDS.map((id) => h('input', { id, value: place.ids[id] ?? '', autocomplete: 'off', maxlength: '512' }));
  const told = h('p', { class: 'notice', role: 'alert', hidden: true }, 'Give at least one id.');
  const enter = (event) => {
    event.preventDefault();
    const ids = Object.fromEntries(fields.filter((field) => field.value.trim()).map((field) => [field.id, field.value.trim()]));
    told.hidden = Object.keys(ids).length > 0;
    if (told.hidden) location.hash = to('search', { ids });
  };
  return h(
    'details',
    { class: 'block', open: Boolean(place.ids.run_id || place.ids.agent_id) },
    h('summary', {}, 'By its ids'),
    h('p', { class: 'quiet' }, 'The memory belongs to the user, else to the agent, else to the run; further ids narrow what is read.'),
    h('form', { class: 'ids', onsubmit: enter }, fields.map((field) => h('div', {}, h('label', { for: field.id }, field.id), field)), told, h('button', { type: 'submit' }, 'Open')),
  );
}
