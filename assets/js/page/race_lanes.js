/* A runner's lanes below the race: drafting above, the target's passes and verdicts below, a flag where it ends. A
   drafter that works beside the target is drawn when it worked, so that both overlap, with a cross where drafts were
   thrown away. */
// needs: dom, numbers, replay
const raceLanes = (function (S) {
  "use strict";

  const { h, svg } = S;
  const FLAG_PX = 78; // room for the finish flag and its time
  const LANES = { height: 44, draft: [6, 12], verify: [22, 16], discarded: [12, 9] }; // from, height; middle, size
  const FLAG = "M0 4v36M0 5h13l-4 5 4 5H0";
  const finishFlag = () =>
    svg("svg", { class: "svr-flag is-small", viewBox: "-2 0 20 44", "aria-hidden": "true" }, svg("path", { d: FLAG }));

  /** One runner's two lanes: drafting above, target pass and verdicts below, and a flag where it ends. */
  function laneRow(runner, race, id) {
    const stripes = svg(
      "pattern",
      { id, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { class: "svr-draft", width: 5, height: 5 }),
      svg("rect", { class: "svr-stripe", width: 2, height: 5 }),
    );
    const draft = svg("path", { fill: `url(#${id})` });
    const target = svg("path", { class: "svr-target" });
    const rest = svg("path", { class: "svr-rest" });
    const crosses = ["svr-thrown is-halo", "svr-thrown"].map((name) => svg("path", { class: name }));
    const veil = svg("rect", { class: "svr-veil", y: 0, height: LANES.height });
    const flag = svg("g", { class: "svr-flag" }, svg("path", { d: FLAG }), svg("text", { x: 17, y: 15 }));
    const now = svg("path", { class: "svr-now", d: `M0 0v${LANES.height}` });
    const picture = svg(
      "svg",
      { class: "svr-lane", height: LANES.height, "aria-hidden": "true" },
      svg("defs", {}, stripes),
      draft,
      target,
      rest,
      crosses,
      veil,
      flag,
      now,
    );
    flag.querySelector("text").textContent = S.seconds(runner.finish_s);
    let scale = 0;
    function measure() {
      const width = picture.getBoundingClientRect().width;
      scale = Math.max(0, width - FLAG_PX) / (race.longest_s || 1);
      S.set(draft, "d", S.lanePath(runner, ["draft"], scale, ...LANES.draft));
      S.set(target, "d", S.lanePath(runner, ["target"], scale, ...LANES.verify));
      S.set(rest, "d", S.lanePath(runner, ["judge", "commit"], scale, ...LANES.verify));
      for (const path of crosses) S.set(path, "d", S.crossPath(runner, scale, ...LANES.discarded));
      S.set(flag, "transform", `translate(${runner.finish_s * scale + 2} 0)`);
    }
    function draw(t) {
      const reached = S.raceFinished(runner, t);
      const x = Math.min(t, race.longest_s) * scale;
      S.set(now, "transform", `translate(${x} 0)`);
      S.set(veil, "x", x + 1);
      S.set(veil, "width", Math.max(0, runner.finish_s * scale - x));
      S.set(flag, "visibility", reached ? "visible" : "hidden"); // a time known beforehand would end the race at once
    }
    return {
      box: h("div", { class: "svr-row" }, h("span", { class: "svr-label" }, runner.label), picture),
      picture,
      throwsAway: S.crossPath(runner, 1, ...LANES.discarded) !== "",
      measure,
      draw,
    };
  }

  return { FLAG_PX, finishFlag, laneRow };
})(SpecViz);
Object.assign(SpecViz, raceLanes);
