// What is known around an entity: a picture of its neighbours, and the same as a list of facts.

import { get } from './api.js';
import { counted, h, s } from './dom.js';
import { empty, fact, heading, nothing } from './parts.js';
import { to } from './place.js';
import { radial } from './layout.js';

const PHONE = 640;

export async function graph(place, signal) {
  const wanted = place.asked.get('entity') ?? '';
  const hops = place.asked.get('hops') === '2' ? 2 : 1;
  const known = await get('graph/entities', { ...place.ids, limit: 40 }, signal);
  if (!known.results.length) return h('section', { class: 'narrow' }, heading('Graph'), await factless(place, signal));
  const name = wanted || known.results[0].name;
  const form = asking(name, known.results, hops);
  let told;
  try {
    const narrow = innerWidth < PHONE;
    told = await get('graph', { ...place.ids, entity: name, hops, limit: narrow ? 12 : 22 }, signal);
  } catch (error) {
    if (error.code !== 'not_found') throw error;
    return h('section', { class: 'narrow' }, form, nothing('Nobody and nothing of that name is known here.', error.message));
  }
  return h(
    'section',
    { class: 'wide' },
    form,
    h('div', { class: 'picture' }, picture(told)),
    told.more ? h('p', { class: 'quiet' }, `${counted(told.more, 'further neighbour')} not drawn; the list below names the facts with those drawn.`) : null,
    h('section', { class: 'block' }, h('h2', {}, counted(told.facts.length, 'fact')), h('ul', { class: 'facts' }, told.facts.map(fact))),
  );
}

async function factless(place, signal) {
  const { results } = await get('passages', { ...place.ids, limit: 1 }, signal);
  return results.length ? h('p', { class: 'lead' }, 'There are passages, but no fact was made of them yet.') : empty();
}

function asking(name, known, hops) {
  const field = h('input', { type: 'search', id: 'entity', value: name, list: 'entities', 'aria-label': 'Entity', autocomplete: 'off' });
  const go = (more) => {
    if (field.value.trim()) location.hash = to('graph', { entity: field.value.trim(), ...more });
  };
  const further = h('input', { type: 'checkbox', id: 'hops', checked: hops === 2, onchange: () => go(further.checked ? { hops: 2 } : {}) });
  return h(
    'form',
    { class: 'ask', onsubmit: (event) => { event.preventDefault(); go(hops === 2 ? { hops } : {}); } },
    h('h1', { class: 'hidden', tabindex: '-1', 'data-focus': true }, `Around ${name}`),
    field,
    h('datalist', { id: 'entities' }, known.map((one) => h('option', { value: one.name }))),
    h('button', { type: 'submit' }, 'Show'),
    h('label', { class: 'check' }, further, 'two steps'),
  );
}

function picture(told) {
  const narrow = innerWidth < PHONE;
  const [width, height] = narrow ? [340, 400] : [860, 520];
  const room = narrow ? 34 : 44;
  const links = told.facts.filter(({ source, target }) => source !== target);
  const spots = radial(told.entity.name, told.entities, links, width, height);
  const heights = [...spots.values()].map(({ y }) => y);
  const [top, bottom] = [Math.min(...heights) - room, Math.max(...heights) + room];
  const lines = joined(links).map((link) => line(link, spots, !narrow && told.entities.length <= 10));
  const ordered = [told.entity, ...told.entities].filter(({ name }) => spots.has(name));
  return s(
    'svg',
    { viewBox: `0 ${top} ${width} ${bottom - top}`, role: 'group', 'aria-label': `The graph around ${told.entity.name}; the same stands below as a list` },
    s('g', { class: 'lines' }, lines),
    s('g', {}, ordered.map((one) => node(one, spots.get(one.name), narrow ? 13 : 22))),
  );
}

/** Put the facts between the same two ends onto one line. */
function joined(links) {
  const lines = new Map();
  for (const link of links) {
    const ends = [link.source, link.target].sort().join('\n');
    const known = lines.get(ends) ?? { ...link, relations: [], open: false };
    known.relations.push(link.relation);
    known.open ||= !link.invalid_at;
    lines.set(ends, known);
  }
  return [...lines.values()];
}

function line(link, spots, labelled) {
  const [a, b] = [spots.get(link.source), spots.get(link.target)];
  if (!a || !b) return null;
  const [x, y] = [a.x + (b.x - a.x) * 0.5, a.y + (b.y - a.y) * 0.5];
  const label = short([...new Set(link.relations)].join(', '), 26);
  return s(
    'g',
    { class: link.open ? 'line' : 'line closed' },
    s('line', { x1: a.x, y1: a.y, x2: b.x, y2: b.y }),
    s('title', {}, `${link.source} ${link.relations.join(', ')} ${link.target}`),
    labelled ? s('text', { x, y: y - 4 }, label) : null,
  );
}

function node(one, spot, letters) {
  const size = spot.ring === 0 ? 11 : Math.min(9, 4.5 + Math.sqrt(one.facts));
  // Names stand away from the middle, where the lines are.
  const y = spot.above ? spot.y - size - 6 : spot.y + size + 14;
  return s(
    'a',
    { href: to('graph', { entity: one.name }), class: `node ring${spot.ring}`, 'aria-label': `${one.name}, ${counted(one.facts, 'fact')}`, 'data-step': true },
    s('title', {}, [one.name, ...one.aliases].join(', ')),
    s('circle', { cx: spot.x, cy: spot.y, r: 22, class: 'touch' }),
    s('circle', { cx: spot.x, cy: spot.y, r: size }),
    s('text', { x: spot.x, y }, short(one.name, letters)),
  );
}

const short = (text, most) => ([...text].length > most ? `${[...text].slice(0, most - 1).join('')}…` : text);
