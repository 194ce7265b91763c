/* The draft tree as SVG: built once per round, then only changed in place from beat to beat. */
globalThis.SpecViz = globalThis.SpecViz || {};
// needs: dom, state
(function (S) {
  "use strict";

  const { h, svg, END } = S;
  const CHAR = 7.9; // width of a monospace character at the label's size
  const LONGEST = 12;
  const ODDS = 92; // width of "0.0079 → 0.0032"

  /** Pure: where everything stands. The round's last token gets a row of its own below its parent's subtree; columns
      spread into `room` pixels where there are more than they need. */
  function layout(round, labels, room = 0) {
    const final = round.nodes[round.judged.final_node];
    let below = final.y;
    const inside = round.nodes.map(() => false);
    for (const node of round.nodes) {
      inside[node.id] = node.id === final.id || (node.parent >= 0 && inside[node.parent]);
      if (inside[node.id]) below = Math.max(below, node.y);
    }
    const leaf = !round.nodes.some((node) => node.parent === final.id);
    const shift = (y) => (!leaf && y > below ? y + 1 : y);
    const spots = round.nodes.map((node) => ({
      id: node.id,
      parent: node.parent,
      depth: node.depth,
      row: shift(node.y),
      label: S.short(labels[node.id], LONGEST),
    }));
    spots.push({
      id: END,
      parent: final.id,
      depth: final.depth + 1,
      row: leaf ? final.y : below + 1,
      label: S.short(labels[END], LONGEST),
    });
    const rows = Math.max(...spots.map((spot) => spot.row)) + 1;
    const height = rowHeight(rows);
    const columns = [];
    for (const spot of spots) columns[spot.depth] = Math.max(columns[spot.depth] || 0, Array.from(spot.label).length);
    const lefts = [18];
    const numbers = height >= 38;
    const wide = (chars, depth) => Math.max(chars * CHAR, numbers && depth ? ODDS : 0);
    const needed = columns.reduce((sum, chars, depth) => sum + wide(chars, depth) + 50, 0);
    const spread = Math.max(0, Math.min(90, (room - needed - 10) / Math.max(1, columns.length - 1)));
    columns.forEach((chars, depth) => {
      lefts[depth + 1] = lefts[depth] + wide(chars, depth) + 50 + spread;
    });
    for (const spot of spots) {
      spot.x = lefts[spot.depth];
      spot.y = 22 + spot.row * height;
      spot.wide = Math.max(Array.from(spot.label).length * CHAR, 18);
      spot.clear = Math.max(spot.wide, numbers && spot.id !== END && spot.depth ? ODDS : 0);
    }
    return {
      spots,
      width: lefts[columns.length] - spread - 10,
      height: 44 + (rows - 1) * height + 8,
      row: height,
      numbers,
    };
  }

  const rowHeight = (rows) => (rows <= 7 ? 44 : rows <= 14 ? 38 : rows <= 24 ? 28 : 24);

  const edge = (from, to) => {
    const start = from.x + 14 + (from.y === to.y ? from.wide : from.clear) + 5,
      end = to.x - 11;
    const middle = Math.max((start + end) / 2, end - 40);
    return from.y === to.y
      ? `M${start},${from.y}H${end}`
      : `M${start},${from.y}C${middle},${from.y} ${middle},${to.y} ${end},${to.y}`;
  };

  function treePanel(box, act) {
    const list = h("ul", { class: "svp-legend" });
    for (const [fate, words] of [
      ["accepted", "accepted"],
      ["rejected", "rejected"],
      ["unreached", "unreached"],
      ["correction", "correction"],
      ["bonus", "bonus"],
      ["target", "the target's own"],
    ]) {
      list.append(h("li", {}, S.glyph(fate), words));
    }
    list.append(h("li", {}, "draft q → target p"));
    const scroll = h("div", { class: "svp-scroll" });
    const table = h(
      "details",
      { class: "svp-table" },
      h("summary", {}, "as a table"),
      h("div", { class: "svp-table-box" }),
    );
    table.addEventListener("toggle", () => act.draw());
    box.append(scroll, h("div", { class: "svp-treefoot" }, list, table));

    let built = null; // {round, parts: id → {group, mark, numbers, edge}, plan}
    let fitted = false;
    let reserved = null;

    function build(now) {
      const room = scroll.clientWidth;
      const plan = layout(now.round, now.labels, room);
      const byId = new Map(plan.spots.map((spot) => [spot.id, spot]));
      const edges = svg("g", { class: "svp-edges" });
      const nodes = svg("g", {});
      const parts = new Map();
      for (const spot of plan.spots) {
        const line = spot.parent >= 0 ? svg("path", { d: edge(byId.get(spot.parent), spot) }) : null;
        if (line) edges.append(line);
        const mark = svg("path", {});
        const numbers = plan.numbers ? svg("text", { class: "svp-odds", x: 14, y: 17 }) : null;
        const change = svg("text", { class: "svp-changed", x: -27, y: 4.5, "aria-hidden": "true" });
        const group = svg(
          "g",
          {
            role: "treeitem",
            tabindex: -1,
            "data-node": spot.id,
            "aria-level": spot.depth + 1,
            transform: `translate(${spot.x},${spot.y})`,
          },
          svg("rect", {
            class: "svp-hit",
            x: -13,
            y: -Math.max(12, plan.row / 2),
            width: spot.wide + 34,
            height: Math.max(24, plan.row),
            rx: 6,
          }),
          mark,
          svg("text", { class: "svp-label", x: 14, y: numbers ? 2 : 4.5, text: spot.label }),
          numbers,
          change,
          svg("title", {}),
        );
        group.style.setProperty("--share", (spot.x / plan.width).toFixed(3));
        nodes.append(group);
        parts.set(spot.id, { group, mark, numbers, change, line, title: group.lastChild });
      }
      const sweep = svg("rect", { class: "svp-sweep", x: -60, y: 0, width: 60, height: plan.height });
      const drawing = svg(
        "svg",
        {
          role: "tree",
          "aria-label": `draft tree of round ${now.cursor.round + 1}`,
          viewBox: `0 0 ${plan.width} ${plan.height}`,
        },
        sweep,
        edges,
        nodes,
      );
      drawing.style.setProperty("--sweep", `${plan.width + 60}px`);
      scroll.replaceChildren(drawing);
      return { round: now.round, room, parts, plan, drawing };
    }

    /** One height for the whole run, so that nothing below the tree moves from beat to beat. */
    function reserve(trace) {
      if (reserved === trace) return;
      reserved = trace;
      const rows = Math.max(...trace.rounds.map((round) => Math.max(...round.nodes.map((node) => node.y)))) + 2;
      scroll.style.height = `${Math.max(150, Math.min(440, 62 + rows * rowHeight(rows)))}px`;
    }

    function size() {
      if (!built) return;
      const { width, height } = built.plan;
      const room = scroll.clientWidth || width;
      const scale = fitted ? Math.min(1, room / width) : Math.min(1, Math.max(room / width, 0.8));
      built.drawing.setAttribute("width", width * scale);
      built.drawing.setAttribute("height", height * scale);
    }

    function odds(now, id) {
      if (id === END || !now.at.scored) {
        return id === END || id === 0 ? "" : S.predictions(now.round, now.round.nodes[id])[0];
      }
      const node = now.round.nodes[id];
      if (node.id === 0) return "";
      const [draft, target] = S.predictions(now.round, node);
      return `${draft} → ${target}`;
    }

    function draw(now) {
      reserve(now.trace);
      if (!built || built.round !== now.round || built.room !== scroll.clientWidth) {
        built = build(now);
        size();
      }
      const rank = new Map(built.plan.spots.map((spot) => [spot.id, now.stateOf(spot.id)]));
      for (const [id, part] of built.parts) {
        const state = rank.get(id);
        const before = part.group.dataset.state;
        const faded = now.at.committed && (state === "rejected" || state === "unreached");
        S.set(part.group, "data-state", state);
        S.set(
          part.group,
          "class",
          `svp-node is-${state}${faded ? " is-gone" : ""}${id === now.selected ? " is-selected" : ""}` +
            (before && before !== state ? " is-new" : ""),
        );
        S.set(part.mark, "d", S.SHAPES[state] || S.SHAPES.drafted);
        S.set(part.mark, "class", `svp-mark is-${state}`);
        S.set(part.group, "aria-label", now.nameOf(id));
        S.set(part.group, "aria-selected", id === now.selected);
        S.set(part.group, "aria-hidden", state === "hidden");
        S.set(part.group, "tabindex", id === now.selected ? 0 : -1);
        S.setText(part.title, now.nameOf(id));
        if (part.numbers) S.setText(part.numbers, odds(now, id));
        const changed = now.changes.get(id);
        S.setText(part.change, changed ? S.CHANGES[changed].sign : "");
        if (changed) S.set(part.group, "data-changed", changed);
        else part.group.removeAttribute("data-changed");
        if (part.line) S.set(part.line, "class", `svp-edge is-${state}${faded ? " is-gone" : ""}`);
      }
      S.set(
        built.drawing,
        "class",
        `svp-tree${now.at.phase === "target" ? " is-sweeping" : ""}${now.at.scored ? " is-scored" : ""}`,
      );
      if (table.open) table.lastChild.replaceChildren(twin(now));
      return () => reveal(now.selected);
    }

    function reveal(id) {
      const spot = built.plan.spots.find((one) => one.id === id);
      const scale = Number(built.drawing.getAttribute("width")) / built.plan.width;
      if (!spot || !scroll.clientWidth) return;
      const { scrollLeft: x, scrollTop: y, clientWidth: wide, clientHeight: high } = scroll;
      const left = spot.x * scale - 40,
        right = (spot.x + spot.wide + 40) * scale,
        top = (spot.y - 30) * scale,
        bottom = (spot.y + 30) * scale;
      if (left < x || right > x + wide) scroll.scrollLeft = left < x ? left : right - wide;
      if (top < y || bottom > y + high) scroll.scrollTop = top < y ? top : bottom - high;
    }

    /** The same tree for those who read tables. */
    function twin(now) {
      const cells = (tag, values) =>
        h(
          "tr",
          {},
          values.map((value) => h(tag, {}, value)),
        );
      const rows = now.round.nodes
        .filter((node) => now.stateOf(node.id) !== "hidden")
        .map((node) =>
          cells("td", [
            String(node.id),
            now.labels[node.id],
            node.parent < 0 ? "–" : String(node.parent),
            String(node.depth),
            S.prob(node.draft_prob),
            now.at.scored ? S.prob(node.target_prob) : "–",
            S.FATES[now.stateOf(node.id)] +
              (now.changes.has(node.id) ? `; ${S.CHANGES[now.changes.get(node.id)].words}` : ""),
          ]),
        );
      return h(
        "table",
        {},
        h("thead", {}, cells("th", ["node", "token", "parent", "depth", "draft q", "target p", "fate"])),
        h("tbody", {}, rows),
      );
    }

    /** Which node an arrow key leads to. */
    function neighbour(id, key) {
      const spots = built.plan.spots.filter((spot) => built.parts.get(spot.id).group.dataset.state !== "hidden");
      const here = spots.find((spot) => spot.id === id) || spots[0];
      if (key === "ArrowLeft") return here.parent < 0 ? null : here.parent;
      if (key === "ArrowRight") return spots.find((spot) => spot.parent === here.id)?.id ?? null;
      const column = spots.filter((spot) => spot.depth === here.depth).sort((one, other) => one.y - other.y);
      return column[column.indexOf(here) + (key === "ArrowDown" ? 1 : -1)]?.id ?? null;
    }

    const idOf = (group) => (group.dataset.node === END ? END : Number(group.dataset.node));
    scroll.addEventListener("click", (event) => {
      const group = event.target.closest("[data-node]");
      if (group) act.select(idOf(group));
    });
    scroll.addEventListener("keydown", (event) => {
      const group = event.target.closest("[data-node]");
      if (!group || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      const next = neighbour(idOf(group), event.key);
      if (next === null) return;
      act.select(next);
      built.parts.get(next).group.focus();
    });
    if (globalThis.ResizeObserver)
      new ResizeObserver(() => {
        if (built && built.room !== scroll.clientWidth) act.draw();
      }).observe(scroll);
    /** Point at nodes, while something elsewhere on the page speaks of them. */
    function name(nodes) {
      if (built) for (const [id, part] of built.parts) part.group.toggleAttribute("data-named", nodes.includes(id));
    }

    return {
      draw,
      name,
      fit() {
        fitted = !fitted;
        size();
      },
    };
  }

  Object.assign(S, { treePanel, layout });
})(globalThis.SpecViz);
