/* The target's cache over the whole run: how long it is, and of the rows that each pass computed which stayed, which
   were dropped again, and how many more there would be if candidates did not share their prefixes. `rowLedger` is
   pure. */
// needs: dom, numbers, wording
const runCache = (function (S) {
  "use strict";

  const { h, svg } = S;
  const HIGH = { top: 18, length: 76, rows: 110, gap: 24 }; // pixels, from the top: label, line, label, bars

  /** Pure: per round {before, rows, kept, dropped, shared} in rows of the target's cache, and their sums. `shared`:
      rows that the pass saved, measured against one sequence per path of the tree, each with the root.
      @param {trace.Round[]} rounds */
  function rowLedger(rounds) {
    const each = rounds.map((round) => {
      const { cache_before: before, cache_kept: after, cache_dropped: dropped } = round.committed;
      const parents = new Set(round.nodes.map((node) => node.parent));
      const leaves = round.nodes.filter((node) => !parents.has(node.id));
      const apart = leaves.reduce((sum, leaf) => sum + leaf.depth + 1, 0);
      const { rows } = round.scored.target_pass;
      return { before, rows, kept: after - before, dropped, shared: apart - rows };
    });
    const sum = (name) => each.reduce((total, one) => total + one[name], 0);
    const tokens = rounds.reduce((total, round) => total + round.committed.tokens.length, 0);
    const all = { rows: sum("rows"), kept: sum("kept"), dropped: sum("dropped"), shared: sum("shared"), tokens };
    return { each, all: { ...all, passes: rounds.length } };
  }

  const many = (n) => n.toLocaleString("en");

  /** The run's sums as sentences. */
  function ledgerWords({ all }, plain = false) {
    const share = all.rows ? Math.round((100 * all.kept) / all.rows) : 0;
    if (plain)
      return (
        `In ${S.count(all.passes, "pass", "passes")} the big model looked at ${S.count(all.rows, "place")}: ` +
        `${many(all.kept)} stayed in the text (${share}%), ${many(all.dropped)} were forgotten again. ` +
        (all.shared ? `Guesses with the same beginning saved ${S.count(all.shared, "place")}. ` : "") +
        `Without guessing it looks at one place in a pass, and here would have made ` +
        `${S.count(all.tokens, "pass", "passes")}.`
      );
    return (
      `${S.count(all.passes, "target pass", "target passes")} computed ${S.count(all.rows, "row")}: ` +
      `${many(all.kept)} kept (${share}%), ${many(all.dropped)} dropped. ` +
      (all.shared
        ? `Sharing prefixes saved ${S.count(all.shared, "row")}: with each path a sequence of its own there would ` +
          `have been ${many(all.rows + all.shared)}. `
        : "No candidates shared a prefix: every draft was a single path. ") +
      `Plain decoding computes one row per pass, and here would have made ${S.count(all.tokens, "pass", "passes")}.`
    );
  }

  const roundWords = (index, { before, rows, kept, dropped, shared }) =>
    `round ${index + 1}: ${many(before)} → ${many(before + kept)} ${S.word("rows in the cache")}; ${rows} ` +
    `${S.word("computed")}, ${kept} kept, ${dropped} dropped${shared ? `, ${shared} saved by sharing` : ""}`;

  function picture(ledger, width) {
    const { each } = ledger;
    const step = width / each.length;
    const wide = Math.max(0.5, Math.min(16, step * 0.8));
    const left = (index) => index * step + (step - wide) / 2;
    const least = each[0].before;
    const last = each.at(-1);
    const most = Math.max(least + 1, ...each.map((one) => one.before + one.kept));
    const level = (rows) => HIGH.length - ((rows - least) / (most - least)) * (HIGH.length - HIGH.top);
    const line = each.map((one, index) => `L${index * step},${level(one.before)}H${(index + 1) * step}`);
    const highest = Math.max(1, ...each.map((one) => one.rows + one.shared));
    const scale = HIGH.rows / highest;
    const floor = HIGH.length + HIGH.gap + HIGH.rows;
    const bars = { kept: "", dropped: "", shared: "" };
    each.forEach((one, index) => {
      let y = floor;
      for (const name of ["kept", "dropped", "shared"]) {
        const high = one[name] * scale;
        y -= high;
        if (high > 0) bars[name] += `M${left(index)},${y}h${wide}v${high}h-${wide}z`;
      }
    });
    const now = svg("rect", { class: "svp-ledger-now", x: 0, y: 0, width: Math.max(2, step), height: floor });
    const end = `H${width}V${level(last.before + last.kept)}`;
    const drawing = svg(
      "svg",
      {
        class: "svp-ledger",
        viewBox: `0 0 ${width} ${floor + 1}`,
        width,
        height: floor + 1,
        role: "img",
        "aria-label": `${S.word("rows of the target's cache")}, round by round. ${ledgerWords(ledger, S.isPlain())}`,
      },
      now,
      svg("path", { class: "svp-ledger-line", d: `M0,${level(least)}${line.join("")}${end}` }),
      ["kept", "dropped", "shared"].map((name) => svg("path", { class: `svp-ledger-rows is-${name}`, d: bars[name] })),
      svg("path", { class: "svp-ledger-floor", d: `M0,${floor}H${width}` }),
      svg("text", { x: 2, y: 12, text: `${S.word("rows in the cache")}, from ${many(least)} to ${many(most)}` }),
      svg("text", {
        x: 2,
        y: HIGH.length + HIGH.gap - 5,
        text: `${S.word("rows per pass")}; full height is ${many(highest)}`,
      }),
    );
    return { drawing, now, step };
  }

  const KEYS = [
    ["kept", "kept"],
    ["dropped", "dropped again"],
    ["shared", "saved by sharing prefixes"],
  ];

  /** The folded panel; a click or a drag goes to a round.
      @param {Act} act */
  function runCachePanel(box, act) {
    const words = h("p", { class: "svp-small" });
    const frame = h("div", { class: "svp-ledger-box" });
    const said = h("p", { class: "svp-small svp-pass-said" });
    const legend = h(
      "p",
      { class: "svp-legend" },
      KEYS.map(([name, text]) =>
        h("span", {}, h("i", { class: `svp-swatch svp-ledger-key is-${name}` }), h("span", S.worded(text))),
      ),
    );
    const fold = h(
      "details",
      { class: "svp-fold-panel" },
      h("summary", S.worded("The target's cache over the whole run")),
      words,
      frame,
      legend,
      said,
    );
    box.append(fold);
    fold.addEventListener("toggle", () => act.draw());
    let shown = null; // {trace, width, ledger, drawing, now, step}
    const roundAt = (event) =>
      Math.max(
        0,
        Math.min(
          shown.ledger.each.length - 1,
          Math.floor((event.clientX - shown.drawing.getBoundingClientRect().left) / shown.step),
        ),
      );
    frame.addEventListener("click", (event) => shown && act.go({ round: roundAt(event), beat: Infinity }, false));
    frame.addEventListener("pointermove", (event) => {
      if (shown) S.setText(said, roundWords(roundAt(event), shown.ledger.each[roundAt(event)]));
    });
    frame.addEventListener("pointerleave", () => act.draw());

    return function draw(now) {
      if (!fold.open) return;
      const width = Math.max(200, frame.clientWidth);
      const plain = S.isPlain();
      if (!shown || shown.trace !== now.trace || shown.width !== width || shown.plain !== plain) {
        const ledger = rowLedger(now.trace.rounds);
        shown = { trace: now.trace, width, plain, ledger, ...picture(ledger, width) };
        frame.replaceChildren(shown.drawing);
        S.setText(words, ledgerWords(ledger, plain));
      }
      S.set(shown.now, "x", now.cursor.round * shown.step);
      S.setText(said, roundWords(now.cursor.round, shown.ledger.each[now.cursor.round]));
    };
  }

  return { rowLedger, runCachePanel };
})(SpecViz);
Object.assign(SpecViz, runCache);
