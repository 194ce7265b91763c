/* One slider, two clocks: what a pass over 1 to 61 rows takes on a small and on a large machine, side by side. The
   times come from specviz/theory/two_clocks.py (`SpecViz.CLOCKS`), which says of each whether it is measured or
   modelled. A whole circle is as many passes of one row each, the filled part one pass over all of them. */
// needs: dom, numbers, wording
const clocks = (function (S) {
  "use strict";

  const { h, svg } = S;
  const [MIDDLE, RADIUS] = [50, 44];
  const FULL = 0.99999; // an arc all around would end where it begins, and be none

  /** Pure: what a machine's clock shows at so many rows: seconds, times as long as one row, and the share of what as
      many passes of one row take. */
  function clockAt(clock, rows) {
    const seconds = clock.seconds[rows - 1];
    const ratio = seconds / clock.seconds[0];
    return { seconds, ratio, share: ratio / rows };
  }

  /** Pure: the point on the circle at a share of it, from 12 o'clock. */
  const pointAt = (share) => [
    MIDDLE + RADIUS * Math.sin(2 * Math.PI * share),
    MIDDLE - RADIUS * Math.cos(2 * Math.PI * share),
  ];

  /** Pure: the part of the circle up to a share of it, as a path. */
  function sector(share) {
    const kept = Math.min(share, FULL);
    const [x, y] = pointAt(kept).map((value) => value.toFixed(2));
    return `M${MIDDLE},${MIDDLE}V${MIDDLE - RADIUS}A${RADIUS},${RADIUS} 0 ${kept > 0.5 ? 1 : 0} 1 ${x},${y}Z`;
  }

  /** Pure: both in one sentence. */
  function clockWords(all, rows, plain) {
    const said = all.map((clock) => {
      const { ratio } = clockAt(clock, rows);
      return `${S.ratio(ratio)} times as long as ${plain ? "one" : "one row"} (${clock.times_are})`;
    });
    const many = plain ? `Checking ${S.count(rows, "place")} at once` : `A pass over ${S.count(rows, "row")}`;
    return `${many} takes ${said.join(" on the small machine, ")}${all.length > 1 ? " on the large one" : ""}.`;
  }

  /** A machine's clock and what stands below it. */
  function face(clock) {
    const part = svg("path", { class: "svc-part" });
    const hand = svg("line", { class: "svc-hand", x1: MIDDLE, y1: MIDDLE });
    const picture = svg(
      "svg",
      { viewBox: "0 0 100 100", "aria-hidden": "true" },
      svg("circle", { class: "svc-face", cx: MIDDLE, cy: MIDDLE, r: RADIUS }),
      part,
      hand,
    );
    const time = h("span", { class: "svc-time" });
    const ratio = h("span", {});
    const box = h(
      "figure",
      { class: "svc-clock" },
      picture,
      time,
      ratio,
      h(
        "figcaption",
        { class: "svc-how", title: clock.source },
        clock.machine,
        h("br"),
        clock.model,
        h("br"),
        h("b", {}, clock.times_are),
      ),
    );
    function draw(rows) {
      const at = clockAt(clock, rows);
      const [x, y] = pointAt(at.share);
      S.set(part, "d", sector(at.share));
      S.set(hand, "x2", x.toFixed(2));
      S.set(hand, "y2", y.toFixed(2));
      S.setText(time, S.seconds(at.seconds));
      S.setText(ratio, `${S.ratio(at.ratio)} × ${S.word("one row")}`);
    }
    return { box, draw };
  }

  function clocksPanel(all = S.CLOCKS || []) {
    const most = Math.max(1, ...all.map((clock) => clock.seconds.length));
    const faces = all.map(face);
    const value = h("output", {}, "1");
    const words = h("p", { class: "svt-words", role: "status" });
    const range = h("input", {
      type: "range",
      min: 1,
      max: most,
      value: 1,
      ...S.worded("rows in one pass", "aria-label"),
      oninput: () => draw(),
    });
    const box = h(
      "section",
      { class: "svt svc", "aria-label": "one slider, two clocks" },
      h("p", {
        class: "svt-tag",
        ...S.worded("The whole circle: as many passes of one row each. Filled: one pass over all rows."),
      }),
      h("label", { class: "svc-slide" }, h("span", S.worded("rows")), range, value),
      h(
        "div",
        { class: "svc-clocks" },
        faces.map((one) => one.box),
      ),
      words,
    );

    function draw() {
      const rows = Number(range.value);
      S.setText(value, String(rows));
      S.set(range, "aria-valuetext", S.count(rows, "row"));
      for (const one of faces) one.draw(rows);
      S.setText(words, clockWords(all, rows, S.isPlain()));
    }

    draw();
    S.followWording(() => box.isConnected && draw());
    return { box };
  }

  return { clockAt, clockSector: sector, clockWords, clocksPanel };
})(SpecViz);
Object.assign(SpecViz, clocks);
