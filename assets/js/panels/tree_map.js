/* The whole draft tree of a round as a strip below its folded picture, depth downwards: which of its nodes are shown,
   what became of each, where the selection stands. A press goes to the nearest node. `mapSpots` is pure. */
// needs: dom, layout, numbers, state
const treeMap = (function (S) {
  "use strict";

  const { h, svg } = S;
  const HIGH = 64; // pixels
  const STATES = ["drafted", "behind", "unreached", "rejected", "accepted", "root"]; // later ones lie over earlier ones

  /** Pure: where every node of a round stands in a strip of `width` × `high` pixels: leaves side by side, a parent over
      the middle of its children.
      @param {trace.Round} round */
  function mapSpots(round, width, high) {
    const { spots } = S.overview(round, { room: high, high: width, withEnd: false });
    return spots.map((spot) => ({ id: spot.id, parent: spot.parent, x: spot.y, y: spot.x }));
  }

  /** Whether some round of a run is too large to be shown whole.
      @param {trace.Trace} trace */
  const isLarge = (trace) => trace.rounds.some((round) => round.nodes.length - 1 > S.UNFOLDED);

  /** @param {Act} act */
  function treeMap(act) {
    const element = h("div", {
      class: "svp-treemap",
      hidden: true,
      title: "the whole tree: press a place to go there",
    });
    let drawn = null; // {round, width, spots, paths: state → path, lines, ring, drawing}

    function build(round, width) {
      const spots = mapSpots(round, width, HIGH);
      const paths = new Map(
        STATES.flatMap((state) => [state, `${state}-shown`]).map((name) => [name, svg("path", { class: "svp-dot" })]),
      );
      const lines = svg("path", { class: "svp-maplines" });
      const taken = svg("path", { class: "svp-maplines is-accepted" });
      const ring = svg("circle", { class: "svp-mapring", r: 5 });
      const drawing = svg(
        "svg",
        { width, height: HIGH, viewBox: `0 0 ${width} ${HIGH}`, role: "img" },
        lines,
        taken,
        [...paths.values()],
        ring,
      );
      element.replaceChildren(drawing);
      return { round, width, spots, paths, lines, taken, ring, drawing };
    }

    element.addEventListener("click", (event) => {
      if (!drawn) return;
      const area = drawn.drawing.getBoundingClientRect();
      const [x, y] = [event.clientX - area.left, event.clientY - area.top];
      const seen = drawn.spots.filter((spot) => act.now().stateOf(spot.id) !== "hidden");
      const far = (spot) => (spot.x - x) ** 2 + 4 * (spot.y - y) ** 2;
      act.select(seen.reduce((best, spot) => (far(spot) < far(best) ? spot : best)).id);
    });

    return {
      element,
      /** `shown`: the spots of the picture above. */
      draw(now, shown) {
        element.hidden = now.view === "present" || !isLarge(now.trace);
        if (element.hidden || !element.clientWidth) return;
        const width = element.clientWidth;
        if (!drawn || drawn.round !== now.round || drawn.width !== width) drawn = build(now.round, width);
        const inPicture = new Set(shown.map((spot) => spot.id));
        const data = new Map([...drawn.paths.keys()].map((name) => [name, ""]));
        const known = drawn.spots.filter((spot) => now.stateOf(spot.id) !== "hidden");
        let [lines, taken] = ["", ""];
        for (const spot of known) {
          const state = now.stateOf(spot.id);
          const name = `${state}${inPicture.has(spot.id) ? "-shown" : ""}`;
          const half = state === "accepted" || state === "root" ? 2.5 : 1.5;
          data.set(name, `${data.get(name)}M${spot.x - half},${spot.y - half}h${2 * half}v${2 * half}h${-2 * half}z`);
          const parent = drawn.spots[spot.parent];
          const line = parent ? `M${parent.x},${parent.y}L${spot.x},${spot.y}` : "";
          if (state === "accepted") taken += line;
          else lines += line;
        }
        for (const [name, path] of drawn.paths) {
          const [state, part] = name.split("-");
          S.set(path, "d", data.get(name));
          S.set(path, "class", `svp-dot is-${state}${part ? " is-shown" : ""}`);
        }
        S.set(drawn.lines, "d", lines);
        S.set(drawn.taken, "d", taken);
        const at = drawn.spots[now.selected === S.END ? now.round.judged.final_node : now.selected];
        S.set(drawn.ring, "cx", at.x);
        S.set(drawn.ring, "cy", at.y);
        const candidates = S.count(known.length - 1, "candidate");
        const above = inPicture.has(S.END) ? inPicture.size - 2 : inPicture.size - 1;
        S.set(drawn.drawing, "aria-label", `map of the whole tree: ${candidates}, ${above} of them shown above`);
      },
    };
  }

  return { mapSpots, treeMap };
})(SpecViz);
Object.assign(SpecViz, treeMap);
