// Where the reader is: the view, the item and whose memory, all in the part of the address that never leaves the browser.

export const IDS = ['user_id', 'agent_id', 'run_id'];

/** Read the address: `#/frame/f_1?user_id=ana`. */
export function here() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [view, item] = path.split('/').map(decodeURIComponent);
  const asked = new URLSearchParams(query);
  const ids = Object.fromEntries(IDS.filter((id) => asked.get(id)).map((id) => [id, asked.get(id)]));
  return { view, item: item ?? '', ids, asked };
}

/** Give the address of a view of the same memory, or of another one's. */
export function to(view, { item = '', ids = here().ids, ...asked } = {}) {
  const query = new URLSearchParams({ ...ids, ...asked }).toString();
  return `#/${view}${item ? `/${encodeURIComponent(item)}` : ''}${query ? `?${query}` : ''}`;
}

/** Name whose memory it is. */
export const whose = (ids) => IDS.filter((id) => ids[id]).map((id) => `${id.replace('_id', '')} ${ids[id]}`).join(' · ');

/** Give the address of a passage, frame or fact by its id. */
export const item = (id) => to({ f: 'frame', k: 'fact' }[id[0]] ?? 'passage', { item: id });
