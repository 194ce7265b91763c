/* A draft's shape drawn by hand: a picture of the list of paths beside the field that holds it. The text stays the
   truth: a press changes the text, a changed text the picture. What the text said before a press can be taken back. */
// needs: dom, paths, shape
const drawing = (function (S) {
  "use strict";

  const { h, svg } = S;
  const CELL = 40; // what a finger needs
  const ACROSS = 46;
  const MOST_DRAWN = 128; // candidates; Medusa's published tree has 63
  const MOST_BEFORE = 50; // presses that can be taken back

  function mode(own, removing) {
    own.removing = removing;
    S.set(own.add, "aria-pressed", !removing);
    S.set(own.remove, "aria-pressed", removing);
    draw(own);
  }

  /** Another text for the field, which will come back as the value. */
  function put(own, text) {
    if (text === own.props.value) return;
    own.before = [...own.before, own.props.value || ""].slice(-MOST_BEFORE);
    own.write(text);
    load(own);
  }

  function takeBack(own) {
    if (!own.before.length) return;
    own.write(own.before.pop());
    load(own);
  }

  function takeRound(own) {
    const player = document.querySelector("#sv-player .sv-player")?.specviz;
    const round = player?.trace?.rounds[player.cursor.round];
    const text = round ? S.shapeOf(round) : "";
    if (text) put(own, text);
    else S.setText(own.said, round ? "Nothing was drafted in this round." : "No run is on the stage.");
  }

  function change(own, path, removing) {
    if (!removing) return put(own, S.pathsText(S.withChild(own.paths, path)));
    const left = S.withoutLeaf(own.paths, path);
    if (left) {
      const above = path.slice(0, -1).join(",");
      put(own, S.pathsText(left));
      return focus(own, above);
    }
    const why = own.paths.length === 1 && path.length ? "it is the last one" : "it has children";
    S.setText(
      own.said,
      `${path.length ? path.join(",") : "The root"} stays: ${path.length ? why : "it is no candidate"}.`,
    );
  }

  const focus = (own, key) => own.board.querySelector(`[data-path="${key}"]`)?.focus();

  /** Arrows go along the tree; + adds, − removes, whatever a press does. */
  function onkeydown(own, event, spot, spots) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = spots.indexOf(spot);
    const to = {
      ArrowLeft: () => focus(own, spot.above),
      ArrowRight: () => focus(own, spots.find((one) => one.depth && one.above === spot.key)?.key),
      ArrowUp: () => focus(own, spots[at - 1]?.key),
      ArrowDown: () => focus(own, spots[at + 1]?.key),
      "+": () => change(own, spot.path, false),
      "-": () => change(own, spot.path, true),
      Delete: () => change(own, spot.path, true),
      Backspace: () => change(own, spot.path, true),
    }[event.key];
    if (!to) return;
    event.preventDefault();
    to();
  }

  /** The text as it is now: its picture, or its problem under the last good picture. */
  function load(own) {
    const text = own.props.value || "";
    if (text === own.text) return;
    own.text = text;
    const { paths, problem } = S.readPaths(text);
    if (!problem) own.paths = paths;
    own.root.dataset.problem = problem ? "1" : "";
    const deepest = Math.max(0, ...paths.map((path) => path.length));
    S.setText(own.said, problem || `${paths.length} candidate${paths.length === 1 ? "" : "s"}, ${deepest} deep.`);
    draw(own);
  }

  function draw(own) {
    own.undo.disabled = !own.before.length;
    const focused = own.board.contains(document.activeElement)
      ? document.activeElement.getAttribute("data-path")
      : null;
    if (own.paths.length > MOST_DRAWN) {
      own.board.replaceChildren(h("p", {}, `More than ${MOST_DRAWN} candidates are not drawn; the text says them.`));
      return;
    }
    const { spots, rows } = S.placed(own.paths);
    const x = (spot) => spot.depth * ACROSS;
    const y = (spot) => spot.row * CELL;
    const deepest = Math.max(...spots.map((spot) => spot.depth));
    const size = { width: deepest * ACROSS + CELL, height: rows * CELL };
    const byKey = new Map(spots.map((spot) => [spot.key, spot]));
    const half = CELL / 2;
    const lines = spots.slice(1).map((spot) => {
      const from = byKey.get(spot.above);
      const middle = (x(from) + x(spot)) / 2 + half;
      const [x0, y0, x1, y1] = [x(from) + half, y(from) + half, x(spot) + half, y(spot) + half];
      return svg("path", { d: `M${x0},${y0}C${middle},${y0} ${middle},${y1} ${x1},${y1}` });
    });
    const inTurn = byKey.has(focused) ? focused : "";
    const nodes = spots.map((spot) => button(own, spot, x(spot), y(spot), spots, inTurn));
    const picture = svg(
      "svg",
      { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "aria-hidden": "true" },
      ...lines,
    );
    own.board.replaceChildren(
      h("div", { class: "svd-tree", style: `width:${size.width}px;height:${size.height}px` }, picture, ...nodes),
    );
    if (focused !== null) focus(own, inTurn);
  }

  function button(own, spot, left, top, spots, inTurn) {
    const name = spot.depth ? `candidate ${spot.key}` : "the root";
    const leaf = spots.every((one) => !one.depth || one.above !== spot.key);
    return h(
      "button",
      {
        type: "button",
        class: `svd-node${spot.depth ? "" : " is-root"}${own.removing && !(leaf && spot.depth) ? " is-kept" : ""}`,
        style: `left:${left}px;top:${top}px`,
        "data-path": spot.key,
        tabindex: spot.key === inTurn ? 0 : -1,
        "aria-label": `${name}: ${own.removing ? "remove" : "add a child"}`,
        title: `${name}; + adds a child, − removes it`,
        onclick: () => change(own, spot.path, own.removing),
        onkeydown: (event) => onkeydown(own, event, spot, spots),
      },
      h("span", {}, spot.depth ? String(spot.path.at(-1)) : ""),
    );
  }

  /** Mount into `element`; `props.value` is the text, `write(text)` puts another into the field. */
  function mountDrawing(element, props, watch, write) {
    const root = element.querySelector(".sv-drawing");
    const board = h("div", { class: "svd-board", role: "group", "aria-label": "the draft's shape" });
    const said = h("p", { class: "svd-said", role: "status" });
    const add = h("button", { type: "button", onclick: () => mode(own, false) }, "a press adds a child");
    const remove = h("button", { type: "button", onclick: () => mode(own, true) }, "a press removes a leaf");
    const undo = h("button", { type: "button", onclick: () => takeBack(own) }, "undo");
    const presets = Object.entries(S.PRESETS).map(([words, text]) =>
      h("button", { type: "button", onclick: () => put(own, text) }, words),
    );
    const taken = h("button", { type: "button", onclick: () => takeRound(own) }, "take this round's tree");
    const drawn = { paths: [], text: null, removing: false, before: [] };
    const own = { ...drawn, props, write, root, board, said, add, remove, undo };
    root.append(
      h("div", { class: "svd-row" }, add, remove, undo),
      board,
      said,
      h("div", { class: "svd-row" }, ...presets, taken),
    );

    if (watch) watch("value", () => load(own));
    mode(own, false);
    load(own);
  }

  return { mountDrawing };
})(SpecViz);
Object.assign(SpecViz, drawing);
