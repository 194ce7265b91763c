/* A race against oneself: who drafts, how much and in which numbers, raced against plain decoding in the visitor's own
   tab; the fastest of the tries becomes a line for the class's board. Nothing leaves the page by itself. */
// needs: dom, hand_in, line_box, numbers, race_line, tab_engine
const ownRace = (function (S) {
  "use strict";

  const { h } = S;
  const NO_SHAPE = "Write γ as a number from 1 to 32, or a tree such as 3,2,1 of at most 63 guesses.";
  const FORMATS = ["float32", "int8"];
  const NAME_FIRST = "Write your name, and the line of your fastest try stands here.";

  /** What this browser tells of its machine; a guess, because browsers tell little. Pure.
      @param {{ userAgent?: string, platform?: string, hardwareConcurrency?: number }} told */
  function cpuGuess({ userAgent = "", platform = "", hardwareConcurrency: threads = 0 }) {
    const browser = /(Firefox|Edg|Chrome|Version)\/(\d+)/.exec(userAgent);
    const name = { Edg: "Edge", Version: "Safari" }[browser?.[1]] ?? browser?.[1];
    const said = [platform, threads && S.count(threads, "thread"), browser && `${name} ${browser[2]}`];
    return S.handInName(said.filter(Boolean).join(", ") || "unknown");
  }

  /** A try in words. Pure. */
  const tryWords = ({ drafter, shape, format, ratio, perPass }) =>
    `${S.ratio(ratio)}×: ${S.RACERS[drafter].label}, ${S.shapeWords(shape)}, ${format}, ` +
    `${perPass.toFixed(2)} tokens a pass`;

  const tries = []; // of this visit, the fastest first

  const labelled = (words, control) => h("label", { class: "svx-who" }, words, control);

  const options = (pairs) => pairs.map(([value, label]) => h("option", { value }, label));

  /** Who drafts, how much and in which numbers: {box, drafter, gamma, tree, format, rest(isBusy)}. */
  function draftControls() {
    const racers = Object.entries(S.RACERS).map(([value, { label }]) => [value, label]);
    const drafter = h("select", { onchange: () => rest(false) }, options(racers));
    const gamma = h("input", { type: "number", min: 1, max: 32, value: 4 });
    const tree = h("input", { type: "text", placeholder: "none: a chain of γ", autocomplete: "off" });
    const format = h("select", {}, options(FORMATS.map((value) => [value, value])));
    /** What a drafter does not take cannot be changed, and nothing while a race goes on. */
    function rest(isBusy) {
      const { chain, tree: grows } = S.RACERS[drafter.value];
      drafter.disabled = format.disabled = isBusy;
      gamma.disabled = isBusy || !chain;
      tree.disabled = isBusy || !grows;
    }
    const box = h("div", { class: "svx-draft" }, [
      labelled("who drafts", drafter),
      labelled("γ", gamma),
      labelled("tree, by levels", tree),
      labelled("numbers of the target", format),
    ]);
    rest(false);
    return { box, drafter, gamma, tree, format, rest };
  }

  /** The race's elements, in order. */
  function ownRace() {
    const name = h("input", { type: "text", autocomplete: "name", maxlength: 40, oninput: hand });
    const { box, drafter, gamma, tree, format, rest } = draftControls();
    const button = h("button", { class: "svl-btn is-next" }, "Race");
    const said = h("p", { class: "svx-said", role: "status" });
    const line = S.lineBox(said);
    const list = h("ol", { class: "svx-tries", "aria-label": "your tries, the fastest first" });
    let stop = null;

    function hand() {
      list.replaceChildren(...tries.map((one) => h("li", {}, tryWords(one))));
      const [best] = tries;
      const whose = S.handInName(name.value);
      line.show(best && whose ? S.handInLine({ task: S.RACE_TASK, name: whose, answer: best.answer }) : "");
      if (best && !whose) S.setText(said, NAME_FIRST);
    }

    function finish(shape, data) {
      const { tokens, passes, plain, drafted } = data.duel;
      const asked = { drafter: drafter.value, shape, format: format.value };
      const result = { ...asked, tokens, passes, plain, drafted, cpu: cpuGuess(navigator) };
      const answer = S.raceAnswer(result);
      const { entry, problem } = S.readRace(answer);
      S.setText(said, problem ? "A busy moment spoilt this race: race again." : `${tryWords(entry)}.`);
      if (!entry) return;
      tries.push({ ...entry, answer });
      tries.sort((one, other) => other.ratio - one.ratio);
      hand();
    }

    function race(event) {
      event.preventDefault();
      if (stop) return stop();
      const shape = S.chosenShape(drafter.value, gamma.value, tree.value);
      if (!shape) return S.setText(said, NO_SHAPE);
      const levels = S.raceShape(drafter.value, shape);
      const draft = { ...S.RACERS[drafter.value].asks, drafter_options: levels, dtype: format.value };
      rest(true);
      S.setText(button, "Stop");
      stop = S.askTab({ ask: "duel", draft }, (data) => {
        S.setText(said, S.tabWords(data));
        if (!S.tabIsOver(data)) return;
        stop = null;
        S.setText(button, "Race");
        rest(false);
        if (data.say === "dueled") finish(shape, data);
      });
    }

    hand();
    return [
      h(
        "p",
        {},
        "Two texts of 48 tokens, plain and drafted in turns, three times; the median of the ratios counts. All of it " +
          "runs in your own tab: compare drafters on it, not machines.",
      ),
      h(
        "form",
        { class: "svx-form svx-race", onsubmit: race },
        labelled("Your name", name),
        box,
        button,
        said,
        list,
        line.box,
      ),
    ];
  }

  return { ownRace, cpuGuess };
})(SpecViz);
Object.assign(SpecViz, ownRace);
