// Places on two ellipses around a middle, for a graph that is looked at from one of its entities. Takes names and facts.

/** Give `{x, y, ring, above}` by name: neighbours on the inner ring, theirs outside, each beside the one it hangs on. */
export function radial(centre, nodes, links, width, height) {
  const spots = new Map([[centre, { x: width / 2, y: height / 2, ring: 0 }]]);
  const near = nodes.filter(({ distance }) => distance === 1).map(({ name }) => name);
  const far = nodes.filter(({ distance }) => distance === 2).map(({ name }) => name);
  const turn = (2 * Math.PI) / Math.max(1, near.length);
  const angles = new Map(near.map((name, n) => [name, -Math.PI / 2 + n * turn + (near.length === 2 ? Math.PI / 2 : 0)]));
  const inner = far.length ? 0.27 : 0.36;
  for (const [name, angle] of angles) spots.set(name, at(angle, inner, 1));
  const children = new Map(near.map((name) => [name, []]));
  for (const name of far) children.get(parent(name) ?? near[0])?.push(name);
  for (const [name, hung] of children) {
    hung.forEach((child, n) => {
      const angle = angles.get(name) + (n - (hung.length - 1) / 2) * (Math.min(turn, Math.PI / 2) / hung.length);
      // In turn nearer and farther, so that their names stand beside one another.
      spots.set(child, at(angle, n % 2 ? 0.4 : 0.47, 2));
    });
  }
  return spots;

  function at(angle, share, ring) {
    return { x: width / 2 + Math.cos(angle) * width * share, y: height / 2 + Math.sin(angle) * height * share, ring, above: Math.sin(angle) < -0.2 };
  }

  function parent(name) {
    const link = links.find(({ source, target }) => (source === name && angles.has(target)) || (target === name && angles.has(source)));
    return link && (link.source === name ? link.target : link.source);
  }
}
