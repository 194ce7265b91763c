/* A draft's shape as text, `0; 1; 0,0`: read as `specviz/trace/tree_shape.py` reads it, with the same sentences, and
   changed by a node. Pure. A path is a list of ranks from the root; the root is the empty path. */
// needs: nothing
const paths = (function () {
  "use strict";

  const MOST_CHARACTERS = 40000;
  const FORM = "such as 0; 1; 0,0; 0,1 or [[0], [1], [0, 0], [0, 1]]";
  const BRACKETED = /[[(]([^[\]()]*)[\])]/g;
  /** What a press draws, by the words on the button. */
  const PRESETS = {
    "chain of 4": "0; 0,0; 0,0,0; 0,0,0,0",
    "4 × 2": "0; 1; 2; 3; 0,0; 0,1; 1,0; 1,1; 2,0; 2,1; 3,0; 3,1",
  };

  const keyOf = (path) => path.join(",");
  const first = (text, count) => Array.from(text).slice(0, count).join("");
  const byLevel = (one, other) => one.length - other.length || rising(one, other);
  const rising = (one, other) => {
    const at = one.findIndex((rank, place) => rank !== other[place]);
    return at < 0 ? 0 : one[at] - other[at];
  };

  /** The paths, level by level and by rank: {paths, problem}; `problem` is a sentence, and empty where there is
      none. */
  function readPaths(text) {
    const length = Array.from(text).length;
    if (length > MOST_CHARACTERS)
      return refused(
        `paths has ${length.toLocaleString("en-US")} characters, but at most ` +
          `${MOST_CHARACTERS.toLocaleString("en-US")} are read; list fewer.`,
      );
    const bracketed = /[[\]()]/.test(text);
    if (bracketed) {
      const left = text.replace(BRACKETED, "").replace(/[[\]()\s,]/g, "");
      if (left)
        return refused(`paths has '${first(left, 20)}' outside the lists, which is no path; write them ${FORM}.`);
    }
    const parts = bracketed ? [...text.matchAll(BRACKETED)].map((found) => found[1]) : text.split(/[;\n]/);
    const paths = [];
    for (const part of parts.filter((one) => one.trim())) {
      const ranks = part.trim().replace(/,$/, "").split(",");
      const wrong = ranks.map((rank) => rank.trim()).find((rank) => !/^[0-9]{1,5}$/.test(rank));
      if (wrong !== undefined)
        return refused(
          `paths has '${first(wrong, 20)}' in '${first(part.trim(), 40)}', which is no rank; ranks count from 0, and ` +
            `paths are written ${FORM}.`,
        );
      paths.push(ranks.map(Number));
    }
    return checked(paths);
  }

  const refused = (problem) => ({ paths: [], problem });

  function checked(paths) {
    if (!paths.length) return refused(`paths is empty; list at least one, ${FORM}.`);
    const listed = new Set();
    for (const key of paths.map(keyOf)) {
      if (listed.has(key)) return refused(`paths lists ${key} twice; keep it once.`);
      listed.add(key);
    }
    for (const path of paths) {
      const above = keyOf(path.slice(0, -1));
      if (above && !listed.has(above))
        return refused(
          `paths lists ${keyOf(path)}, but not ${above}, below which it hangs; add that, or leave this one out.`,
        );
    }
    return { paths: paths.sort(byLevel), problem: "" };
  }

  /** The list as text; reads back as the same paths. */
  const pathsText = (paths) => [...paths].sort(byLevel).map(keyOf).join("; ");

  const isBelow = (path, above) => path.length > above.length && above.every((rank, at) => path[at] === rank);
  const childrenOf = (paths, above) => paths.filter((path) => isBelow(path, above) && path.length === above.length + 1);

  /** One more child below a node, after those it has. */
  function withChild(paths, above) {
    const ranks = childrenOf(paths, above).map((path) => path.at(-1));
    return [...paths, [...above, Math.max(-1, ...ranks) + 1]].sort(byLevel);
  }

  /** Without a leaf: later siblings move up, with all below them, so that no rank is left out; where some were left
      out before, the others keep theirs. Null where the node has children, or is the last one of the shape. */
  function withoutLeaf(paths, leaf) {
    if (!leaf.length || paths.length === 1 || childrenOf(paths, leaf).length) return null;
    const [above, depth, gone] = [leaf.slice(0, -1), leaf.length - 1, leaf.at(-1)];
    const family = childrenOf(paths, above);
    const whole = family.every((path, at) => path.at(-1) === at);
    return paths
      .filter((path) => keyOf(path) !== keyOf(leaf))
      .map((path) => {
        const moves = whole && isBelow(path, above) && path[depth] > gone;
        return moves ? path.map((rank, at) => (at === depth ? rank - 1 : rank)) : path;
      })
      .sort(byLevel);
  }

  /** Where the nodes stand, the root first: [{path, key, above, depth, row}], and how many rows there are. A parent
      stands between its first and its last child. */
  function placed(paths) {
    const spots = [];
    let rows = 0;
    const place = (path) => {
      const spot = { path, key: keyOf(path), above: keyOf(path.slice(0, -1)), depth: path.length, row: 0 };
      spots.push(spot);
      const below = childrenOf(paths, path).map(place);
      spot.row = below.length ? (below[0].row + below.at(-1).row) / 2 : rows++;
      return spot;
    };
    place([]);
    return { spots, rows };
  }

  return { PRESETS, readPaths, pathsText, withChild, withoutLeaf, placed };
})();
Object.assign(SpecViz, paths);
