/* The target's pass as its rows: in which order the nodes stand in it, at which position of the text each is, and which
   rows it may look at (the tree-attention mask), the path of the selected node lit. `passRows` is pure. */
// needs: bytes, declared, dom, numbers, sibling_rules, wording
const passRows = (function (S) {
  "use strict";

  const { h, svg } = S;
  const NAMED = 12; // pixels of a cell from which on a row has room for its name
  const GRID = 32; // rows up to which the cells that are not seen are drawn as well
  const TEXT = 30; // width of the cached text, in pixels
  const NAMES = 160; // room for position and token
  const SIDE = 340; // pixels of the panel's mask, where its rows stay large enough
  const BOX = { most: 366, margin: 18 }; // height of the panel's box, in pixels

  /** Pure: the rows of a round's pass in their order, [{nodes, position, sees: rows, the last of them itself}]. Nodes
      of the same text share one.
      @param {trace.Round} round */
  function passRows(round) {
    const place = S.rowsOf(round);
    const rows = [];
    for (const node of round.nodes) {
      const own = place[node.id];
      if (rows[own]) rows[own].nodes.push(node.id);
      else
        rows[own] = {
          nodes: [node.id],
          position: round.base_length - 1 + node.depth,
          sees: [...(node.parent < 0 ? [] : rows[place[node.parent]].sees), own],
        };
    }
    return rows;
  }

  /** The row of the selected node; -1 for the round's last token, which has none in this pass.
      @param {Moment} now */
  const selectedRow = (now, rows) => rows.findIndex((row) => row.nodes.includes(now.selected));

  /** Which rows a node may look at, in words.
      @param {Moment} now */
  function seen(now, rows, at) {
    const { round, labels } = now;
    const text = S.count(round.committed.cache_before, "cached row");
    if (at < 0) return S.word("The round's last token has no row in this pass: the next one begins with it.");
    const { nodes, position, sees } = rows[at];
    const names = sees.map((row) => S.quote(labels[rows[row].nodes[0]])).join(", ");
    if (S.isPlain())
      return `Place ${at + 1} of ${rows.length}, ${position} in the text: it sees the text before and ${names}.`;
    const twins = nodes.length > 1 ? ` ${nodes.length} nodes of the same text share it.` : "";
    return `Row ${at + 1} of ${rows.length}, position ${position} of the text, sees the ${text} and ${names}.${twins}`;
  }

  /** Pixels of a cell: whole ones, and in the panel large enough to point at, even where the mask then scrolls. */
  function cellOf(rows, side, named) {
    const fits = side / rows;
    if (fits >= 3) return Math.min(18, Math.floor(fits));
    return named ? 3 : fits;
  }

  /** The mask as a drawing of about `side` pixels: {drawing, cell, rows, left}.
      @param {Moment} now */
  function maskDrawing(now, side, named = false) {
    const rows = passRows(now.round);
    const at = selectedRow(now, rows);
    const cell = cellOf(rows.length, side, named);
    const names = named && cell >= NAMED;
    const left = TEXT + 4 + (names ? NAMES : 0);
    const size = cell > 3 ? cell - 1 : cell;
    const square = (row, column) => `M${left + column * cell},${row * cell}h${size}v${size}h-${size}z`;
    const bar = (row) => `M${left - TEXT - 4},${row * cell}h${TEXT}v${size}h-${TEXT}z`;
    const path = (kind, parts) => svg("path", { class: `svp-mask${kind}`, d: parts.join("") });
    const off =
      rows.length <= GRID
        ? rows.flatMap((one, row) =>
            rows.flatMap((_, column) => (one.sees.includes(column) ? [] : [square(row, column)])),
          )
        : [];
    const on = rows.flatMap((one, row) => [bar(row), ...one.sees.map((column) => square(row, column))]);
    const lit = at < 0 ? [] : [bar(at), ...rows[at].sees.map((column) => square(at, column))];
    const wide = left + rows.length * cell;
    const high = rows.length * cell;
    const drawing = svg(
      "svg",
      {
        viewBox: `0 0 ${wide} ${high}`,
        width: wide,
        height: high,
        role: "img",
        "aria-label": `${S.word("attention mask of the pass")}. ${plain(seen(now, rows, at))}`,
      },
      names ? rows.map((row, place) => name(now, row, place, cell, rows[at]?.sees.includes(place))) : null,
      path("", off),
      path(" is-on", on),
      path(" is-lit", lit),
    );
    return { drawing, cell, rows, at };
  }

  /** A sentence as one hears it, without the marks around its tokens. */
  const plain = (text) => text.replace(/[\u2068\u2069]/g, "");

  /** A row's position and token beside it.
      @param {Moment} now */
  function name(now, row, place, cell, lit) {
    const y = place * cell + cell / 2 + 4.5;
    const label = (x, text) => svg("text", { x, y, "text-anchor": "end", text });
    return svg(
      "g",
      { class: `svp-mask-name${lit ? " is-lit" : ""}` },
      label(34, row.position.toLocaleString("en")),
      label(NAMES - 8, S.short(now.labels[row.nodes[0]], 12)),
    );
  }

  /** The mask, small, for the card.
      @param {Moment} now */
  function maskPicture(now) {
    return h(
      "figure",
      { class: "svp-why-picture" },
      maskDrawing(now, 132).drawing,
      h(
        "figcaption",
        { class: "svp-small" },
        S.word("left: the cached text, seen by all rows; then one column per node. Lit: the selected node's row."),
      ),
    );
  }

  /** The folded panel: one row of the mask per row of the pass; a click selects its node.
      @param {Act} act */
  function passPanel(box, act) {
    const said = h("p", { class: "svp-small svp-pass-said" });
    const scroll = h("div", {
      class: "svp-pass-box",
      role: "group",
      tabindex: "0",
      ...S.worded("rows of the target pass", "aria-label"),
    });
    const why =
      "Each row sees only the cached text (the bar) and its own ancestors (the squares). A click selects its node.";
    const fold = h(
      "details",
      { class: "svp-fold-panel" },
      h("summary", S.worded("The target pass row by row: order, positions, mask")),
      h(
        "div",
        { class: "svp-pass-grid" },
        scroll,
        h("div", {}, h("p", { class: "svp-quiet", ...S.worded(why) }), said),
      ),
    );
    box.append(fold);
    fold.addEventListener("toggle", () => act.draw());
    let shown = null;
    scroll.addEventListener("click", (event) => {
      if (!shown) return;
      const top = shown.drawing.getBoundingClientRect().top;
      const row = shown.rows[Math.floor((event.clientY - top) / shown.cell)];
      if (row) act.select(row.nodes[0]);
    });

    let reserved = null;
    /** One height for the whole run. */
    function reserve(trace) {
      reserved = trace;
      const most = Math.max(...trace.rounds.map((round) => round.scored.target_pass.rows));
      scroll.style.height = `${Math.min(BOX.most, most * cellOf(most, SIDE, true) + BOX.margin)}px`;
    }

    return function draw(now) {
      if (!fold.open) return;
      if (reserved !== now.trace) reserve(now.trace);
      if (!now.at.scored) {
        shown = null;
        scroll.replaceChildren(h("p", { class: "svp-quiet" }, S.word("The target has not been asked yet.")));
        return S.setText(said, "");
      }
      const { scrollLeft, scrollTop } = scroll;
      shown = maskDrawing(now, SIDE, true);
      scroll.replaceChildren(shown.drawing);
      Object.assign(scroll, { scrollLeft, scrollTop });
      said.replaceChildren(...S.sentence(seen(now, shown.rows, shown.at)));
    };
  }

  return { passRows, maskPicture, passPanel };
})(SpecViz);
Object.assign(SpecViz, passRows);
