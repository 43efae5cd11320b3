// Episodes by time: when they happened where that is known, else when they were told.

import { get, Pages } from './api.js';
import { counted, h } from './dom.js';
import { empty, heading } from './parts.js';
import { item } from './place.js';
import { day, meant, moment } from './times.js';

const MONTHS = { 4: {}, 7: { month: 'long' } };
// Passages are told in order of arrival, frames in order of birth: both lists go along together, but for corrections.
const PAGES_AT_ONCE = 5;

export async function timeline(place, signal) {
  const frames = new Pages('frames', place.ids);
  const passages = new Pages('passages', place.ids);
  const said = new Map();
  const list = h('div', { class: 'timeline' });
  const more = h('button', { type: 'button', class: 'second', id: 'more' }, 'Later episodes');
  const count = h('p', { class: 'quiet' });

  async function load(stop) {
    await frames.more(stop);
    const missing = () => frames.items.some((frame) => frame.passages.some((id) => !said.has(id)));
    for (let n = 0; n < PAGES_AT_ONCE && missing() && !passages.ended; n++) {
      for (const passage of await passages.more(stop)) said.set(passage.id, passage);
    }
    list.replaceChildren(...months(frames.items, said));
    count.textContent = `${counted(frames.items.length, 'episode')}${frames.ended ? '' : ' so far'}`;
    more.hidden = frames.ended;
  }

  more.addEventListener('click', async () => {
    more.disabled = true;
    try {
      await load(signal);
    } catch (error) {
      if (error.name !== 'AbortError') count.textContent = error.message;
    }
    more.disabled = false;
  });
  await load(signal);
  if (!frames.items.length) return h('section', { class: 'narrow' }, heading('Timeline'), await unread(place, signal));
  return h('section', { class: 'narrow' }, heading('Timeline', count), list, more);
}

async function unread(place, signal) {
  const { results } = await get('passages', { ...place.ids, limit: 1 }, signal);
  return results.length ? h('p', { class: 'lead' }, 'There are passages, but no episode was made of them yet.') : empty();
}

function months(frames, said) {
  const dated = frames.map((frame) => dating(frame, said)).sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  const groups = new Map();
  for (const entry of dated) {
    const month = entry.at.slice(0, 7);
    groups.set(month, [...(groups.get(month) ?? []), entry]);
  }
  return [...groups].map(([month, entries]) => h('section', {}, h('h2', {}, title(month)), h('ol', {}, entries.map(episode))));
}

/** Find when a frame happened: its first dated event, else when its first passage was said; «~» sorts last. */
function dating(frame, said) {
  const event = frame.events.find(({ time }) => time?.start);
  const told = frame.passages.map((id) => said.get(id)?.time).find(Boolean);
  return { frame, event, told, at: event?.time.start ?? told?.slice(0, 10) ?? '~' };
}

function title(month) {
  if (month === '~') return 'No date';
  const form = MONTHS[month.length];
  if (!form?.month) return month;
  const name = new Date(`${month}-01T00:00:00Z`).toLocaleDateString('en-GB', { month: 'long', timeZone: 'UTC' });
  return `${name} ${month.slice(0, 4)}`;
}

function episode({ frame, event, told }) {
  const who = [...new Set(frame.events.flatMap(({ participants }) => participants))].slice(0, 4).join(', ');
  const where = frame.events.map(({ location }) => location).find(Boolean);
  const beside = [
    who && h('span', { dir: 'auto' }, who),
    where && h('span', { dir: 'auto' }, where),
    frame.passages.length > 1 && h('span', {}, counted(frame.passages.length, 'passage')),
    event && told && h('span', {}, `told ${moment(told).split(',')[0]}`),
  ];
  return h(
    'li',
    { 'data-step': true, tabindex: '-1' },
    h('time', { title: event ? 'when it happened' : 'when it was told' }, event ? meant(event.time) : told ? day(told.slice(0, 10)) : '–'),
    h('div', {}, h('a', { class: 'open-wide', href: item(frame.id), dir: 'auto' }, frame.summary || 'An episode'), h('p', { class: 'beside' }, beside)),
  );
}
