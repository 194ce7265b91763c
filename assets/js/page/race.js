/* The race: texts that grow side by side from recorded time stamps, with lanes of draft and verify work below.
   `SpecViz.mountRace(element, props, watch)`; `props.value` is a race as JSON text (specviz/app/race/view.py). What is
   replayed is engine time; the pace of the animation is said beside it. Nothing here asks a server. */
// needs: dom, keys, numbers, race_lanes, replay
const race = (function (S) {
  "use strict";

  const { h } = S;
  const LEAP = 0.1;
  const LONGEST_FRAME_S = 0.1;
  const ORIGINS = { accepted: "accepted", correction: "correction", bonus: "bonus", target: "the target's own" };
  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  let stages = 0;

  /** One runner: its name, what it is doing, its text so far. */
  function runnerCard(race, runner) {
    const state = h("p", { class: "svp-small svr-state" });
    const tokens = runner.arrivals.map(([, text, origin], place) =>
      h(
        "span",
        {
          class:
            `svp-tok ` +
            `is-${origin === "draft" ? "accepted" : origin}${place === runner.differs_at ? " is-different" : ""}`,
          hidden: true,
        },
        S.tokenText(text, { spaces: false }),
      ),
    );
    const page = h(
      "div",
      { class: "svp-page svr-page", tabindex: "0", role: "region", "aria-label": `text of ${runner.label}` },
      tokens,
    );
    const head = h(
      "h3",
      { class: "svr-name", title: runner.methods },
      runner.label,
      runner.lossless ? null : h("b", { class: "svp-lossy" }, "✕ lossy"),
    );
    let shown = 0;
    function draw(t) {
      const count = S.written(runner, t);
      for (let place = Math.min(shown, count); place < Math.max(shown, count); place++)
        tokens[place].hidden = place >= count;
      const doing = S.doing(runner, t);
      S.setText(
        state,
        doing && !S.raceFinished(runner, t)
          ? `${S.count(count, "token")} · ${doing}`
          : `${S.count(count, "token")} · finished ${S.ordinal(S.placeOf(race, runner))} at ` +
              `${S.seconds(runner.finish_s)}`,
      );
      const moved = shown !== count;
      shown = count;
      return moved
        ? () => {
            page.scrollTop = page.scrollHeight;
          }
        : null;
    }
    return { box: h("article", { class: "svr-runner" }, head, state, page), draw };
  }

  /** Everything that was measured, as a table: also what the lanes show, for those who do not see them. */
  function resultTable(race) {
    const names = ["runner", "ratio", "tokens per target pass", "target passes", "engine time", "output"];
    const cell = (place, text, attributes = {}) => h("td", { ...attributes, "data-column": names[place] }, text);
    const rows = race.runners.map((runner) =>
      h(
        "tr",
        { class: runner.ratio !== null && runner.ratio < 1 ? "is-slower" : null },
        h("th", { scope: "row" }, runner.label),
        cell(1, runner.verdict, { class: "svr-ratio", title: runner.formula || null }),
        cell(2, S.ratio(runner.tokens_per_pass), { title: `${runner.tokens} tokens / ${runner.passes} target passes` }),
        cell(3, runner.passes.toLocaleString("en")),
        cell(4, S.seconds(runner.finish_s), {
          title: `reading the prompt took ${S.seconds(runner.prefill_s)} before that`,
        }),
        cell(
          5,
          runner.output === ""
            ? "what the others are held against"
            : runner.differs_at === null
              ? runner.output
              : `differs from token ${runner.differs_at + 1} on`,
        ),
      ),
    );
    return h("div", { class: "svr-table" }, h("table", {}, S.columnHeads(names), h("tbody", {}, rows)));
  }

  const end = (own) => own.race.longest_s;

  function draw(own) {
    const there = own.race !== null;
    own.empty.hidden = there;
    own.stage.hidden = !there;
    if (there) {
      const scrolls = own.parts.map((part) => part.draw(own.t));
      for (const scroll of scrolls) if (scroll) scroll();
      S.setText(own.play, own.playing ? "pause" : "play");
      own.paces.forEach((button, place) => S.set(button, "aria-pressed", S.PACES[place] === own.pace));
      const how = own.pace.rate === 1 ? "shown in real time" : `shown at ${own.pace.name} of real time`;
      S.setText(own.clock, `engine time ${own.t.toFixed(3)} s of ${end(own).toFixed(3)} s, ${how}`);
      S.set(own.lanes, "aria-valuemax", end(own).toFixed(3));
      S.set(own.lanes, "aria-valuenow", own.t.toFixed(3));
      S.set(own.lanes, "aria-valuetext", `${S.seconds(own.t)} of ${S.seconds(end(own))}`);
      S.setText(own.say, S.standing(own.race, own.t));
      own.result.hidden = own.t < end(own);
    }
    own.root.dataset.ready = "1";
  }

  function go(own, t) {
    own.t = Math.max(0, Math.min(t, end(own)));
    draw(own);
  }

  function frame(own, stamp) {
    if (!own.playing) return;
    if (!own.root.isConnected || !own.root.getClientRects().length) return pause(own);
    const passed = Math.min((stamp - (own.last || stamp)) / 1000, LONGEST_FRAME_S);
    own.last = stamp;
    if (own.t + passed * own.pace.rate >= end(own)) pause(own);
    else own.playing = requestAnimationFrame((stamp) => frame(own, stamp));
    go(own, own.playing ? own.t + passed * own.pace.rate : end(own));
  }

  function pause(own) {
    cancelAnimationFrame(own.playing);
    own.playing = 0;
  }

  function start(own) {
    if (own.t >= end(own)) own.t = 0;
    own.last = 0;
    own.playing = requestAnimationFrame((stamp) => frame(own, stamp));
  }

  function run(own, name) {
    if (!own.race) return;
    if (name === "play") {
      if (own.playing) pause(own);
      else start(own);
      return draw(own);
    }
    pause(own);
    go(
      own,
      {
        next: () => S.neighbour(own.times, own.t, 1),
        previous: () => S.neighbour(own.times, own.t, -1),
        leap: () => own.t + LEAP * end(own),
        leapBack: () => own.t - LEAP * end(own),
        start: () => 0,
        end: () => end(own),
      }[name](),
    );
  }

  function measure(own) {
    for (const part of own.parts) if (part.measure) part.measure();
    draw(own);
  }

  /** Another race: one that was opened stands at its end, one just recorded starts by itself where motion is
     welcome. */
  function load(own, arrived) {
    const source = own.props.value || "";
    if (source === own.source) return;
    pause(own);
    own.source = source;
    own.race = source ? JSON.parse(source) : null;
    if (!own.race) return draw(own);
    const race = own.race;
    const cards = race.runners.map((runner) => runnerCard(race, runner));
    const rows = race.runners.map((runner, place) => S.laneRow(runner, race, `svr-stripes-${own.id}-${place}`));
    own.parts = [...cards, ...rows];
    own.cross.hidden = rows.every((row) => !row.throwsAway);
    own.times = S.moments(race);
    own.pace = S.paceFor(race);
    own.where.replaceChildren(
      h("span", { class: "svp-source" }, race.source),
      h("span", { class: "svp-small" }, race.provenance),
    );
    S.setText(own.prompt, race.prompt);
    own.runners.replaceChildren(...cards.map((card) => card.box));
    own.lanes.replaceChildren(...rows.map((row) => row.box));
    own.result.replaceChildren(h("p", { class: "svr-equality" }, race.equality), resultTable(race));
    const plays = arrived === true && !still();
    own.t = plays ? 0 : end(own);
    measure(own);
    own.prompt.scrollTop = own.prompt.scrollHeight;
    if (plays) run(own, "play");
  }

  /** What the colours of texts and lanes mean; `cross` shows where drafts are thrown away. */
  function legend(cross) {
    const swatch = (name, text) => h("span", {}, h("i", { class: `svp-swatch ${name}` }), text);
    return h(
      "p",
      { class: "svp-barlegend" },
      h("span", {}, "in the texts:"),
      ["accepted", "correction", "bonus", "target"].map((origin) =>
        h("span", {}, h("b", { class: `svp-tok is-${origin}` }, ORIGINS[origin])),
      ),
      h("span", {}, "in the lanes:"),
      swatch("is-draft", "draft"),
      swatch("is-target", "target pass"),
      swatch("svr-swatch-rest", "verdicts and commit"),
      cross,
      h("span", { class: "svr-nowrap" }, S.finishFlag(), "finished"),
      h("span", {}, "keys: Space, ← → a token, PageUp PageDown a tenth, Home, End"),
    );
  }

  /** Everything a race is shown in, empty; `act` has play() and pace(one of the paces). */
  function raceStage(act) {
    const empty = h("p", { class: "svp-empty" }, "No race to show yet.");
    const where = h("p", { class: "svr-where" });
    const prompt = h("p", {
      class: "svr-prompt svp-prompt",
      tabindex: "0",
      role: "region",
      "aria-label": "the prompt's end",
    });
    const runners = h("div", { class: "svr-runners" });
    const play = h("button", {
      type: "button",
      class: "svp-btn is-play",
      title: "play or pause (Space)",
      onclick: act.play,
    });
    const paces = S.PACES.map((pace) =>
      h("button", { type: "button", class: "svp-btn svr-pace", onclick: () => act.pace(pace) }, pace.name),
    );
    const clock = h("p", { class: "svp-small svr-clock" });
    const lanes = h("div", {
      class: "svr-lanes",
      role: "slider",
      tabindex: "0",
      "aria-label": "engine time",
      "aria-valuemin": "0",
    });
    const say = h("p", { class: "svr-standing", role: "status", "aria-live": "polite" });
    const result = h("section", { class: "svr-result", "aria-label": "result" });
    const cross = h("span", { hidden: true }, h("i", { class: "svp-swatch svp-span is-thrown" }), "drafts thrown away");
    const stage = h(
      "div",
      { class: "svr" },
      where,
      h("div", {}, h("p", { class: "svp-small" }, "how the prompt ends"), prompt),
      runners,
      h(
        "div",
        { class: "svp-buttons" },
        play,
        h("span", { class: "svr-paces", role: "group", "aria-label": "pace of the animation" }, paces),
        clock,
      ),
      lanes,
      legend(cross),
      say,
      result,
    );
    return { empty, stage, where, prompt, runners, play, paces, clock, lanes, say, result, cross };
  }

  function mountRace(element, props, watch) {
    const root = element.querySelector(".sv-race") || element.appendChild(h("div", { class: "sv-player sv-race" }));
    const own = {
      root,
      props,
      ...raceStage({
        play: () => run(own, "play"),
        pace: (pace) => {
          own.pace = pace;
          draw(own);
        },
      }),
      id: (stages += 1),
      race: null,
      t: 0,
      pace: S.PACES[0],
      playing: 0,
      last: 0,
      parts: [],
      times: [],
      source: "",
    };
    root.append(own.empty, own.stage);

    const { lanes } = own;
    const scrub = (event) => {
      const area = own.parts[own.parts.length - 1].picture.getBoundingClientRect();
      pause(own);
      go(own, ((event.clientX - area.left) / Math.max(1, area.width - S.FLAG_PX)) * end(own));
    };
    S.onDrag(lanes, scrub);
    document.addEventListener("keydown", (event) => {
      if (!root.isConnected || !root.getClientRects().length || event.defaultPrevented) return;
      const tab = event.target instanceof Element && event.target.closest("[role=tab][aria-selected=true]");
      if (event.target !== lanes && !tab && S.taken(event)) return;
      const name = S.raceCommand(event);
      if (!name) return;
      event.preventDefault();
      run(own, name);
    });
    new ResizeObserver(() => {
      if (own.race && root.getClientRects().length) measure(own);
    }).observe(root);
    if (watch) watch("value", () => load(own, true));
    load(own);
    draw(own);
  }

  return { mountRace };
})(SpecViz);
Object.assign(SpecViz, race);
