/* A race and a sweep on a site of files: a few ways to draft and a prompt, run in the visitor's own tab with plain
   decoding in turns, and shown as lanes, bars and a table. Nothing is sent; what was measured can be saved.

   form ─► plannedLaps ─► the tab's engine: run after run ─► laps ─► tabRace ─► lanes
                                                                └──► tabPoints ─► bars, table, CSV */
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
  const NO_PROMPT = "Write a prompt; every way goes on from the same one.";
  const COLUMNS = ["who drafts", "× plain decoding", "least to most", "tokens a target pass", "accepted"];

  const labelled = (words, control) => h("label", { class: "svw-field" }, words, control);

  /** One way to choose: {box, way(), rest(isBusy)}; nobody is no way. */
  function wayChoice(chosen, at) {
    const racers = Object.entries(S.RACERS).map(([value, { label }]) => h("option", { value }, label));
    const drafter = h("select", { onchange: () => rest(false) }, h("option", { value: "" }, "nobody"), racers);
    const gamma = h("input", { type: "number", min: 1, max: 32, value: GAMMA });
    drafter.value = chosen;
    function rest(isBusy) {
      drafter.disabled = isBusy;
      gamma.disabled = isBusy || !S.RACERS[drafter.value]?.chain;
    }
    /** @returns {Way | null} */
    function way() {
      if (!drafter.value) return null;
      return { drafter: drafter.value, shape: S.RACERS[drafter.value].chain ? `g${gamma.value}` : "own" };
    }
    rest(false);
    const fields = [labelled(`way ${at + 1}`, drafter), labelled("γ", gamma)];
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
      @param {TabPoint[]} points @param {trace.Machine} machine */
  function measured(points, machine) {
    const repeats = Math.max(...points.map(({ ratios }) => ratios.length));
    const how =
      `Measured in your browser (${machine.processor.replace("browser: ", "")}, one thread, ${machine.dtype}) at ` +
      `temperature 0. A ratio is a way's tokens a second over those of plain decoding in the same ` +
      (repeats > 1
        ? `repeat; of ${repeats} repeats, the median counts. The lanes above show of each the run of median time.`
        : "repeat, of which there was one.");
    const head = COLUMNS.map((name) => h("th", { scope: "col" }, name));
    return [
      h("h2", {}, "× plain decoding, in your browser"),
      h("p", {}, how),
      h(
        "div",
        { class: "svk-bars" },
        points.map(({ label, ratio }) => S.ratioBar(label, ratio)),
      ),
      h(
        "div",
        { class: "svr-table" },
        h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, points.map(pointRow))),
      ),
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

  /** Who runs, how often and on what: {prompt, chosen(), repeats, button, said, form, rest(isBusy)}. */
  function waysForm(megabytes, submit) {
    const prompt = h("input", { type: "text", value: "Once upon a time there was a boy who" });
    const choices = FIRST.map(wayChoice);
    const repeats = h(
      "select",
      {},
      REPEATS.map((value) => h("option", { value }, value)),
    );
    repeats.value = "3";
    const button = h("button", { type: "submit" }, START);
    const said = h("p", { role: "status" }, `The first run fetches ${megabytes} MB, which the browser keeps.`);
    const form = h("form", { class: "svw-form", onsubmit: submit }, [
      labelled("prompt", prompt),
      h(
        "div",
        { class: "svw-ways" },
        choices.map(({ box }) => box),
      ),
      labelled("repeats", repeats),
      button,
      said,
    ]);
    function rest(isBusy) {
      prompt.disabled = repeats.disabled = isBusy;
      choices.forEach((choice) => choice.rest(isBusy));
    }
    const chosen = () => choices.map(({ way }) => way()).filter(Boolean);
    return { prompt, chosen, repeats, button, said, form, rest };
  }

  /** The panel. `megabytes`: what the first run fetches. */
  function waysHere(megabytes) {
    S.offerTab(megabytes);
    const { prompt, chosen, repeats, button, said, form, rest } = waysForm(megabytes, press);
    const { box: lanes, show } = stage();
    const result = h("div", { class: "sv-player svw-result", hidden: true });
    let stop = null; // while something is going on

    /** What was run, as far as it was. */
    function draw(ways, laps) {
      const race = S.tabRace(ways, laps);
      if (!race) return;
      show(race);
      const points = S.tabPoints(ways, laps);
      const save = () => S.saveFile(S.lapsCsv(laps), "text/csv", "specviz-your-browser.csv");
      result.hidden = !points.length;
      if (points.length)
        result.replaceChildren(
          ...measured(points, laps[0].trace.started.machine),
          h("button", { type: "button", onclick: save }, "Save every run as CSV"),
        );
    }

    function start(ways) {
      const plan = S.plannedLaps(ways, prompt.value, Number(repeats.value));
      const laps = [];
      let asked = true; // false: stopped
      rest(true);
      S.setText(button, "Stop");
      const halt = S.askTab({ ask: "series", requests: plan.map(({ request }) => request) }, (data) => {
        if (data.say === "ran") laps.push({ ...plan[data.place], trace: data.trace });
        S.setText(said, S.tabWords(data));
        if (!S.tabIsOver(data)) return;
        stop = null;
        rest(false);
        S.setText(button, AGAIN);
        draw(ways, laps);
        if (!asked) S.setText(said, `Stopped after ${laps.length} of ${S.count(plan.length, "run")}.`);
      });
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

    return [
      h("h2", {}, "Race and sweep here"),
      h(
        "p",
        {},
        "Two to four ways to draft and plain decoding write the same 64 tokens in your own tab, one after the other " +
          "and in turns. Give a drafter twice with another γ to see what γ does. Nothing leaves this page.",
      ),
      form,
      lanes,
      result,
    ];
  }

  return { waysHere };
})(SpecViz);
Object.assign(SpecViz, waysHere);
