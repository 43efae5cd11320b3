// Dates as people read them, at the precision that is known. Takes ISO texts, gives words.

const FORMS = { 4: { year: 'numeric' }, 7: { year: 'numeric', month: 'short' }, 10: { year: 'numeric', month: 'short', day: 'numeric' } };

/** Give «27 Feb 2024», «Feb 2024» or «2024» for an ISO date at that precision; other texts as they are. */
export function day(iso) {
  const form = FORMS[iso.length];
  const at = new Date(`${iso}${{ 4: '-01-01', 7: '-01' }[iso.length] ?? ''}T00:00:00Z`);
  return form && !Number.isNaN(at.getTime()) ? at.toLocaleDateString('en-GB', { ...form, timeZone: 'UTC' }) : iso;
}

/** Give a moment as day and minute where it was said. */
export function moment(iso) {
  const [date, clock = ''] = (iso ?? '').split('T');
  return date ? `${day(date)}${clock ? `, ${clock.slice(0, 5)}` : ''}` : 'time unknown';
}

/** Give what a time slot means: a day, or a span of days; empty where it could not be resolved. */
export function meant(time) {
  if (!time || (!time.start && !time.end)) return '';
  if (time.start === time.end) return day(time.start);
  return `${time.start ? day(time.start) : '…'} – ${time.end ? day(time.end) : '…'}`;
}

/** Give «since Feb 2024», «Jan 2024 – May 2024» for the validity of a fact. */
export function valid(fact) {
  if (fact.valid_at && fact.invalid_at) return `${day(fact.valid_at)} – ${day(fact.invalid_at)}`;
  if (fact.invalid_at) return `until ${day(fact.invalid_at)}`;
  return fact.valid_at ? `since ${day(fact.valid_at)}` : '';
}
