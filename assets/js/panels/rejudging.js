/* The folded panel that judges the round again: settings to move, what it comes to in a sentence, and each changed
   verdict with its numbers. The arithmetic is in rejudge.js; what changed is marked in the tree by sign and line as
   well as colour. */
// needs: bytes, dom, numbers, rejudge, state
const rejudging = (function (S) {
  "use strict";

  const { h } = S;
  const CHANGES = {
    accepted: { sign: "▲", words: "would be accepted" },
    rejected: { sign: "▼", words: "would be rejected" },
    untold: { sign: "?", words: "cannot be told" },
    untried: { sign: "–", words: "would not be tried" },
    cut: { sign: "–", words: "would not be drafted" },
  };
  const WHY = {
    bounds: "the stored probabilities leave its acceptance probability on both sides of u",
    undrawn: "no u was drawn for it",
    before: "it hangs on a verdict that cannot be told",
  };
  const steps = (from, to, by) =>
    Array.from({ length: Math.round((to - from) / by) + 1 }, (_, place) => Number((from + place * by).toFixed(4)));
  const plainly = (value) => String(Number(value.toFixed(4)));

  /** Pure: what can be moved in a round: [name, label, values from left to right, value → text].
      @returns {[name: string, label: string, values: (number | null)[], say: (value: number | null) => string][]}
      @param {trace.Trace} trace @param {trace.Round} round */
  function controls(trace, round) {
    const before = S.recorded(trace);
    const deepest = Math.max(...round.nodes.map((node) => node.depth));
    const withOwn = (values, own) => [...new Set([...values, own])].sort((a, b) => a - b);
    const cuts = [...withOwn([1, 2, 3, 4, 5, 6, 7, 8, 10, 20, 50, 100], before.topK).filter((value) => value > 0), 0];
    return [
      [
        "temperature",
        "temperature",
        withOwn([0, ...steps(0.05, 2, 0.05)], before.temperature),
        (value) => (value === 0 ? "0, the most probable" : plainly(value)),
      ],
      ["topK", "top-k", cuts, (value) => (value === 0 ? "off" : String(value))],
      [
        "topP",
        "top-p",
        withOwn([...steps(0.05, 0.95, 0.05), 0.99, 1], before.topP),
        (value) => (value === 1 ? "off" : plainly(value)),
      ],
      [
        "gamma",
        "γ",
        [...steps(1, deepest, 1).slice(0, deepest - 1), null],
        (value) => (value === null ? `${deepest}, as drafted` : String(value)),
      ],
      [
        "lenience",
        "lenience l",
        withOwn(steps(0.05, 1, 0.05), before.lenience),
        (value) => (value === 1 ? "1, none" : plainly(value)),
      ],
    ];
  }

  /** Pure: an interval as short text. */
  function range([low, high], text) {
    const [from, to] = [text(low), text(high)];
    return from === to ? from : `${from} to ${to}`;
  }

  /** Pure: the numbers of one changed verdict: [name, before, after]; null where there is none.
      @param {trace.Trial} trial */
  function changedNumbers(one, trial) {
    const before = (value, text) => (trial ? text(value) : null);
    const list = [];
    if (one.p) list.push(["p", before(trial && trial.target_prob, S.prob), range(one.p, S.prob)]);
    if (one.q) list.push(["q", before(trial && trial.draft_prob, S.prob), range(one.q, S.prob)]);
    if (one.share) list.push(["p / max p", null, range(one.share, S.prob)]);
    if (one.p && one.q)
      list.push([
        "p/q",
        before(trial && (trial.draft_prob > 0 ? trial.target_prob / trial.draft_prob : Infinity), S.ratio),
        range([one.q[1] > 0 ? one.p[0] / one.q[1] : Infinity, one.q[0] > 0 ? one.p[1] / one.q[0] : Infinity], S.ratio),
      ]);
    if (one.acceptance)
      list.push(["acceptance probability", before(trial && trial.threshold, S.prob), range(one.acceptance, S.prob)]);
    if (one.u !== null && one.u !== undefined)
      list.push(["u", null, S.compared(one.u, one.acceptance[one.now === "accepted" ? 0 : 1])[0]]);
    return list;
  }

  const WAS = { accepted: "accepted", rejected: "rejected", untried: "never tried" };
  const LABEL =
    "Counterfactual for this round alone: same candidates, same uniform draws. It claims nothing about speed, " +
    "nor about the text that would follow.";
  const OTHERS =
    "Re-judging knows the rules that ask one candidate at a time: sequential, specinfer, lenience, greedy and " +
    "longest_path. The others weigh sums over the whole vocabulary, or draw from it, and a trace keeps only " +
    "the most probable tokens.";

  /** Pure: why there is nothing to move; null where there is.
      @param {Moment} now */
  function whyNot(now) {
    if (!now.round.judged.trials.length)
      return "Nothing was tried in this round, so there is no verdict to judge again.";
    if (!S.canRejudge(now.round)) return `This round was judged by ${now.round.judged.rule}. ${OTHERS}`;
    return now.at.drawn ? null : "The verdicts of this round are not all spoken yet.";
  }

  /** A slider for each setting, in `form`.
      @param {Act} act @param {Moment} now */
  function sliders(form, act, now) {
    const rows = controls(now.trace, now.round).map(([name, text, values, say]) => {
      const id = `svp-move-${now.id}-${name}`;
      const value = h("output", { for: id });
      const input = h("input", {
        type: "range",
        id,
        name,
        min: 0,
        max: values.length - 1,
        step: 1,
        oninput: () =>
          act.rejudge({ ...(act.now().moved || S.recorded(now.trace)), [name]: values[Number(input.value)] }),
      });
      form.append(h("div", { class: "svp-move" }, h("label", { for: id }, text), input, value));
      return { name, values, say, input, value };
    });
    return { trace: now.trace, round: now.round, rows };
  }

  /** Put a slider where the settings have it. */
  function place(row, settings, before) {
    const wanted = settings[row.name];
    const at = row.values.includes(wanted) ? row.values.indexOf(wanted) : row.values.length - 1;
    if (row.input.value !== String(at)) row.input.value = String(at);
    row.input.disabled = row.values.length < 2;
    const text = row.say(row.values[at]),
      own = row.say(before[row.name]);
    S.setText(row.value, text === own ? text : `${text} (was ${own})`);
    S.set(row.input, "aria-valuetext", row.value.textContent);
  }

  /** A changed verdict with its numbers.
      @param {Act} act @param {Moment} now */
  function changeLine(act, now, one) {
    const kind = S.changeOf(one);
    const numbers = changedNumbers(one, now.trialOf(one.node));
    const why = one.now === "untold" ? `: ${WHY[one.why]}` : "";
    return h(
      "li",
      { class: `svp-change is-${kind}` },
      h(
        "p",
        {},
        h("span", { class: "svp-changesign", "aria-hidden": "true" }, CHANGES[kind].sign),
        h(
          "button",
          { type: "button", class: "svp-link svp-mono", onclick: () => act.select(one.node) },
          S.short(now.labels[one.node], 16),
        ),
        ` ${WAS[one.was]}; ${CHANGES[kind].words}${why}`,
      ),
      numbers.length
        ? h(
            "p",
            { class: "svp-quiet" },
            numbers.map(([name, before, after]) =>
              h(
                "span",
                {},
                h("i", {}, name),
                before === null || before === after ? ` ${after}` : ` ${before} → ${after}`,
              ),
            ),
          )
        : null,
    );
  }

  /** The fold with everything that may stand in it.
      @param {Act} act */
  function rejudgeFold(act) {
    const label = h("p", { class: "svp-quiet" }, LABEL);
    const not = h("p", { class: "svp-small" });
    const jump = h(
      "button",
      {
        type: "button",
        class: "svp-link",
        onclick: () => {
          const { cursor, round } = act.now();
          act.go({ round: cursor.round, beat: S.beats(round).findIndex((beat) => beat.drawn) });
        },
      },
      "go to the last verdict",
    );
    const form = h("div", { class: "svp-moves" });
    const told = h("p", { class: "svp-words", role: "status" });
    const drift = h(
      "p",
      { class: "svp-small svp-drift" },
      h("b", {}, "✕ lossy"),
      " Below 1 the text drifts from the target's distribution (Leviathan et al., appendix A.5).",
    );
    const list = h("ul", { class: "svp-changes" });
    const reset = h(
      "button",
      { type: "button", class: "svp-link", onclick: () => act.rejudge(null) },
      "reset to the recorded settings",
    );
    const fold = h(
      "details",
      { class: "svp-rejudge" },
      h("summary", {}, "Re-judge this round"),
      label,
      not,
      jump,
      form,
      drift,
      told,
      list,
      reset,
    );
    return { fold, not, jump, form, drift, told, list, reset };
  }

  /** @param {Act} act */
  function rejudgePanel(box, act) {
    const { fold, not, jump, form, drift, told, list, reset } = rejudgeFold(act);
    fold.addEventListener("toggle", () => (fold.open ? act.draw() : act.rejudge(null)));
    box.append(fold);
    let built = null;

    return function draw(now) {
      const reason = fold.open ? whyNot(now) : null;
      const able = fold.open && reason === null;
      S.setText(not, reason || "");
      not.hidden = !reason;
      jump.hidden = !reason || !S.canRejudge(now.round);
      for (const part of [form, told, list, reset]) part.hidden = !able;
      drift.hidden = !able || !now.moved || !(now.moved.lenience < 1);
      if (!able) return;
      if (!built || built.trace !== now.trace || built.round !== now.round) {
        form.replaceChildren();
        built = sliders(form, act, now);
      }
      const before = S.recorded(now.trace);
      for (const row of built.rows) place(row, now.moved || before, before);
      S.setText(told, now.rejudged ? S.rejudged(now.rejudged) : "Nothing is moved: these are the recorded verdicts.");
      list.replaceChildren(
        ...(now.rejudged
          ? [...now.rejudged.all.values()].filter(S.changeOf).map((one) => changeLine(act, now, one))
          : []),
      );
      reset.disabled = !now.moved;
    };
  }

  return { CHANGES, controls, changedNumbers, whyNot, rejudgePanel };
})(SpecViz);
Object.assign(SpecViz, rejudging);
