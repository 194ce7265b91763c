/* Draft and target bars on one shared axis of tokens: overlap, what is left over, and everything else. */
// needs: bytes, distributions, dom, numbers, state, wording
const bars = (function (S) {
  "use strict";

  const { h } = S;
  S.bringsTerms({ labels: [".svp-barheads [role=columnheader]"] });

  const SCALES = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

  /** What all rows share: the data of the bars, and what stands at full width (`top`).
      @param {Moment} now @param {Act} act */
  function sceneOf(now, parent, focus, act) {
    const judged = focus !== S.END && now.judged(focus);
    const data = S.barData(now.trace, now.round, parent, now.at, focus, judged);
    const names = ["draft", "target", "residual"].filter((name) => data.topRows[name]);
    const { rows, rest } = S.bars(data.topRows, data.exact, data.keep);
    const highest = Math.max(
      0.02,
      ...rows.flatMap((row) => names.map((name) => row[name] ?? 0)),
      ...names.map((name) => rest[name]),
    );
    const top = SCALES.find((limit) => highest <= limit * 1.0001) ?? 1;
    const marked = focus === S.END ? now.round.judged.token : now.round.nodes[focus].token;
    return { now, parent, focus, act, judged, data, names, rows, rest, top, marked };
  }

  const widthOf = (scene, value) => `${Math.min(100, (value / scene.top) * 100)}%`;

  /** p of the selected candidate before rejections where the bar shows it after them, and the other way round. */
  const otherP = ({ now, focus, data }) =>
    data.left
      ? { value: now.round.nodes[focus].target_prob, words: "p before any rejection" }
      : { value: now.trialOf(focus).target_prob, words: "p after earlier rejections" };

  /** The bars of a row, one over the other. */
  function track(scene, row) {
    const { names, data } = scene;
    const bars = [];
    if (row.overlap !== null && row.overlap !== undefined) bars.push(["svp-overlap", 0, row.overlap]);
    for (const name of names) bars.push([`svp-fill is-${name}`, 0, row[name] ?? 0]);
    if (row.excess) bars.push(["svp-excess", row.overlap, row.excess]);
    const box = h("span", { class: `svp-track has-${names.length}` });
    for (const name of names) if (row[name] === null) bars.push([`svp-fill is-${name} is-bound`, 0, row.most[name]]);
    for (const [name, left, value] of bars) {
      const bar = h("i", { class: value > 0 ? `${name} is-some` : name });
      bar.style.left = widthOf(scene, left);
      bar.style.width = widthOf(scene, value);
      box.append(bar);
    }
    const other = row.token === scene.marked && scene.judged && !data.frozen ? otherP(scene) : null;
    if (other && Math.abs(other.value - (row.target ?? -1)) > 1e-4) {
      const tick = h("i", { class: "svp-tick", title: `${other.words}: ${S.prob(other.value)}` });
      tick.style.left = widthOf(scene, other.value);
      box.append(tick);
    }
    return box;
  }

  const value = (row, name) =>
    h(
      "span",
      { class: `svp-value is-${name}`, role: "cell" },
      row[name] === null ? S.below(row.most[name]) : S.prob(row[name]),
    );

  /** A row's token: a button where it leads to a node, or to another run. */
  function tokenName(scene, row) {
    const { now, parent, act, data } = scene;
    const child = data.children.findLast((other) => other.token === row.token);
    const text = child ? now.labels[child.id] : S.label(now.trace, row.token, now.labels.after(parent));
    const fate =
      data.ends && row.token === now.round.judged.token ? now.stateOf(S.END) : child ? now.stateOf(child.id) : null;
    const sign = fate && fate !== "hidden" ? S.glyph(fate) : null;
    if (child)
      return h(
        "button",
        {
          type: "button",
          class: "svp-name",
          onclick: () => act.select(child.id),
          title: text,
          "aria-label": `${S.spoken(text)}: to its node`,
        },
        sign,
        S.short(text, 14),
      );
    if (act.branch && parent === 0 && S.told(now.at)) {
      return h(
        "button",
        {
          type: "button",
          class: "svp-name",
          title: `continue the run from here with ${text}`,
          "aria-label": `${S.spoken(text)}: continue the run from here with it`,
          onclick: () => act.branch(row.token),
        },
        sign,
        S.short(text, 14),
        h("span", { class: "svp-go", "aria-hidden": "true" }, "↪"),
      );
    }
    return h(
      "span",
      { class: "svp-name", title: text, role: "img", "aria-label": S.spoken(text) },
      sign,
      S.short(text, 14),
    );
  }

  const line = (scene, row, label) =>
    h(
      "div",
      { class: `svp-bar${row.token === scene.marked ? " is-marked" : ""}`, role: "row" },
      h("span", { role: "rowheader" }, label),
      h("span", { role: "presentation" }, track(scene, row)),
      h(
        "span",
        { role: "presentation", class: "svp-values" },
        scene.names.map((one) => value(row, one)),
      ),
    );

  const heads = ({ names, data }) =>
    h(
      "div",
      { class: "svp-bar svp-barheads", role: "row" },
      h("span", { role: "columnheader" }, "token"),
      h("span", { role: "presentation" }),
      h(
        "span",
        { role: "presentation", class: "svp-values" },
        names.map((one) =>
          h(
            "span",
            { class: `svp-value is-${one}`, role: "columnheader", title: nameOf(data, one) },
            { draft: data.left ? "Q" : "q", target: data.left ? "p left" : "p", residual: "r" }[one],
          ),
        ),
      ),
    );

  /** What a row of numbers is called, in the words that were chosen. */
  const nameOf = (data, one) => (S.isPlain() ? data.plain : data.names)[one];

  const legend = ({ names, data, top }) =>
    h(
      "p",
      { class: "svp-barlegend" },
      names.map((one) => h("span", {}, h("i", { class: `svp-swatch is-${one}` }), nameOf(data, one))),
      data.topRows.draft && data.topRows.target
        ? [
            h("span", {}, h("i", { class: "svp-swatch is-overlap" }), data.left ? "min(p, Q)" : "min(p, q)"),
            h("span", {}, h("i", { class: "svp-swatch is-excess" }), data.left ? "max(0, p − Q)" : "max(0, p − q)"),
          ]
        : null,
      h("span", { class: "svp-scale" }, `full width = ${S.prob(top)}`),
    );

  /** @param {Moment} now @param {Act} act */
  function barsPanel(now, parent, focus, act) {
    const scene = sceneOf(now, parent, focus, act);
    const { data, names, rows, rest } = scene;
    if (!names.length) return h("p", { class: "svp-quiet" }, "No distribution is known here yet.");
    const others = { token: null, most: {}, overlap: null, excess: null, ...rest };
    return h(
      "div",
      { class: `svp-bars has-${names.length}` },
      h(
        "div",
        { role: "table", "aria-label": S.word("draft and target probabilities of the next token") },
        heads(scene),
        rows.map((row) => line(scene, row, tokenName(scene, row))),
        line(scene, others, h("span", { class: "svp-name is-rest" }, "all others")),
      ),
      legend(scene),
      data.frozen
        ? h(
            "p",
            { class: "svp-quiet" },
            S.word("What the models believe by themselves. At temperature 0 only the target's first choice counts."),
          )
        : null,
      act.branch && parent === 0 && S.told(now.at)
        ? h("p", { class: "svp-quiet" }, S.word("↪ Choose a token that was not drafted to continue the run with it."))
        : null,
      S.told(now.at)
        ? null
        : h(
            "p",
            { class: "svp-quiet" },
            now.at.scored
              ? S.word("The target's answer is kept back until you have guessed.")
              : S.word("The target has not been asked yet."),
          ),
    );
  }

  return { barsPanel };
})(SpecViz);
Object.assign(SpecViz, bars);
