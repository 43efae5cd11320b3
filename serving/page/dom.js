// Elements from plain values. What somebody wrote goes in as text nodes only; there is no way from here to markup.

const SVG = 'http://www.w3.org/2000/svg';

/** Make an HTML element: `on…` are listeners, `true` is an attribute without a value, null and false are left out. */
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);

/** Make an SVG element. */
export const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Give «1 passage», «2 passages». */
export const counted = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;
