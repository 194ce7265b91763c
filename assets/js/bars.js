/* Draft and target bars on one shared axis of tokens: overlap, what is left over, and everything else. */
globalThis.SpecViz = globalThis.SpecViz || {};
// needs: dom
(function (S) {
  "use strict";

  const { h } = S;

  /** Pure: the distributions behind the children of `parent`, as far as the view has got. */
  function barData(round, parent, at, focus) {
    const node = round.nodes[parent];
    const frozen = node.target.probs[0] === 1 && node.target_raw;
    const topRows = frozen
      ? { draft: node.draft_raw || node.draft, target: node.target_raw }
      : { draft: node.draft, target: node.target };
    if (frozen && topRows.draft && topRows.draft.probs[0] === 1) topRows.draft = null; // a proposal, not a prediction
    if (!at.scored) topRows.target = null;
    const ends = at.drawn && round.judged.final_node === parent;
    if (ends && focus === S.END && round.judged.residual) topRows.residual = round.judged.residual;
    const children = round.nodes.filter((child) => child.parent === parent && child.depth <= at.level);
    const exact = new Map();
    if (!frozen)
      for (const child of children) {
        const sure = {};
        if (child.kind !== "point_mass" && topRows.draft) sure.draft = child.draft_prob;
        if (topRows.target) sure.target = child.target_prob;
        exact.set(child.token, sure);
      }
    const keep = new Set(children.map((child) => child.token));
    if (ends) keep.add(round.judged.token);
    return { topRows, exact, keep, children, frozen: !!frozen, ends };
  }

  /** What draft and target think of a node's token, as text; at temperature 0 before it, where the trace has that. */
  function predictions(round, node) {
    const parent = round.nodes[node.parent];
    const believed = (head) => {
      const p = S.known(head, node.token);
      return p === null ? `<${S.prob(S.atMost(head))}` : S.prob(p);
    };
    const draft =
      node.kind !== "point_mass" ? S.prob(node.draft_prob) : parent.draft_raw ? believed(parent.draft_raw) : "";
    return [
      draft,
      parent.target.probs[0] === 1 && parent.target_raw ? believed(parent.target_raw) : S.prob(node.target_prob),
    ];
  }

  const NAMES = { draft: "draft q", target: "target p", residual: "left over" };

  function barsPanel(now, parent, focus, act) {
    const data = barData(now.round, parent, now.at, focus);
    const names = ["draft", "target", "residual"].filter((name) => data.topRows[name]);
    if (!names.length) return h("p", { class: "svp-quiet" }, "No distribution is known here yet.");
    const { rows, rest } = S.bars(data.topRows, data.exact, data.keep);
    const highest = Math.max(
      0.02,
      ...rows.flatMap((row) => names.map((name) => row[name] ?? 0)),
      ...names.map((name) => rest[name]),
    );
    const top = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1].find((limit) => highest <= limit * 1.0001) ?? 1;
    const width = (value) => `${Math.min(100, (value / top) * 100)}%`;
    const marked = focus === S.END ? now.round.judged.token : now.round.nodes[focus].token;
    const byToken = new Map(data.children.map((child) => [child.token, child]));
    const trial = now.trialOf(focus);
    const pending = now.labels.after(parent);

    const track = (row) => {
      const bars = [];
      if (row.overlap !== null && row.overlap !== undefined) bars.push(["svp-overlap", 0, row.overlap]);
      for (const name of names) bars.push([`svp-fill is-${name}`, 0, row[name] ?? 0]);
      if (row.excess) bars.push(["svp-excess", row.overlap, row.excess]);
      const box = h("span", { class: `svp-track has-${names.length}` });
      for (const [name, left, value] of bars) {
        const bar = h("i", { class: name });
        bar.style.left = width(left);
        bar.style.width = width(value);
        box.append(bar);
      }
      if (
        row.token === marked &&
        trial &&
        now.judged(focus) &&
        Math.abs(trial.target_prob - (row.target ?? -1)) > 1e-4 &&
        !data.frozen
      ) {
        const tick = h("i", { class: "svp-tick", title: `after earlier rejections: ${S.prob(trial.target_prob)}` });
        tick.style.left = width(trial.target_prob);
        box.append(tick);
      }
      return box;
    };
    const value = (row, name) =>
      h(
        "span",
        { class: `svp-value is-${name}` },
        row[name] === null ? `<${S.prob(row.most[name])}` : S.prob(row[name]),
      );
    const name = (row) => {
      const child = byToken.get(row.token);
      const text = child ? now.labels[child.id] : S.label(now.trace, row.token, pending);
      const fate =
        data.ends && row.token === now.round.judged.token ? now.stateOf(S.END) : child ? now.stateOf(child.id) : null;
      const sign = fate && fate !== "hidden" ? S.glyph(fate) : null;
      if (child)
        return h(
          "button",
          { type: "button", class: "svp-name", onclick: () => act.select(child.id), title: text },
          sign,
          S.short(text, 14),
        );
      if (act.branch && parent === 0 && now.at.scored) {
        return h(
          "button",
          {
            type: "button",
            class: "svp-name",
            title: `continue the run from here with ${text}`,
            onclick: () => act.branch(row.token),
          },
          sign,
          S.short(text, 14),
          h("span", { class: "svp-go", "aria-hidden": "true" }, "↪"),
        );
      }
      return h("span", { class: "svp-name", title: text }, sign, S.short(text, 14));
    };
    const line = (row, label) =>
      h(
        "div",
        { class: `svp-bar${row.token === marked ? " is-marked" : ""}`, role: "row" },
        h("span", { role: "rowheader" }, label),
        h("span", { role: "cell" }, track(row)),
        h(
          "span",
          { role: "cell", class: "svp-values" },
          names.map((one) => value(row, one)),
        ),
      );
    const else_ = { token: null, most: {}, overlap: null, excess: null, ...rest };
    const legend = h(
      "p",
      { class: "svp-barlegend" },
      names.map((one) => h("span", {}, h("i", { class: `svp-swatch is-${one}` }), NAMES[one])),
      data.topRows.draft && data.topRows.target
        ? [
            h("span", {}, h("i", { class: "svp-swatch is-overlap" }), "min(p, q)"),
            h("span", {}, h("i", { class: "svp-swatch is-excess" }), "max(0, p − q)"),
          ]
        : null,
      h("span", { class: "svp-scale" }, `full width = ${S.prob(top)}`),
    );
    return h(
      "div",
      { class: `svp-bars has-${names.length}` },
      h(
        "div",
        { role: "table", "aria-label": "draft and target probabilities of the next token" },
        rows.map((row) => line(row, name(row))),
        line(else_, h("span", { class: "svp-name is-rest" }, "all others")),
      ),
      legend,
      data.frozen
        ? h(
            "p",
            { class: "svp-quiet" },
            "What the models believe by themselves. At temperature 0 only the target's first choice counts.",
          )
        : null,
      act.branch && parent === 0 && now.at.scored
        ? h("p", { class: "svp-quiet" }, "↪ Choose a token that was not drafted to continue the run with it.")
        : null,
      now.at.scored ? null : h("p", { class: "svp-quiet" }, "The target has not been asked yet."),
    );
  }

  Object.assign(S, { barData, predictions, barsPanel });
})(globalThis.SpecViz);
