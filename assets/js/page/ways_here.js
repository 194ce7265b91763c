/* A race and a sweep on a site of files: a few ways to draft and a prompt, run in the visitor's own tab with plain
   decoding in turns, and shown as lanes, bars and a table. Nothing is sent; what was measured can be saved.

   form ─► plannedLaps ─► the tab's engine: run after run ─► laps ─► tabRace ─► lanes
                                                                ├──► tabPoints ─► bars, table, CSV
                                                                └──► one of them once more ─► the player */
// needs: cheap_panel, dom, numbers, race, race_line, share, tab_engine, tab_race, tab_sweep
const waysHere = (function (S) {
  "use strict";

  const { h } = S;
  const [START, AGAIN] = ["Run them here", "Run them again"];
  const FIRST = ["model", "ngram", "eagle", ""]; // chosen in the beginning
  const [GAMMA, REPEATS] = [4, ["1", "3", "5"]];
  const NOISE =
    "A ratio marked “noise” says nothing yet: fewer than three repeats, some above 1 and some below, or more than " +
    "the tokens of a pass, which no drafting gains. Leave this tab in front, close what else is at work, and choose " +
    "five repeats.";
  const INTRODUCTION =
    "Two to four ways to draft and plain decoding write 64 tokens in your own tab, one after the other and in turns; " +
    "at temperature 0 all write the same. Give a drafter twice, with another γ or as a tree, to see what its shape " +
    "does. Nothing leaves this page.";
  const NO_PROMPT = "Write a prompt; every way goes on from the same one.";
  const COLUMNS = ["who drafts", "× plain decoding", "least to most", "tokens a target pass", "accepted"];

  const labelled = (words, control) => h("label", { class: "svw-field" }, words, control);

  /** One way to choose: {box, way(), rest(isBusy)}; nobody is no way. */
  function wayChoice(chosen, at) {
    const racers = Object.entries(S.RACERS).map(([value, { label }]) => h("option", { value }, label));
    const drafter = h("select", { onchange: () => rest(false) }, h("option", { value: "" }, "nobody"), racers);
    const gamma = h("input", { type: "number", min: 1, max: 32, value: GAMMA });
    const tree = h("input", { type: "text", placeholder: "none: a chain", autocomplete: "off", size: 10 });
    drafter.value = chosen;
    function rest(isBusy) {
      drafter.disabled = isBusy;
      gamma.disabled = isBusy || !S.RACERS[drafter.value]?.chain;
      tree.disabled = isBusy || !S.RACERS[drafter.value]?.tree;
    }
    /** @returns {Way | null} */
    function way() {
      if (!drafter.value) return null;
      return { drafter: drafter.value, shape: S.chosenShape(drafter.value, gamma.value, tree.value) };
    }
    rest(false);
    const shape = [labelled("γ", gamma), labelled("tree, by levels", tree)];
    const fields = [labelled(`way ${at + 1}`, drafter), ...shape];
    return { box: h("div", { class: "svw-way" }, fields), way, rest };
  }

  const share = (rate) => (rate === null ? "–" : `${Math.round(100 * rate)}%`);

  /** A row of the table.
      @param {TabPoint} point */
  function pointRow({ label, ratio, ratios, interval, isNoise, perPass, rate }) {
    const spread = ratios.length > 1 ? interval.map(S.ratio).join(" to ") : "one run";
    const cells = [`${S.ratio(ratio)}×${isNoise ? ", noise" : ""}`, spread, perPass.toFixed(2), share(rate)];
    return h(
      "tr",
      { class: ratio < 1 ? "is-slower" : null },
      h("th", { scope: "row" }, label),
      cells.map((text, at) => h("td", { "data-column": COLUMNS[at + 1], class: at ? null : "svr-ratio" }, text)),
    );
  }

  /** What was measured: a sentence on how, a bar and a row of the table for each way.
      @param {TabPoint[]} points @param {trace.Started} started of any of the runs */
  function measured(points, { machine, sampling }) {
    const repeats = Math.max(...points.map(({ ratios }) => ratios.length));
    const how =
      `Measured in your browser (${machine.processor.replace("browser: ", "")}, one thread, ${machine.dtype}) at ` +
      `temperature ${sampling.temperature}. A ratio is a way's tokens a second over those of plain decoding in the ` +
      "same " +
      (repeats > 1
        ? `repeat; of ${repeats} repeats, the median counts. The lanes above show of each the run of median time.`
        : "repeat, of which there was one.");
    return [
      h("h2", {}, "× plain decoding, in your browser"),
      h("p", {}, how),
      h(
        "div",
        { class: "svk-bars" },
        points.map(({ label, ratio }) => S.ratioBar(label, ratio)),
      ),
      h("div", { class: "svr-table" }, h("table", {}, S.columnHeads(COLUMNS), h("tbody", {}, points.map(pointRow)))),
      points.some(({ isNoise }) => isNoise) ? h("p", {}, NOISE) : null,
    ].filter(Boolean);
  }

  /** The race's frame: {box, show(race)}. */
  function stage() {
    const box = h("div", {});
    const props = { value: "" };
    let changed = () => {};
    S.mountRace(box, props, (_, redraw) => (changed = redraw));
    box.hidden = true;
    function show(race) {
      props.value = JSON.stringify(race);
      box.hidden = false;
      changed();
    }
    return { box, show };
  }

  /** Buttons that can do nothing while the tab is at work. */
  function restButtons(box, isBusy) {
    for (const button of box.querySelectorAll("button")) button.toggleAttribute("disabled", isBusy);
  }

  /** A button for each that was run; `watch` is given the way. Runs of a race keep text and times alone, so that the
      one to be looked at is made again.
      @param {(Way | null)[]} ways */
  function openers(ways, watch) {
    const button = (way) => h("button", { type: "button", onclick: () => watch(way) }, S.wayWords(way));
    return h("p", { class: "svw-open" }, "Run once more, and open it in the player: ", ways.map(button));
  }

  /** Who runs, how often and on what: {prompt, chosen(), repeats, warmth, button, said, form, rest(isBusy)}. */
  function waysForm(megabytes, submit) {
    const prompt = h("input", { type: "text", value: "Once upon a time there was a boy who" });
    const choices = FIRST.map(wayChoice);
    const repeats = h(
      "select",
      {},
      REPEATS.map((value) => h("option", { value }, value)),
    );
    repeats.value = "3";
    const warmth = h("input", { type: "number", min: "0", max: "2", step: "0.1", value: "0", required: true });
    const button = h("button", { type: "submit" }, START);
    const said = h("p", { role: "status" }, `The first run fetches ${megabytes} MB, which the browser keeps.`);
    const form = h("form", { class: "svw-form", onsubmit: submit }, [
      labelled("prompt", prompt),
      h(
        "div",
        { class: "svw-ways" },
        choices.map(({ box }) => box),
      ),
      labelled("temperature", warmth),
      labelled("repeats", repeats),
      button,
      said,
    ]);
    function rest(isBusy) {
      prompt.disabled = repeats.disabled = warmth.disabled = isBusy;
      choices.forEach((choice) => choice.rest(isBusy));
    }
    const chosen = () => choices.map(({ way }) => way()).filter(Boolean);
    return { prompt, chosen, repeats, warmth, button, said, form, rest };
  }

  /** The panel. `megabytes`: what the first run fetches; `open` shows a trace, as text, in the player. */
  function waysHere(megabytes, open) {
    S.offerTab(megabytes);
    const { prompt, chosen, repeats, warmth, button, said, form, rest } = waysForm(megabytes, press);
    const { box: lanes, show } = stage();
    const result = h("div", { class: "sv-player svw-result", hidden: true });
    let stop = null; // while something is going on

    /** Ask the tab's engine; `hear` is given all that it says, `over` comes when that was the last. */
    function ask(asked, hear, over) {
      rest(true);
      restButtons(result, true);
      S.setText(button, "Stop");
      stop = S.askTab(asked, (data) => {
        hear(data);
        S.setText(said, S.tabWords(data));
        if (!S.tabIsOver(data)) return;
        stop = null;
        rest(false);
        restButtons(result, false);
        S.setText(button, AGAIN);
        over(data);
      });
    }

    /** What was run, as far as it was; `plan` is what was to be run. */
    function draw(ways, laps, plan) {
      const race = S.tabRace(ways, laps);
      if (!race) return;
      show(race);
      const points = S.tabPoints(ways, laps);
      const save = () => S.saveFile(S.lapsCsv(laps), "text/csv", "specviz-your-browser.csv");
      const watch = (way) => {
        const { request } = plan.find((lap) => lap.way === way);
        const over = (data) => data.say === "done" && open(JSON.stringify(data.trace));
        ask({ ask: "run", request }, () => {}, over);
      };
      result.hidden = !points.length;
      if (points.length)
        result.replaceChildren(
          ...measured(points, laps[0].trace.started),
          openers([null, ...ways.filter((way) => laps.some((lap) => lap.way === way))], watch),
          h("button", { type: "button", onclick: save }, "Save every run as CSV"),
        );
    }

    function start(ways) {
      const plan = S.plannedLaps(ways, prompt.value, Number(repeats.value), Number(warmth.value));
      const laps = [];
      let asked = true; // false: stopped
      const hear = (data) => data.say === "ran" && laps.push({ ...plan[data.place], trace: data.trace });
      ask({ ask: "series", requests: plan.map(({ request }) => request) }, hear, () => {
        draw(ways, laps, plan);
        if (!asked) S.setText(said, `Stopped after ${laps.length} of ${S.count(plan.length, "run")}.`);
      });
      const halt = stop;
      stop = () => {
        asked = false;
        halt();
      };
    }

    function press(event) {
      event.preventDefault();
      if (stop) return stop();
      const ways = chosen();
      const problem = prompt.value.trim() ? S.waysProblem(ways) : NO_PROMPT;
      if (problem) return S.setText(said, problem);
      start(ways);
    }

    return [h("h2", {}, "Race and sweep here"), h("p", {}, INTRODUCTION), form, lanes, result];
  }

  return { waysHere };
})(SpecViz);
Object.assign(SpecViz, waysHere);
