/* The draft tree as SVG: built once per round, then only changed in place from beat to beat. */
// needs: distributions, dom, layout, numbers, picture, rejudging, shape, state, text, tree_map, wording, words
const tree = (function (S) {
  "use strict";

  const { h, svg, END } = S;
  S.bringsTerms({ sentences: [".svp-legend li"], labels: [".svp-table thead th"] });
  const BOX = { least: 100, most: 440, narrow: 190 }; // height of the box, in pixels; a phone has no more
  const NARROW = 560;
  const DOWN_MOST = 520; // a wider list of nodes would set odds too far from their tokens
  const ZOOMS = [0.6, 0.8, 1, 1.3, 1.6];
  /** Where everything stands at this moment.
      @param {Moment} now */
  function plan(own, now) {
    if (own.openedIn !== now.round) [own.openedIn, own.opened] = [now.round, new Map()];
    const scored = { ...now, at: { ...now.at, scored: true } };
    return S.layout(now.round, now.labels, {
      ...roomOf(own, now),
      at: now.at,
      selected: now.selected,
      opened: own.opened,
      odds: (id) => odds(scored, id),
      withEnd: now.at.drawn, // its place would tell where the round ends
      nodes: Math.max(1, 1 / ZOOMS[own.zoom] ** 2),
      high: own.fitted ? (own.scroll.clientHeight - 4) / scaleOf(own, now) : 0,
    });
  }

  /** @param {Moment} now */
  const scaleOf = (own, now) => (now.view === "present" ? PRESENT.scale : ZOOMS[own.zoom]);

  /** @param {Moment} now */
  const roomOf = (own, now) => ({
    room: own.scroll.clientWidth / scaleOf(own, now),
    most: DOWN_MOST,
    row: now.view === "present" ? PRESENT.row : undefined,
  });

  /** @param {Moment} now */
  const keyOf = (own, now, drawn) =>
    [
      now.view,
      own.zoom,
      own.scroll.clientWidth,
      own.fitted && own.scroll.clientHeight,
      ...drawn.spots.map((spot) => `${spot.id}+${spot.folded}`),
    ].join();

  /** @param {Moment} now */
  function build(own, now, drawn, key) {
    const byId = new Map(drawn.spots.map((spot) => [spot.id, spot]));
    const edges = svg("g", { class: "svp-edges" });
    const nodes = svg("g", {});
    const parts = new Map();
    for (const spot of drawn.spots) {
      const line = spot.parent >= 0 ? svg("path", { d: S.edge(drawn, byId.get(spot.parent), spot) }) : null;
      if (line) edges.append(line);
      const part = item(own, spot, drawn, S.isGrounded(now.trace, tokenAt(now.round, spot.id)));
      nodes.append(part.group);
      parts.set(spot.id, { ...part, line });
    }
    const sweep = svg("rect", { class: "svp-sweep", x: -60, y: 0, width: 60, height: drawn.height });
    const drawing = svg(
      "svg",
      {
        role: "tree",
        "aria-label": `draft tree of round ${now.cursor.round + 1}`,
        viewBox: `0 0 ${drawn.width} ${drawn.height}`,
        width: drawn.width * scaleOf(own, now),
        height: drawn.height * scaleOf(own, now),
      },
      sweep,
      edges,
      nodes,
    );
    drawing.style.setProperty("--sweep", `${drawn.width + 60}px`);
    const focused = own.scroll.contains(document.activeElement);
    own.scroll.replaceChildren(drawing);
    if (focused) parts.get(now.selected)?.group.focus({ preventScroll: true });
    return { round: now.round, key, parts, plan: drawn, drawing, scale: scaleOf(own, now) };
  }

  /** @param {trace.Round} round */
  const tokenAt = (round, id) => (id === END ? round.judged.token : round.nodes[id].token);

  /** A node: a target of 40 pixels, its mark, label and odds, and what is folded below it. */
  function item(own, spot, { row, down, width, marks }, isDecided) {
    const mark = svg("path", { transform: marks < 1 ? `scale(${marks})` : null });
    const numbers = spot.label
      ? svg("text", {
          class: "svp-odds",
          x: down ? width - spot.x - 8 : 14,
          y: down ? 5 : 18,
          "text-anchor": down ? "end" : null,
        })
      : null;
    const change = svg("text", { class: "svp-changed", x: -27, y: 4.5, "aria-hidden": "true" });
    const high = Math.max(6, row);
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
        y: -high / 2,
        width: down ? width - spot.x + 11 : Math.max(40, spot.clear + 27),
        height: high,
        rx: 6,
      }),
      mark,
      isDecided ? svg("rect", { class: "svp-decided", x: -13, y: -12, width: 5, height: 5 }) : null,
      svg("text", { class: "svp-label", x: 14, y: down || !numbers ? 5 : 3, text: spot.label }),
      numbers,
      change,
      fold(own, spot, down),
      svg("title", {}),
    );
    group.style.setProperty("--share", (spot.x / width).toFixed(3));
    if (spot.folded || own.opened.get(spot.id)) S.set(group, "aria-expanded", !spot.folded);
    return { group, mark, numbers, change, title: group.lastChild };
  }

  /** "+12": nodes folded below one, to be opened by a press; "−" folds them again. */
  function fold(own, spot, down) {
    if (!spot.label || (!spot.folded && !own.opened.get(spot.id))) return null;
    const text = spot.folded ? `+${spot.folded}` : "−";
    const at = 14 + spot.wide + 6;
    const wide = text.length * 8 + 10;
    return svg(
      "g",
      { class: "svp-fold", "data-fold": spot.folded ? "open" : "fold", "aria-hidden": "true" },
      svg("rect", { class: "svp-foldhit", x: at - 8, y: -20, width: Math.max(40, wide + 16), height: 40 }),
      svg("rect", { class: "svp-foldbox", x: at, y: down ? -11 : -13, width: wide, height: 22, rx: 11 }),
      svg("text", { x: at + wide / 2, y: down ? 4.5 : 2.5, "text-anchor": "middle", text }),
    );
  }

  /** One height for the whole run, so that nothing below the tree moves from beat to beat.
      @param {Moment} now */
  function reserve(own, now) {
    const room = own.scroll.clientWidth;
    if (now.view === "present" || !room) return; // there it fills what is left
    if (own.reserved && own.reserved.trace === now.trace && own.reserved.room === room) return;
    const heights = now.trace.rounds.map((round, index) => {
      const labels = S.nodeLabels(now.trace, index);
      const scored = { ...now, round, labels, at: { ...now.at, scored: true } };
      const at = S.view(round, Infinity);
      return S.layout(round, labels, { ...roomOf(own, now), at, odds: (id) => odds(scored, id) }).height;
    });
    const most = room < NARROW ? BOX.narrow : BOX.most;
    const height = Math.max(BOX.least, Math.min(most, Math.max(...heights) + 4));
    own.reserved = { trace: now.trace, room, height };
    own.scroll.style.height = `${height}px`;
  }

  /** @param {Moment} now */
  function odds(now, id) {
    if (id === END || id === 0) return "";
    const [draft, target] = S.odds(now.trace, now.round, now.round.nodes[id], S.told(now.at));
    return target === "–" ? draft : `${draft === "–" ? "" : draft} → ${target}`;
  }

  /** @param {Moment} now */
  function draw(own, now) {
    own.decided.hidden = !now.trace.started.scene;
    own.behind.hidden = !now.trace.rounds.some(S.endsText); // of the whole run: the stage keeps its height
    reserve(own, now);
    const drawn = plan(own, now);
    const key = keyOf(own, now, drawn);
    if (!own.built || own.built.round !== now.round || own.built.key !== key) own.built = build(own, now, drawn, key);
    const rank = new Map(own.built.plan.spots.map((spot) => [spot.id, now.stateOf(spot.id)]));
    for (const [id, part] of own.built.parts) {
      const state = rank.get(id);
      const before = part.group.dataset.state;
      const faded = now.at.committed && ["rejected", "unreached", "behind"].includes(state);
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
      const bare = own.built.plan.bare && id !== now.selected;
      if (part.numbers) S.setText(part.numbers, bare ? "" : odds(now, id));
      const changed = now.changes.get(id);
      S.setText(part.change, changed ? S.CHANGES[changed].sign : "");
      if (changed) S.set(part.group, "data-changed", changed);
      else part.group.removeAttribute("data-changed");
      if (part.line) S.set(part.line, "class", `svp-edge is-${state}${faded ? " is-gone" : ""}`);
    }
    S.set(
      own.built.drawing,
      "class",
      `svp-tree${now.at.phase === "target" ? " is-sweeping" : ""}${now.at.scored ? " is-scored" : ""}`,
    );
    if (own.table.open) own.table.lastChild.replaceChildren(twin(now));
    own.shape.draw(now.round);
    own.map.draw(now, own.built.plan.spots);
    own.zooms.forEach((button, place) => (button.disabled = own.zoom === (place ? ZOOMS.length - 1 : 0)));
    return () => reveal(own, now.selected);
  }

  function reveal(own, id) {
    const spot = own.built.plan.spots.find((one) => one.id === id);
    if (!spot || !own.scroll.clientWidth) return;
    const { scrollLeft: x, scrollTop: y, clientWidth: wide, clientHeight: high } = own.scroll;
    const left = (spot.x - 40) * own.built.scale,
      right = (spot.x + spot.wide + 40) * own.built.scale,
      top = (spot.y - 30) * own.built.scale,
      bottom = (spot.y + 30) * own.built.scale;
    if (!own.built.plan.down && (left < x || right > x + wide)) own.scroll.scrollLeft = left < x ? left : right - wide;
    if (top < y || bottom > y + high) own.scroll.scrollTop = top < y ? top : bottom - high;
  }

  /** The same tree for those who read tables.
      @param {Moment} now */
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
          ...(node.parent < 0 ? ["–", "–"] : S.odds(now.trace, now.round, node, S.told(now.at))),
          S.fateWord(now.stateOf(node.id)) +
            (now.changes.has(node.id) ? `; ${S.CHANGES[now.changes.get(node.id)].words}` : ""),
        ]),
      );
    return h(
      "table",
      {},
      h("thead", {}, cells("th", ["node", "token", "parent", "depth", "draft q", "target p", "fate"].map(S.word))),
      h("tbody", {}, rows),
    );
  }

  /** Which node an arrow key leads to. */
  function neighbour(own, id, key) {
    const spots = own.built.plan.spots.filter((spot) => own.built.parts.get(spot.id).group.dataset.state !== "hidden");
    const here = spots.find((spot) => spot.id === id) || spots[0];
    if (key === "ArrowLeft") return here.parent < 0 ? null : here.parent;
    if (key === "ArrowRight") return spots.find((spot) => spot.parent === here.id)?.id ?? null;
    const column = spots
      .filter((spot) => own.built.plan.down || spot.depth === here.depth)
      .sort((one, other) => one.y - other.y);
    return column[column.indexOf(here) + (key === "ArrowDown" ? 1 : -1)]?.id ?? null;
  }

  const idOf = (group) => (group.dataset.node === END ? END : Number(group.dataset.node));

  const foldedAt = (own, id) => own.built.plan.spots.find((spot) => spot.id === id).folded > 0;

  const PRESENT = { scale: 1.16, row: 33 }; // its smallest text is then as large as the rest; no finger touches it

  /** What the marks mean; two of its entries show only in runs that have such tokens. */
  function legend() {
    const list = h("ul", { class: "svp-legend" });
    for (const fate of ["accepted", "rejected", "unreached", "correction", "bonus", "target"]) {
      const letter = ["rejected", "unreached"].includes(fate) ? null : S.LETTERS[fate]; // their tokens bear none
      const sign = letter ? h("sup", { title: "so it is marked in the text" }, letter) : null;
      list.append(h("li", {}, S.glyph(fate), h("span", S.worded(S.FATES[fate])), sign));
    }
    const decided = h("li", { hidden: true }, h("i", { class: "svp-decided-sign" }), S.DECIDED);
    const behind = h("li", { hidden: true }, S.glyph("behind"), h("span", S.worded(S.FATES.behind)));
    list.append(behind, h("li", S.worded("draft q → target p")), decided);
    return { list, decided, behind };
  }

  /** A press chooses a node or opens what is folded below it; arrow keys go along the tree. */
  function listen(own) {
    const { scroll, act } = own;
    scroll.addEventListener("click", (event) => {
      const group = event.target.closest("[data-node]");
      if (!group) return;
      const press = event.target.closest("[data-fold]");
      if (press) own.opened.set(idOf(group), press.dataset.fold === "open");
      act.select(idOf(group), !press);
    });
    scroll.addEventListener("keydown", (event) => {
      const group = event.target.closest("[data-node]");
      if (!group || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      const id = idOf(group);
      if (event.key === "ArrowRight" && foldedAt(own, id)) {
        own.opened.set(id, true);
        return act.select(id);
      }
      const next = neighbour(own, id, event.key);
      if (next === null) return;
      act.select(next);
      own.built.parts.get(next).group.focus();
      act.say(act.now().nameOf(next));
    });
  }

  /** @param {Act} act */
  function treePanel(box, act) {
    const { list, decided, behind } = legend();
    const scroll = h("div", { class: "svp-scroll" });
    const table = h(
      "details",
      { class: "svp-table" },
      h("summary", {}, "as a table"),
      h("div", { class: "svp-table-box", tabindex: "0", role: "region", "aria-label": "the tree as a table" }),
    );
    table.addEventListener("toggle", () => act.draw());
    const whole = h(
      "button",
      { type: "button", class: "svp-link", "aria-pressed": "false", onclick: () => act.run("fit") },
      "whole tree",
    );
    const zooms = [
      ["−", -1, "smaller, with more of the tree unfolded"],
      ["+", 1, "larger"],
    ].map(([text, by, title]) =>
      h(
        "button",
        { type: "button", class: "svp-link svp-zoom", title, "aria-label": title, onclick: () => zoomBy(by) },
        text,
      ),
    );
    const shape = S.shapeFold(act);
    const map = S.treeMap(act);
    const tools = h("span", { class: "svp-treetools" }, whole, zooms);
    box.append(scroll, map.element, h("div", { class: "svp-treefoot" }, list, tools, table, shape.fold));

    const own = {
      act,
      scroll,
      table,
      zooms,
      shape,
      map,
      decided,
      behind,
      built: null, // {round, key, parts: id → {group, mark, numbers, line}, plan, drawing, scale}
      fitted: false, // whether the whole tree is to fit into the box
      zoom: ZOOMS.indexOf(1),
      reserved: null, // {trace, room, height}
      opened: new Map(), // id → whether it was opened or folded by hand, in this round
      openedIn: null, // that round
    };

    function zoomBy(by) {
      own.zoom = Math.max(0, Math.min(ZOOMS.length - 1, own.zoom + by));
      act.draw();
    }
    listen(own);
    let seen = 0;
    if (globalThis.ResizeObserver)
      new ResizeObserver(() => {
        const size = scroll.clientWidth + (own.fitted ? scroll.clientHeight / 1e5 : 0);
        if (own.built && size !== seen) act.draw();
        seen = size;
      }).observe(scroll);

    /** Point at nodes, while something elsewhere on the page speaks of them. */
    function name(nodes) {
      if (own.built)
        for (const [id, part] of own.built.parts) part.group.toggleAttribute("data-named", nodes.includes(id));
    }

    return {
      draw: (now) => draw(own, now),
      name,
      fit() {
        own.fitted = !own.fitted;
        S.set(whole, "aria-pressed", own.fitted);
        act.draw();
      },
    };
  }

  return { treePanel };
})(SpecViz);
Object.assign(SpecViz, tree);
