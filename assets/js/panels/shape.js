/* The shape of a round's draft as a list of paths of ranks, `0; 1; 0,0`: what the tree policy `paths` takes, to be
   copied, edited and run. `shapeOf` is pure. */
// needs: dom
const shape = (function (S) {
  "use strict";

  const { h } = S;

  /** Pure: level by level, each candidate's places among its siblings from the root on; nodes that only ride along are
      none.
      @param {trace.Round} round */
  function shapeOf(round) {
    const riding = new Set(round.drafted.riding || []);
    const [paths, children] = [[[]], round.nodes.map(() => 0)];
    const drafted = round.nodes.filter((node) => node.parent >= 0 && !riding.has(node.id));
    for (const node of drafted) paths[node.id] = [...paths[node.parent], children[node.parent]++];
    return drafted
      .sort((one, other) => one.depth - other.depth || one.id - other.id)
      .map((node) => paths[node.id].join(","))
      .join("; ");
  }

  /** The folded list below the tree.
      @param {Act} act */
  function shapeFold(act) {
    const list = h("textarea", { readonly: true, rows: 3, "aria-label": "the draft's shape as a list of paths" });
    list.addEventListener("focus", () => list.select());
    const fold = h(
      "details",
      { class: "svp-table svp-shape" },
      h("summary", {}, "as a list"),
      list,
      h(
        "p",
        { class: "svp-quiet" },
        "0,1 is the second child of the first child of the root. Copy it, change it, and run it: it is the option ",
        h("b", {}, "paths"),
        " of the tree policy of that name.",
      ),
    );
    fold.addEventListener("toggle", () => act.draw());
    return {
      fold,
      draw(round) {
        if (!fold.open) return;
        const text = shapeOf(round);
        if (list.value !== text) list.value = text;
      },
    };
  }

  return { shapeOf, shapeFold };
})(SpecViz);
Object.assign(SpecViz, shape);
