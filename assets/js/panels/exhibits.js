/* What the drafter knew and what the target's answer taught it: exhibits, rows of tokens under a title. Every word
   comes from
   the trace, so this file knows no drafter. A row points at the nodes made from it and at its place in the text. */
// needs: bytes, dom, numbers, wording
const exhibits = (function (S) {
  "use strict";

  const { h } = S;
  const MOST_ROWS = 24;
  const MOST_CHIPS = 32;

  /** @param {trace.Trace} trace */
  function chips(trace, row) {
    let pending = new Uint8Array();
    const marked = new Set(row.marks || []);
    return row.tokens.slice(0, MOST_CHIPS).map((token, at) => {
      const bytes = S.tokenBytes(trace, token);
      const step = S.complete(pending, bytes);
      pending = step.pending;
      return { text: S.visible(step.text, bytes), marked: marked.has(at), score: (row.scores || [])[at] ?? null };
    });
  }

  /** Pure: the exhibits to show at a moment; what was learned shows when the round is over.
      @param {trace.Trace} trace @param {trace.Round} round @param {View} at */
  function exhibits(trace, round, at) {
    const tell = (list, learned) =>
      (list || []).map((one) => ({
        title: one.title,
        learned,
        marked: one.marked || "",
        more: Math.max(0, one.rows.length - MOST_ROWS),
        rows: one.rows
          .slice(0, MOST_ROWS)
          .map((row) => ({
            label: row.label,
            chips: chips(trace, row),
            more: Math.max(0, row.tokens.length - MOST_CHIPS),
            nodes: row.nodes || [],
            position: row.position ?? null,
            count: row.tokens.length,
          })),
      }));
    return [...tell(round.drafted.knew, false), ...tell(at.committed ? round.drafted.learned : [], true)];
  }

  /** @param {trace.Trace} trace */
  const hasExhibits = (trace) =>
    trace.rounds.some((round) => (round.drafted.knew || []).length || (round.drafted.learned || []).length);

  const chip = (one, marked) =>
    h(
      "span",
      {
        class: `svp-chip${one.marked ? " is-marked" : ""}`,
        title:
          [one.score === null ? "" : `score ${S.ratio(one.score)}`, one.marked ? marked : ""]
            .filter(Boolean)
            .join(", ") || null,
      },
      S.short(one.text, 16),
      one.score === null ? null : h("small", {}, S.ratio(one.score)),
    );

  /** A row of an exhibit; of the nodes made from it those that are `known` can be gone to.
      @param {Act} act */
  function line(act, row, exhibit, known) {
    const nodes = row.nodes.filter((id) => id < known);
    const made = nodes.length
      ? h(
          "button",
          { type: "button", class: "svp-link", onclick: () => act.select(nodes[0]) },
          S.say(S.count(nodes.length, "node"), S.count(nodes.length, "guess", "guesses")),
        )
      : null;
    const place =
      row.position === null
        ? null
        : h(
            "button",
            {
              type: "button",
              class: "svp-link",
              onclick: () => act.cite({ position: row.position, count: row.count }),
            },
            `token ${(row.position + 1).toLocaleString("en")} of the text`,
          );
    const over = (on) => () => act.name(on ? nodes : []);
    return h(
      "li",
      {
        class: "svp-exhibit-row",
        onpointerenter: over(true),
        onpointerleave: over(false),
        onfocusin: over(true),
        onfocusout: over(false),
      },
      h("span", { class: "svp-exhibit-label" }, row.label),
      h(
        "span",
        { class: "svp-chips" },
        row.chips.map((one) => chip(one, exhibit.marked)),
        row.more ? h("span", { class: "svp-quiet" }, `and ${row.more} more`) : null,
      ),
      made || place ? h("span", { class: "svp-exhibit-links" }, made, place) : null,
    );
  }

  /** @param {Act} act */
  function block(act, exhibit, known) {
    return h(
      "div",
      { class: "svp-exhibit" },
      h(
        "p",
        { class: "svp-exhibit-title" },
        exhibit.title,
        exhibit.learned ? h("span", { class: "svp-quiet" }, S.word("after the target's answer")) : null,
        exhibit.marked
          ? h(
              "span",
              { class: "svp-quiet" },
              h("span", { class: "svp-chip is-marked", "aria-hidden": "true" }, "…"),
              exhibit.marked,
            )
          : null,
      ),
      h(
        "ul",
        {},
        exhibit.rows.map((row) => line(act, row, exhibit, known)),
      ),
      exhibit.more ? h("p", { class: "svp-quiet" }, `and ${S.count(exhibit.more, "more row", "more rows")}`) : null,
    );
  }

  /** @param {Act} act */
  function exhibitsPanel(box, act) {
    const list = h("div", { class: "svp-exhibit-list" });
    box.append(h("h3", { class: "svp-small svp-heading", ...S.worded("What the drafter knew") }), list);
    let key = null;

    return function draw(now) {
      if (!key || key.trace !== now.trace) box.hidden = !hasExhibits(now.trace);
      const next = { trace: now.trace, round: now.round, over: now.at.committed, plain: S.isPlain() };
      const same = key && Object.keys(next).every((part) => key[part] === next[part]);
      key = next;
      if (box.hidden || same) return;
      const shown = exhibits(now.trace, now.round, now.at);
      act.name([]);
      list.replaceChildren(
        ...(shown.length
          ? shown.map((one) => block(act, one, now.round.nodes.length))
          : [h("p", { class: "svp-quiet" }, "Nothing to show in this round.")]),
      );
    };
  }

  return { exhibits, exhibitsPanel };
})(SpecViz);
Object.assign(SpecViz, exhibits);
