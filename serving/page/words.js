// Which words of a text answer to a question, and where the slots of its event stand in it. Takes texts, gives spans.

const STOP = new Set(
  `a about all am an and any are as at be been but by can could did do does for from had has have he her him his how i if in
  into is it its me my no not of on or our out she should so some than that the their them then there these they this to
  up was we were what when where which who whom whose why will with would you your`.split(/\s+/),
);
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/** Give the words of a text with their places. */
export function words(text) {
  const found = [];
  for (const { segment, index, isWordLike } of segmenter.segment(text)) {
    if (isWordLike) found.push({ start: index, end: index + segment.length, root: root(segment) });
  }
  return found;
}

/** Give the spans of a text whose words share a root with the question's. */
export function matches(text, question) {
  const asked = new Set(words(question).map((word) => word.root).filter((word) => !STOP.has(word)));
  return words(text).filter((word) => asked.has(word.root)).map(({ start, end }) => ({ start, end, kind: 'asked' }));
}

/** Give the spans where the values of slots stand in a text, as `{slot: [values]}` tells them. */
export function places(text, slots) {
  const folded = text.toLowerCase();
  const found = [];
  // Where a letter changes its length in lower case, places would be off: nothing is lit rather than the wrong words.
  if (folded.length !== text.length) return found;
  for (const [slot, values] of Object.entries(slots)) {
    for (const value of values) {
      const wanted = value.toLowerCase().trim();
      for (let at = wanted ? folded.indexOf(wanted) : -1; at >= 0; at = folded.indexOf(wanted, at + wanted.length)) {
        if (whole(folded, at, at + wanted.length)) found.push({ start: at, end: at + wanted.length, kind: slot });
      }
    }
  }
  return found;
}

/** Cut a text where spans begin and end: pieces with the kinds that cover them. */
export function pieces(text, spans) {
  const cuts = [...new Set([0, text.length, ...spans.flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b);
  const out = [];
  for (let n = 0; n + 1 < cuts.length; n++) {
    const [start, end] = [cuts[n], cuts[n + 1]];
    const kinds = [...new Set(spans.filter((span) => span.start <= start && span.end >= end).map((span) => span.kind))];
    out.push({ text: text.slice(start, end), kinds });
  }
  return out;
}

/** Give the values of an event's slots as they were copied from the words. */
export function copied(event) {
  return {
    participants: event.participants,
    action: [event.action],
    time: event.time ? [event.time.text] : [],
    location: event.location ? [event.location] : [],
    causality: event.causality ? [event.causality] : [],
    manner: event.manner ? [event.manner] : [],
  };
}

/** Tell whether a span begins and ends between words; scripts without blanks have no such border. */
const whole = (text, start, end) => !joined(text[start - 1], text[start]) && !joined(text[end - 1], text[end]);
const joined = (a, b) => spaced(a) && spaced(b);
const spaced = (letter = '') => /[\p{L}\p{N}]/u.test(letter) && !UNSPACED.test(letter);

/** Give a word without case, accents and its commonest English endings. */
function root(word) {
  const plain = word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().replace(/['’]s?$/, '');
  if (plain.length < 4 || !/^[a-z]+$/.test(plain)) return plain;
  const cut = plain.replace(/(?:ies|ied)$/, 'y').replace(/(?:ing|ed|es|s|ly)$/, '');
  const stem = cut.length < 3 ? plain : cut;
  return stem.replace(/([^aeiouls])\1$/, '$1').replace(/e$/, '');
}
