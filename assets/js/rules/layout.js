/* Where a round's draft tree stands on the screen: which of its nodes are shown, and where. Pure.
   A tree runs across where it fits into the room and down, one row per node, where it does not (a phone). Large ones
   are folded; what is folded follows from what is known at the moment, never from how the round ends. */
// needs: bytes, numbers, state
const layout = (function (S) {
  "use strict";

  const { END } = S;
  const CHAR = 8.5; // width of a monospace character of a label (14 px)
  const DIGIT = 7.2; // width of a character of the odds (13 px)
  const LONGEST = 12; // characters of a label
  const ROW = 40; // what a finger needs
  const INDENT = { most: 24, least: 13 };
  const MOST = { across: 24, down: 12 }; // nodes that a round shows without folding
  const FAMILY = 12; // children of one node that a folded tree shows by themselves
  const READABLE = 22; // a row too low for a label shows marks alone

  /** Node → its children, in the order of their ids.
      @param {trace.Round} round */
  function familiesOf(round) {
    const families = round.nodes.map(() => []);
    for (const node of round.nodes) if (node.parent >= 0) families[node.parent].push(node.id);
    return families;
  }

  /** Nodes whose children show by themselves at a moment: on the way to the trial at hand, below what a walk has
      accepted, on the path once it is known, and on the way to the selection.
      @param {trace.Round} round @param {View} at */
  function openNodes(round, at, selected) {
    const open = new Set([0]);
    const upTo = (id) => {
      for (let up = id; up >= 0; up = round.nodes[up].parent) open.add(up);
    };
    const { trials, path, final_node: final } = round.judged;
    const said = trials.slice(0, at.trials);
    const now = said.at(-1);
    if (now) upTo(round.nodes[now.node].parent);
    if (S.orderOf(round) === "top_down") for (const trial of said) if (trial.accepted) upTo(trial.node);
    if (at.drawn) for (const id of [...path, final]) upTo(id);
    if (selected !== END && selected > 0) upTo(round.nodes[selected].parent);
    return open;
  }

  /** The children of a node that a folded tree shows: the first of them, and all that were tried, are on the way to
      something shown, or are selected.
      @param {trace.Round} round */
  function someOf(round, family, { at, open, selected }) {
    if (family.length <= FAMILY) return family;
    const said = new Set(round.judged.trials.slice(0, at.trials).map((trial) => trial.node));
    const wanted = family.filter((id) => open.has(id) || said.has(id) || id === selected);
    const first = family.slice(0, Math.max(0, FAMILY - wanted.length));
    return family.filter((id) => first.includes(id) || wanted.includes(id));
  }

  /** {shown: ids in depth-first order, folded: id → how many drafted nodes hang folded below it, be it all or the last
      of many children}. `opened` holds what was opened or folded by hand (id → true or false); a chain, or a round of
      at most `most` nodes, folds nothing else.
      @param {trace.Round} round @param {View} at */
  function unfolded(round, at, { selected = 0, opened = new Map(), most = MOST.across } = {}) {
    const families = familiesOf(round);
    const small = round.nodes.length - 1 <= most || isChain(round);
    const open = small ? null : openNodes(round, at, selected);
    const [shown, folded] = [[], new Map()];
    /** @type {[id: number, along: boolean][]} with each node, whether opening its parent opens it */
    const stack = [[0, false]];
    const below = (id) =>
      families[id].reduce((sum, child) => sum + (round.nodes[child].depth <= at.level ? 1 : 0) + below(child), 0);
    while (stack.length) {
      const [id, along] = stack.pop();
      shown.push(id);
      if (!families[id].length) continue;
      const wide = opened.get(id) ?? (open ? along || open.has(id) : true);
      if (!wide) folded.set(id, below(id));
      const single = families[id].length === 1 && (along || opened.get(id) === true);
      const whole = !open || opened.get(id) === true;
      const family = !wide ? [] : whole ? families[id] : someOf(round, families[id], { at, open, selected });
      const rest = wide ? families[id].filter((child) => !family.includes(child)) : [];
      const hidden = rest.reduce((sum, child) => sum + Number(round.nodes[child].depth <= at.level) + below(child), 0);
      if (hidden) folded.set(id, hidden);
      for (const child of [...family].reverse()) stack.push([child, single]);
    }
    return { shown, folded };
  }

  /** Rows of a tree that runs across: leaves one below the other, a parent between its first and last child, the
      round's last token on a row of its own below its parent's subtree.
      @param {trace.Round} round */
  function rowsAcross(round, shown, withEnd) {
    const inside = new Set(shown);
    const families = familiesOf(round).map((family) => family.filter((id) => inside.has(id)));
    const rows = new Map();
    const final = round.judged.final_node;
    let next = 0;
    const place = (id) => {
      for (const child of families[id]) place(child);
      const all = families[id].map((child) => rows.get(child));
      rows.set(id, all.length ? (all[0] + all.at(-1)) / 2 : next++);
      if (id === final && withEnd) rows.set(END, all.length ? next++ : rows.get(id));
    };
    place(0);
    return { rows, count: next };
  }

  /** Rows of a tree that runs down: a node per row, indented only where its parent has several children.
      @param {trace.Round} round */
  function rowsDown(round, shown, withEnd) {
    const inside = new Set(shown);
    const families = familiesOf(round).map((family) => family.filter((id) => inside.has(id)));
    /** @type {Map<number | string, number>} */
    const indents = new Map([[0, 0]]);
    const rows = new Map();
    const final = round.judged.final_node;
    let next = 0;
    const place = (id) => {
      rows.set(id, next++);
      const ends = id === final && withEnd;
      const inner = indents.get(id) + (families[id].length + (ends ? 1 : 0) > 1 ? 1 : 0);
      for (const child of families[id]) {
        indents.set(child, inner);
        place(child);
      }
      if (!ends) return;
      indents.set(END, inner);
      rows.set(END, next++);
    };
    place(0);
    return { rows, indents, count: next };
  }

  const foldWidth = (count) => (count ? (String(count).length + 1) * DIGIT + 14 : 0);

  /** The marks alone, in a box of `room` × `high` pixels: a map of the whole tree.
      @param {trace.Round} round */
  function overview(round, { room, high, withEnd }) {
    const shown = round.nodes.map((node) => node.id);
    const { rows, count } = rowsAcross(round, shown, withEnd);
    const row = Math.min(ROW, (high - 24) / Math.max(1, count));
    const deepest = Math.max(...round.nodes.map((node) => node.depth)) + 1;
    const spots = [...shown, ...(withEnd ? [END] : [])].map((id) => {
      const node = round.nodes[id === END ? round.judged.final_node : id];
      const depth = id === END ? node.depth + 1 : node.depth;
      return {
        id,
        parent: id === END ? node.id : node.parent,
        depth,
        x: 14 + (depth * (room - 28)) / deepest,
        y: 12 + row / 2 + rows.get(id) * row,
        label: "",
        wide: 0,
        clear: 0,
        folded: 0,
      };
    });
    const marks = Math.min(1, row / 18);
    return { spots, width: room, height: Math.max(high, 24 + count * row), row, down: false, marks };
  }

  /** @param {trace.Round} round */
  const isChain = (round) => familiesOf(round).every((family) => family.length < 2);

  /** Where everything stands: {spots: [{id, parent, depth, x, y, label, wide, clear, folded}], width, height, row,
      down, bare}, in pixels; `bare`: a chain that fits across only where one node at a time shows its odds. `room` is
      the width there is (0: as much as it takes), `most` the width of a tree that runs down, `row` the height of a row,
      `odds` the widest text of a node's odds, `high` the height of the box if the whole tree is wanted in it, `nodes`
      how many times as many nodes as usual are shown without folding.
      @param {trace.Round} round */
  function layout(round, labels, options = {}) {
    const { room = 0, odds = () => "", high = 0, withEnd = true, row = ROW, most = Infinity, nodes = 1 } = options;
    const all = round.nodes.length;
    if (high && (high - 24) / Math.max(1, rowsAcross(round, [...round.nodes.keys()], withEnd).count) < READABLE)
      return overview(round, { room, high, withEnd });
    const { at = { level: Infinity, trials: 0 }, selected = 0, opened } = options;
    const tree = (shown) => unfolded(round, at, { selected, opened, most: high ? all : shown });
    const set = { odds, withEnd, row };
    const whole = across(round, labels, tree(all), { ...set, room }); // which way it runs does not hang on the moment
    if (room && whole.width > room && isChain(round)) {
      const bare = across(round, labels, tree(all), { ...set, room, odds: () => "" });
      if (bare.width <= room) return { ...bare, bare: true };
    }
    if (room && whole.width > room)
      return down(round, labels, tree(MOST.down * nodes), { ...set, room: Math.min(room, most) });
    return across(round, labels, tree(MOST.across * nodes), { ...set, room });
  }

  /** @param {trace.Round} round */
  function spotsOf(round, labels, { shown, folded }, withEnd) {
    const { final_node: final } = round.judged;
    const spots = shown.map((id) => {
      const { parent, depth } = round.nodes[id];
      return { id, parent, depth, label: S.short(labels[id], LONGEST), folded: folded.get(id) || 0 };
    });
    const closed = folded.has(final) && !shown.some((id) => round.nodes[id].parent === final);
    if (withEnd && shown.includes(final) && !closed)
      spots.push({
        id: END,
        parent: final,
        depth: round.nodes[final].depth + 1,
        label: S.short(labels[END], LONGEST),
        folded: 0,
      });
    return spots;
  }

  const labelWidth = (label) => Math.max(Array.from(label).length * CHAR, 18);

  /** @param {trace.Round} round */
  function across(round, labels, tree, { room, odds, withEnd, row }) {
    const spots = spotsOf(round, labels, tree, withEnd);
    const { rows, count } = rowsAcross(round, tree.shown, spots.at(-1).id === END);
    const columns = []; // whole pixels: a browser cuts a drawing's size to 1/64 of one, and its letters with it
    for (const spot of spots) {
      spot.wide = labelWidth(spot.label);
      spot.clear = Math.max(spot.wide + foldWidth(spot.folded), odds(spot.id).length * DIGIT);
      columns[spot.depth] = Math.max(columns[spot.depth] || 0, Math.ceil(spot.clear));
    }
    const deepest = Math.max(...round.nodes.map((node) => node.depth));
    columns[deepest + 1] = Math.ceil(LONGEST * CHAR); // free for the last token, so that nothing moves when it comes
    const gap = 42;
    const needed = 18 + columns.reduce((sum, wide) => sum + wide + gap, 0) - gap + 22;
    const spread = Math.max(0, Math.min(90, Math.floor((room - needed) / Math.max(1, columns.length - 1))));
    const lefts = [18];
    columns.forEach((wide, depth) => lefts.push(lefts[depth] + wide + gap + spread));
    for (const spot of spots) {
      spot.x = lefts[spot.depth];
      spot.y = 24 + rows.get(spot.id) * row;
    }
    const width = needed + spread * Math.max(0, columns.length - 1);
    return { spots, width, height: 48 + Math.max(0, count - 1) * row, row, down: false, marks: 1 };
  }

  /** @param {trace.Round} round */
  function down(round, labels, tree, { room, odds, withEnd, row }) {
    const spots = spotsOf(round, labels, tree, withEnd);
    const { rows, indents, count } = rowsDown(round, tree.shown, spots.at(-1).id === END);
    const deepest = Math.max(1, ...spots.map((spot) => indents.get(spot.id)));
    const numbers = Math.max(...spots.map((spot) => odds(spot.id).length)) * DIGIT;
    const left = room - numbers - 18 - 20 - 14 - LONGEST * CHAR;
    const step = Math.max(INDENT.least, Math.min(INDENT.most, left / deepest));
    for (const spot of spots) {
      spot.x = 20 + indents.get(spot.id) * step;
      spot.y = 24 + rows.get(spot.id) * row;
      const chars = Math.floor((room - numbers - 18 - spot.x - 14 - foldWidth(spot.folded)) / CHAR);
      spot.label = S.short(spot.label, Math.max(3, chars));
      spot.wide = labelWidth(spot.label);
      spot.clear = spot.wide;
    }
    return { spots, width: room, height: 48 + (count - 1) * row, row, down: true, marks: 1 };
  }

  /** The line from a node to its child, as a path of the drawing. */
  function edge(plan, from, to) {
    if (!plan.down) {
      const start = from.x + (plan.marks < 1 || !from.label ? 4 : 19 + (from.y === to.y ? from.wide : from.clear));
      const end = to.x - 11 * plan.marks;
      const middle = Math.max((start + end) / 2, end - 40);
      return from.y === to.y
        ? `M${start},${from.y}H${end}`
        : `M${start},${from.y}C${middle},${from.y} ${middle},${to.y} ${end},${to.y}`;
    }
    if (from.x === to.x) return `M${from.x},${from.y + 11}V${to.y - 10}`;
    const turn = `Q${from.x},${to.y} ${from.x + 5},${to.y}`;
    return `M${from.x},${from.y + 11}V${to.y - 5}${turn}H${Math.max(from.x + 5, to.x - 9)}`;
  }

  const UNFOLDED = MOST.across;
  return { layout, edge, unfolded, overview, UNFOLDED };
})(SpecViz);
Object.assign(SpecViz, layout);
