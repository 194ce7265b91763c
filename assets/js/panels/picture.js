/* The picture that a target saw: drawn from the run's header; which tokens it decides, and how drafts fare there.
   Sizes, colours and shapes of other words than those known here are not drawn; nothing of a trace becomes a name. */
// needs: dom
const picture = (function (S) {
  "use strict";

  const { h, svg } = S;
  const SIDE = 32;
  const RADII = { small: 3, large: 6 };
  const COLOURS = ["red", "green", "blue", "yellow", "white", "purple"];
  const DECIDED = "decided by the picture";

  /** Pure: a shape as a path over whole pixels; a pixel x covers x to x + 1. */
  function shapePath({ size, shape, x, y }) {
    const radius = RADII[size];
    const [left, right, top, bottom] = [x - radius, x + radius + 1, y - radius, y + radius + 1];
    if (!radius) return null;
    if (shape === "square") return `M${left},${top}H${right}V${bottom}H${left}Z`;
    if (shape === "triangle") return `M${x + 0.5},${top}L${right},${bottom}H${left}Z`;
    if (shape === "circle") {
      const wide = radius + 0.5;
      return `M${left},${y + 0.5}a${wide},${wide} 0 1,0 ${2 * wide},0a${wide},${wide} 0 1,0 ${-2 * wide},0`;
    }
    if (shape !== "cross") return null;
    const arm = Math.floor(radius / 3);
    const [west, east, north, south] = [x - arm, x + arm + 1, y - arm, y + arm + 1];
    const upper = `M${west},${top}H${east}V${north}H${right}V${south}`;
    return `${upper}H${east}V${bottom}H${west}V${south}H${left}V${north}H${west}Z`;
  }

  const inWords = (shapes) => shapes.map((one) => `${one.size} ${one.colour} ${one.shape}`).join(", ");

  /** The picture of these shapes. */
  function scenePicture(shapes) {
    const drawn = shapes
      .filter((one) => COLOURS.includes(one.colour) && shapePath(one))
      .map((one) => svg("path", { class: `svp-shape is-${one.colour}`, d: shapePath(one) }));
    return svg(
      "svg",
      {
        class: "svp-picture",
        viewBox: `0 0 ${SIDE} ${SIDE}`,
        role: "img",
        "aria-label": `picture: ${inWords(shapes)}`,
      },
      svg("rect", { class: "svp-picture-ground", width: SIDE, height: SIDE }),
      drawn,
    );
  }

  const decided = new WeakMap(); // header → its set of tokens
  /** Pure: whether the picture decides a token of this run.
      @param {trace.Trace} trace */
  function isGrounded(trace, token) {
    const { scene } = trace.started;
    if (!scene) return false;
    if (!decided.has(scene)) decided.set(scene, new Set(scene.grounded));
    return decided.get(scene).has(token);
  }

  /** Pure: how drafts fared up to a round, by whether the picture decides the token that came out; as
      `studies/captions/measure.py`. Counted are the places where a candidate was judged: accepted, or put right.
      @param {trace.Trace} trace */
  function groundedSplit(trace, rounds = trace.rounds.length) {
    const split = { grammar: { accepted: 0, judged: 0 }, grounded: { accepted: 0, judged: 0 } };
    for (const round of trace.rounds.slice(0, rounds))
      for (const { token, origin } of round.committed.tokens) {
        if (origin !== "draft" && origin !== "correction") continue;
        const kind = split[isGrounded(trace, token) ? "grounded" : "grammar"];
        kind.judged += 1;
        kind.accepted += Number(origin === "draft");
      }
    return split;
  }

  /** Pure: the split as a sentence. */
  function splitWords({ grammar, grounded }) {
    const of = (kind) => `${kind.accepted} of ${kind.judged}`;
    if (!grammar.judged && !grounded.judged) return "No draft was judged yet.";
    return `Drafts so far: ${of(grammar)} grammar tokens accepted, ${of(grounded)} that the picture decides.`;
  }

  /** The picture beside the text, and below it how drafts fared; nothing for a run without one. */
  function picturePanel(box) {
    const frame = box.insertBefore(h("div", { class: "svp-picture-frame", hidden: true }), box.firstChild);
    const line = box.appendChild(h("p", { class: "svp-small svp-split", hidden: true }));
    let shown = null;
    return function draw(now) {
      const scene = now.trace.started.scene || null;
      frame.hidden = line.hidden = !scene;
      box.classList.toggle("has-picture", !!scene);
      if (!scene) return;
      if (shown !== scene) frame.replaceChildren(scenePicture(scene.shapes));
      shown = scene;
      S.setText(line, splitWords(groundedSplit(now.trace, now.cursor.round + (now.at.committed ? 1 : 0))));
    };
  }

  /** A picture alone; the value is JSON text, a list of shapes. */
  function mountScene(element, props, watch) {
    const root = element.querySelector(".sv-scene");
    const draw = () => root.replaceChildren(...(props.value ? [scenePicture(JSON.parse(props.value))] : []));
    if (watch) watch("value", draw);
    draw();
  }

  return { DECIDED, shapePath, isGrounded, groundedSplit, splitWords, picturePanel, mountScene };
})(SpecViz);
Object.assign(SpecViz, picture);
