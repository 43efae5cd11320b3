// Ask a memory: the passages that ground an answer, with the words that led to them lit up, and why each was found.

import { Pages, post } from './api.js';
import { counted, h } from './dom.js';
import { empty, fact, named, nothing, SLOTS, source } from './parts.js';
import { item, to } from './place.js';
import { copied, matches, places } from './words.js';

const WAYS = {
  dense: 'meaning',
  bm25: 'words',
  told: 'meaning of the event',
  told_bm25: 'words of the event',
  facts: 'facts',
  parsed: 'parsed question',
  walk: 'walk through the graph',
};

export async function search(place, signal) {
  const question = place.asked.get('q') ?? '';
  const answering = place.asked.has('answer');
  const form = asking(question);
  if (!question) return h('section', { class: 'narrow' }, form, await hint(place, signal));
  const body = { ...place.ids, ...(answering ? { question } : { query: question, explain: true }) };
  const found = await post(answering ? 'answer' : 'search', body, signal);
  const shown = answering ? [answered(found), results(found, question)] : results(found, question);
  return h('section', { class: 'narrow' }, form, shown);
}

function asking(question) {
  const field = h('input', {
    type: 'search', id: 'question', name: 'q', value: question, placeholder: 'Ask this memory …', autocomplete: 'off',
    'aria-label': 'Question', 'data-focus': !question, maxlength: '8000', enterkeyhint: 'search',
  });
  const go = (more) => {
    const asked = field.value.trim();
    if (asked) location.hash = to('search', { q: asked, ...more });
    else field.focus();
  };
  return h(
    'form',
    { class: 'ask', role: 'search', onsubmit: (event) => { event.preventDefault(); go({}); } },
    h('h1', { class: 'hidden' }, 'Search'),
    field,
    h('button', { type: 'submit' }, 'Search'),
    h('button', { type: 'button', class: 'second', id: 'answer', onclick: () => go({ answer: '1' }) }, 'Answer'),
  );
}

async function hint(place, signal) {
  const first = await new Pages('passages', place.ids).more(signal);
  if (!first.length) return empty();
  return h(
    'p',
    { class: 'quiet lead' },
    'Search finds the original words and lights up what led to them. Answer has a model read them. ',
    'Press ', h('kbd', {}, '/'), ' to ask, ', h('kbd', {}, 'j'), ' and ', h('kbd', {}, 'k'), ' to step through what is found, ',
    h('kbd', {}, 'Enter'), ' to open it.',
  );
}

function answered(found) {
  return h(
    'section',
    { class: 'answer', 'aria-label': 'Answer' },
    h('p', { class: 'words', dir: 'auto' }, found.answer),
    h('p', { class: 'quiet' }, `read by ${found.model} from the passages below`),
  );
}

function results(found, question) {
  if (!found.results.length) return nothing('Nothing was found.', 'Other words may help: names, places, days.');
  const frames = new Map(found.frames.flatMap((frame) => frame.passages.map((id) => [id, frame])));
  const facts = (id) => found.facts.filter((told) => told.passages.includes(id));
  const shown = found.results.map((passage, n) => result(passage, n + 1, question, frames.get(passage.id), facts(passage.id)));
  return [
    h(
      'div',
      { class: 'summing' },
      h('h2', { tabindex: '-1', 'data-focus': true }, counted(found.results.length, 'passage')),
      h('p', { class: 'legend' }, h('mark', {}, 'word of the question'), h('span', { class: 'slot' }, 'copied into a slot')),
    ),
    shown,
  ];
}

function result(passage, number, question, frame, facts) {
  const slots = frame ? frame.events.flatMap((event) => places(passage.memory, copied(event))) : [];
  const asked = matches(passage.memory, question);
  return source(passage, {
    number,
    // A whole sentence as «what» would underline everything: the narrower slots say more.
    spans: [...asked, ...slots.filter((span) => span.kind !== 'action' || span.end - span.start < passage.memory.length * 0.8)],
    foot: h(
      'footer',
      {},
      why(passage, asked),
      frame ? h('p', { class: 'episode', title: frame.summary }, h('span', { class: 'tag' }, 'Episode'), h('a', { href: item(frame.id), dir: 'auto' }, frame.summary || SLOTS.map(named).join(', '))) : null,
      facts.length ? h('ul', { class: 'facts' }, facts.map(fact)) : null,
    ),
  });
}

function why(passage, asked) {
  const ranks = Object.entries(passage.score_details ?? {}).sort((a, b) => a[1] - b[1]);
  const said = [...new Set(asked.map(({ start, end }) => passage.memory.slice(start, end)))];
  const told = ranks.map(([list, rank]) => h('span', { class: 'chip', title: `place ${rank} in this list` }, `${WAYS[list] ?? list} ${rank}`));
  if (!told.length && !said.length) return null;
  return h(
    'details',
    { class: 'why' },
    h('summary', {}, 'Why found'),
    said.length ? h('p', {}, 'Words of the question: ', said.map((word) => [h('mark', { dir: 'auto' }, word), ' '])) : h('p', {}, 'No word of the question stands here: it was found by meaning, or through the graph.'),
    told.length ? h('p', {}, 'Place in each list: ', told) : null,
  );
}
