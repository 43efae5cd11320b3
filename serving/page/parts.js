// The pieces that several views are made of: original words with what is lit in them, slots, facts, changes.

import { counted, h } from './dom.js';
import { item, to } from './place.js';
import { day, meant, moment, valid } from './times.js';
import { pieces } from './words.js';

export const SLOTS = ['participants', 'action', 'time', 'location', 'causality', 'manner'];
const NAMES = { participants: 'Who', action: 'What', time: 'When', location: 'Where', causality: 'Why', manner: 'How' };

/** Name a slot as a question word. */
export const named = (slot) => NAMES[slot];

/** Give the original words; a span of kind `asked` answers to the question, one of a slot's name was copied into it. */
export function original(text, spans = []) {
  const shown = pieces(text, spans).map(({ text: piece, kinds }) => {
    const slots = kinds.filter((kind) => kind !== 'asked');
    const lit = slots.length
      ? h('span', { class: 'slot', 'data-slots': slots.join(' '), title: slots.map(named).join(', ') }, piece)
      : piece;
    return kinds.includes('asked') ? h('mark', { title: 'a word of the question' }, lit) : lit;
  });
  return h('p', { class: 'words', dir: 'auto' }, shown);
}

/** Give a passage: who said it when, and the original words. */
export function source(passage, { spans = [], number = null, foot = null, current = false } = {}) {
  const head = [
    number === null ? null : h('span', { class: 'number' }, `${number}`),
    h('span', { class: 'speaker', dir: 'auto' }, passage.speaker || 'Nobody named'),
    h('time', {}, moment(passage.time)),
    passage.session ? h('span', { class: 'session', title: 'session', dir: 'auto' }, passage.session) : null,
    passage.status === 'pending' ? h('span', { class: 'chip' }, 'being read') : null,
    passage.status === 'failed' ? h('span', { class: 'chip warn' }, 'not understood') : null,
    current ? null : h('a', { class: 'open', href: item(passage.id), 'aria-label': 'Open this passage' }, 'Open'),
  ];
  return h(
    'article',
    { class: 'source', id: passage.id, 'data-step': true, tabindex: '-1' },
    h('header', {}, head),
    original(passage.memory, spans),
    passage.image ? h('p', { class: 'image', dir: 'auto' }, `Picture: ${passage.image}`) : null,
    foot,
  );
}

/** Give a fact as a sentence with its validity; its ends lead to the graph. */
export function fact(told) {
  const closed = Boolean(told.invalid_at || told.superseded_by);
  return h(
    'li',
    { class: closed ? 'fact closed' : 'fact' },
    h('a', { href: to('graph', { entity: told.subject }), dir: 'auto' }, told.subject),
    ' ',
    h('span', { class: 'relation', dir: 'auto' }, told.relation),
    ' ',
    h('a', { href: to('graph', { entity: told.object }), dir: 'auto' }, told.object),
    h('a', { class: 'when', href: item(told.id) }, valid(told) || 'time unknown'),
    closed ? h('span', { class: 'chip' }, 'no longer') : null,
  );
}

/** Give a list of facts under a heading, or nothing. */
export function facts(list, heading = 'Facts') {
  return list.length ? h('section', { class: 'block' }, h('h2', {}, heading), h('ul', { class: 'facts' }, list.map(fact))) : null;
}

/** Give a time slot as it was said, with what it means. */
export function timed(time) {
  const date = meant(time);
  return [h('span', { class: 'said', dir: 'auto' }, time.text || date), date && date !== time.text ? h('span', { class: 'means' }, date) : null];
}

const DONE = {
  ADD: 'Remembered', UPDATE: 'Corrected', DELETE: 'Deleted', FUSE: 'Told again by another passage', MERGE: 'Merged by hand',
  SPLIT: 'Split', REASSIGN: 'Moved by hand', UNDO: 'Correction undone', SUPERSEDE: 'Ended by a later fact', GRANT: 'Readers added',
  REVOKE: 'Readers removed', UNREADABLE: 'The judge gave no verdict',
};

/** Give what happened to an item, oldest first. */
export function changes(list) {
  if (!list.length) return null;
  const entry = (change) => h(
    'li',
    {},
    h('time', {}, moment(change.created_at)),
    h('b', {}, DONE[change.event] ?? change.event.toLowerCase()),
    change.actor_id ? h('span', { class: 'quiet' }, ` by ${change.actor_id}`) : null,
    change.event === 'UPDATE' && change.old_memory ? h('del', { dir: 'auto' }, change.old_memory) : null,
    change.new_memory ? h('ins', { dir: 'auto' }, change.new_memory) : null,
  );
  return h('section', { class: 'block' }, h('h2', {}, 'History'), h('ol', { class: 'changes' }, list.map(entry)));
}

/** Give the heading of a view. */
export const heading = (title, ...beside) => h('div', { class: 'heading' }, h('h1', { tabindex: '-1', dir: 'auto' }, title), beside);

/** Give a sentence for a place where there is nothing. */
export const nothing = (title, ...sentences) =>
  h('div', { class: 'nothing' }, h('h2', {}, title), sentences.map((sentence) => h('p', {}, sentence)));

/** Say that a memory is empty, and how something comes into it. */
export const empty = () =>
  nothing('Nothing is remembered here yet.', 'What is sent to POST /v1/memories, or imported with POST /v1/import, appears here.',
    h('a', { href: to('choose') }, 'Choose another memory'));

export { counted, day };
