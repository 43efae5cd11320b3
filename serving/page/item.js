// One frame, passage or fact: what was made of which words, who said what, and what happened to it since.

import { get } from './api.js';
import { counted, h } from './dom.js';
import { changes, facts, heading, named, SLOTS, source, timed } from './parts.js';
import { item, to } from './place.js';
import { moment, valid } from './times.js';
import { copied, places } from './words.js';

// So many passages of one frame are fetched; a longer story is read in its timeline.
const MOST = 30;

/** Show an episode: its slots with who said them on one side, the original words on the other. */
export async function frame(place, signal) {
  const told = await get(`memories/${encodeURIComponent(place.item)}/grounds`, {}, signal);
  const [passages, past] = await Promise.all([fetched(told.passages, signal), history(place.item, signal)]);
  const spans = (one) => told.versions.flatMap(({ slots }) => Object.entries(slots).flatMap(([slot, said]) =>
    places(one.memory, { [slot]: said.filter(({ passage: id }) => id === one.id).flatMap(({ value }) => value.text ?? value) })));
  const view = h('section', { class: 'frame' });
  const light = (slot) => view.setAttribute('data-lit', slot);
  const known = new Map(passages.flatMap((passage) => passage.facts.map((one) => [one.id, one])));
  view.append(
    h(
      'div',
      { class: 'made' },
      h('p', { class: 'eyebrow' }, 'Episode'),
      h('h1', { class: 'summary', tabindex: '-1', dir: 'auto' }, told.summary || 'An episode'),
      told.versions.map((version, n) => eventTable(version, n, told, light)),
      facts([...known.values()]),
      changes(past),
    ),
    h(
      'div',
      { class: 'told' },
      h('h2', {}, counted(told.passages.length, 'source')),
      passages.map((passage, n) => source(passage, { number: n + 1, spans: spans(passage) })),
      told.passages.length > MOST ? h('p', { class: 'quiet' }, `and ${told.passages.length - MOST} more`) : null,
    ),
  );
  return view;
}

/** Show a passage: its words, the episode and the facts that were made of it. */
export async function passage(place, signal) {
  const [told, past] = await Promise.all([
    get(`passages/${encodeURIComponent(place.item)}`, {}, signal),
    history(place.item, signal),
  ]);
  const spans = (told.frame?.events ?? []).flatMap((event) => places(told.memory, copied(event)));
  const extra = Object.entries(told.metadata);
  return h(
    'section',
    { class: 'narrow' },
    h('p', { class: 'eyebrow' }, 'Passage'),
    h('h1', { class: 'hidden', tabindex: '-1', 'data-focus': true }, `Passage of ${told.speaker || 'nobody named'}`),
    source(told, { spans, current: true }),
    told.frame
      ? h('section', { class: 'block' }, h('h2', {}, 'Episode'), h('p', {}, h('a', { href: item(told.frame.id), dir: 'auto' }, told.frame.summary || 'An episode')))
      : h('p', { class: 'quiet' }, 'No episode was made of it.'),
    facts(told.facts),
    extra.length ? h('section', { class: 'block' }, h('h2', {}, 'Metadata'), h('dl', { class: 'slots' }, extra.map(([name, value]) => row(name, typeof value === 'string' ? value : JSON.stringify(value))))) : null,
    changes(past),
  );
}

/** Show a fact: when it holds, what ended it, and the words that it stands on. */
export async function fact(place, signal) {
  const told = await get(`facts/${encodeURIComponent(place.item)}`, {}, signal);
  const [passages, past] = await Promise.all([fetched(told.passages, signal), history(place.item, signal)]);
  const ends = { participants: [told.subject, told.object], time: told.time ? [told.time.text] : [] };
  return h(
    'section',
    { class: 'narrow' },
    h('p', { class: 'eyebrow' }, 'Fact'),
    heading(`${told.subject} ${told.relation} ${told.object}`),
    h(
      'dl',
      { class: 'slots' },
      row('Holds', valid(told) || 'time unknown'),
      told.time ? row('As said', timed(told.time)) : null,
      row('Recorded', moment(told.created_at)),
      told.expired_at ? row('Closed', moment(told.expired_at)) : null,
      told.superseded_by ? row('Ended by', h('a', { href: item(told.superseded_by) }, 'a later fact')) : null,
      row('Around', [h('a', { href: to('graph', { entity: told.subject }), dir: 'auto' }, told.subject), ' · ', h('a', { href: to('graph', { entity: told.object }), dir: 'auto' }, told.object)]),
    ),
    h('section', { class: 'block' }, h('h2', {}, counted(told.passages.length, 'source')), passages.map((one, n) => source(one, { number: n + 1, spans: places(one.memory, ends) }))),
    changes(past),
  );
}

const fetched = (ids, signal) => Promise.all(ids.slice(0, MOST).map((id) => get(`passages/${encodeURIComponent(id)}`, {}, signal)));
const history = async (id, signal) => (await get(`memories/${encodeURIComponent(id)}/history`, {}, signal)).results;
const row = (name, value) => h('div', {}, h('dt', {}, name), h('dd', { dir: 'auto' }, value));

function eventTable({ event, slots }, n, told, light) {
  const rows = SLOTS.filter((slot) => (slot === 'participants' ? event[slot].length : event[slot]));
  const count = told.versions.length;
  return h(
    'section',
    { class: 'event' },
    count > 1 ? h('h2', {}, `Event ${n + 1} of ${count}`) : h('h2', { class: 'hidden' }, 'Slots'),
    h('dl', { class: 'slots' }, rows.map((slot) => slotRow(slot, event[slot], slots[slot] ?? [], told.passages, light))),
  );
}

/** One slot: what holds with the sources that say so, and below it what an earlier source said instead. */
function slotRow(slot, value, said, order, light) {
  const number = ({ passage: id }) => h('a', { class: 'number', href: item(id), 'aria-label': `source ${order.indexOf(id) + 1}` }, `${order.indexOf(id) + 1}`);
  const lost = said.filter(({ holds }) => !holds);
  return h(
    'div',
    { 'data-slot': slot, tabindex: '0', onmouseenter: () => light(slot), onfocus: () => light(slot), onmouseleave: () => light(''), onblur: () => light('') },
    h('dt', {}, named(slot)),
    h(
      'dd',
      {},
      plain(value),
      h('span', { class: 'says', title: 'the sources that say so' }, said.filter(({ holds }) => holds).map(number)),
      lost.map((version) => h('p', { class: 'lost' }, h('del', { title: 'said instead; it does not hold' }, plain(version.value)), h('span', { class: 'says' }, number(version)))),
    ),
  );
}

function plain(value) {
  if (Array.isArray(value)) return h('span', { dir: 'auto' }, value.join(', '));
  return typeof value === 'string' ? h('span', { dir: 'auto' }, value) : timed(value);
}
