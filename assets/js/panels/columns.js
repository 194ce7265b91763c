/* From logits to the distribution that is drawn from and judged, column by column at one place: ÷ temperature, what
   top-k and top-p cut, softmax. A trace keeps the most probable tokens of a row and no logits, so the columns say what
   is worked back and what is not stored. `columnsAt` is pure. */
// needs: bounds, bytes, distributions, dom, numbers, state
const columns = (function (S) {
  "use strict";

  const { h } = S;
  const NAMES = { target: "target", draft: "draft" };

  /** Pure: {rows: [{token, own, logit, warm, state, p}], rest: {own, p}, listed, size, sampling, cold, drawn} of one
      model at a node. `own` is the model's own probability, `logit` its logarithm (the logit less a constant that is
      the same for all tokens), `warm` the same ÷ T, `state` one of kept, top-k, top-p and untold, `p` an interval. Null
      where the trace has no row of the model's own there.
      @param {trace.Trace} trace @param {trace.Round} round */
  function columnsAt(trace, round, node, which) {
    const { sampling, target, drafter } = trace.started;
    const plain = sampling.temperature === 1 && sampling.top_k === 0 && sampling.top_p === 1;
    const raw = node[`${which}_raw`] || (plain ? node[which] : null);
    if (!raw || !raw.probs.length) return null;
    const size = (which === "draft" && drafter.model ? drafter.model : target).vocab_size;
    const cold = sampling.temperature === 0;
    const below = round.nodes.filter((child) => child.parent === node.id);
    const drawn = which === "target" || below.some((child) => child.kind !== "point_mass");
    const stored = drawn ? node[which] : null;
    const power = cold ? 1 : 1 / sampling.temperature;
    const spread = cold ? null : S.reshaped(raw, new Map(), size, power, sampling.top_k, sampling.top_p);
    const first = cold ? (stored?.tokens[0] ?? raw.tokens[0]) : null;
    const rows = raw.tokens.map((token, place) => {
      const own = raw.probs[place];
      const logit = Math.log(own);
      const at = stored ? S.known(stored, token) : null;
      const worked = cold ? [Number(token === first), Number(token === first)] : S.probAt(spread, token);
      const p = at !== null ? [at, at] : worked;
      const told = at !== null || p[1] === 0 || p[0] > 0;
      const cut = sampling.top_k > 0 && place >= sampling.top_k ? "top-k" : "top-p";
      const state = cold ? (p[0] ? "kept" : "cold") : !told ? "untold" : p[1] > 0 ? "kept" : cut;
      return { token, own, logit, warm: cold ? null : logit / sampling.temperature, state, p };
    });
    const rest = { own: raw.rest, p: cold ? 0 : stored ? restOf(stored, raw) : null };
    return { rows, rest, listed: raw.tokens.length, size, sampling, cold, drawn };
  }

  /** What the judged distribution has outside the tokens of the model's own row. */
  const restOf = (stored, raw) =>
    Math.max(0, 1 - raw.tokens.reduce((sum, token) => sum + (S.known(stored, token) ?? 0), 0));

  const signed = (x) => (x <= -0.005 ? "−" : "") + Math.abs(x).toFixed(2);
  const between = ([low, high]) => {
    const [from, to] = [S.prob(low), S.prob(high)];
    return from === to ? from : low === 0 ? S.below(high) : `${from}–${to}`;
  };

  const CUT = {
    kept: "kept",
    "top-k": "cut by top-k",
    "top-p": "cut by top-p",
    untold: "not told",
    cold: "not the first",
  };

  /** Heads of the columns under the run's settings, each with what it says on hover. */
  function heads({ cold, sampling }, letter) {
    const { temperature, top_k: topK, top_p: topP } = sampling;
    const cuts =
      [topK > 0 ? `top-k ${topK}` : null, topP < 1 ? `top-p ${topP}` : null].filter(Boolean).join(", ") || "no cut";
    return [
      ["token", ""],
      ["logit", "ln of the model's own probability: the logit, less a constant that is the same for all tokens"],
      cold
        ? ["largest?", "at temperature 0 the largest logit has everything"]
        : [`÷ ${temperature}`, "divided by the temperature"],
      ...(cold ? [] : [[cuts, "what is cut off counts as −∞ in the softmax"]]),
      [letter, "softmax of what is kept"],
    ];
  }

  function cells(row, { cold, sampling }) {
    const warm = cold ? null : signed(row.warm);
    const formula = cold
      ? ""
      : row.state === "kept"
        ? `e^${warm} ÷ the sum of e^… over all that is kept = ${between(row.p)}`
        : "cut off: 0";
    return [
      [signed(row.logit), `ln ${S.prob(row.own, 3)} = ${signed(row.logit)}`],
      cold
        ? [row.state === "kept" ? "yes" : "no", ""]
        : [warm, `${signed(row.logit)} ÷ ${sampling.temperature} = ${warm}`],
      ...(cold ? [] : [[CUT[row.state], ""]]),
      [between(row.p), formula],
    ];
  }

  function notStored(data, which) {
    const rest = S.prob(data.rest.own);
    const others = (data.size - data.listed).toLocaleString("en");
    return (
      `Not stored: the logits themselves (worked back as ln of the ${which}'s own probabilities, so up to a constant ` +
      `that softmax takes out), and the other ${others} tokens one by one (${rest} of the mass together).` +
      (data.drawn ? "" : " Nothing was drawn from this row: its candidates were proposed as they are.")
    );
  }

  /** @param {Moment} now */
  function table(now, data, parent, which) {
    const letter = which === "target" ? "p" : "q";
    const pending = now.labels.after(parent);
    const top = heads(data, letter);
    const line = (row) =>
      h(
        "tr",
        { class: row.state === "kept" ? null : "is-cut" },
        h("th", { scope: "row", class: "svp-mono" }, S.short(S.label(now.trace, row.token, pending), 12)),
        cells(row, data).map(([text, title]) => h("td", { title: title || null }, text)),
      );
    const others = [
      `${S.prob(data.rest.own)} in all`,
      ...Array(top.length - 3).fill(""),
      data.rest.p === null ? "–" : S.prob(data.rest.p),
    ];
    return h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          top.map(([text, title]) => h("th", { scope: "col", title: title || null }, text)),
        ),
      ),
      h(
        "tbody",
        {},
        data.rows.map(line),
        h(
          "tr",
          { class: "is-rest" },
          h("th", { scope: "row" }, "all others"),
          others.map((text, place) => h("td", { title: place ? null : "their share before anything is cut" }, text)),
        ),
      ),
    );
  }

  /** The folded panel in the card, for the place whose distribution the bars show.
      @param {Act} act */
  function columnsPanel(box, act) {
    let which = "target";
    const choices = h(
      "div",
      { class: "svp-depth", role: "group", "aria-label": "whose distribution" },
      Object.keys(NAMES).map((name) =>
        h(
          "button",
          {
            type: "button",
            "data-which": name,
            onclick: () => {
              which = name;
              act.draw();
            },
          },
          NAMES[name],
        ),
      ),
    );
    const body = h("div", { class: "svp-columns-box", tabindex: "0", role: "group", "aria-label": "from logits to p" });
    const note = h("p", { class: "svp-quiet" });
    const fold = h(
      "details",
      { class: "svp-columns" },
      h("summary", {}, "from logits to p, column by column"),
      choices,
      body,
      note,
    );
    fold.addEventListener("toggle", () => act.draw());
    box.append(fold);

    return function draw(now) {
      if (!fold.open) return;
      const id = now.selected;
      const parent = id === S.END ? now.round.judged.final_node : id === 0 ? 0 : now.round.nodes[id].parent;
      for (const button of choices.querySelectorAll("button"))
        S.set(button, "aria-pressed", button.dataset.which === which);
      const secret = which === "target" && !S.told(now.at);
      const data = secret ? null : columnsAt(now.trace, now.round, now.round.nodes[parent], which);
      if (data) {
        body.replaceChildren(table(now, data, parent, which));
        return S.setText(note, notStored(data, which));
      }
      body.replaceChildren();
      S.setText(
        note,
        secret
          ? "The target's answer is not known yet at this beat."
          : which === "draft"
            ? "The trace has no row of the drafter's own here: it has no model, or drafted nothing below this token."
            : "The trace has no row of the target's own here: it was recorded without distributions.",
      );
    };
  }

  return { columnsAt, columnsPanel };
})(SpecViz);
Object.assign(SpecViz, columns);
