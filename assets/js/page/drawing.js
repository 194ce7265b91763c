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

  /** Mount into `element`; `props.value` is the text, `write(text)` puts another into the field. */
  function mountDrawing(element, props, watch, write) {
    const root = element.querySelector(".sv-drawing");
    const own = { paths: [], text: null, removing: false, before: [] };
    const board = h("div", { class: "svd-board", role: "group", "aria-label": "the draft's shape" });
    const said = h("p", { class: "svd-said", role: "status" });
    const add = h("button", { type: "button", onclick: () => mode(false) }, "a press adds a child");
    const remove = h("button", { type: "button", onclick: () => mode(true) }, "a press removes a leaf");
    const undo = h("button", { type: "button", onclick: takeBack }, "undo");
    const presets = Object.entries(S.PRESETS).map(([words, text]) =>
      h("button", { type: "button", onclick: () => put(text) }, words),
    );
    const taken = h("button", { type: "button", onclick: takeRound }, "take this round's tree");
    root.append(
      h("div", { class: "svd-row" }, add, remove, undo),
      board,
      said,
      h("div", { class: "svd-row" }, ...presets, taken),
    );

    function mode(removing) {
      own.removing = removing;
      S.set(add, "aria-pressed", !removing);
      S.set(remove, "aria-pressed", removing);
      draw();
    }

    /** Another text for the field, which will come back as the value. */
    function put(text) {
      if (text === props.value) return;
      own.before = [...own.before, props.value || ""].slice(-MOST_BEFORE);
      write(text);
      load();
    }

    function takeBack() {
      if (!own.before.length) return;
      write(own.before.pop());
      load();
    }

    function takeRound() {
      const player = document.querySelector("#sv-player .sv-player")?.specviz;
      const round = player?.trace?.rounds[player.cursor.round];
      const text = round ? S.shapeOf(round) : "";
      if (text) put(text);
      else S.setText(said, round ? "Nothing was drafted in this round." : "No run is on the stage.");
    }

    function change(path, removing) {
      if (!removing) return put(S.pathsText(S.withChild(own.paths, path)));
      const left = S.withoutLeaf(own.paths, path);
      if (left) {
        const above = path.slice(0, -1).join(",");
        put(S.pathsText(left));
        return focus(above);
      }
      const why = own.paths.length === 1 && path.length ? "it is the last one" : "it has children";
      S.setText(
        said,
        `${path.length ? path.join(",") : "The root"} stays: ${path.length ? why : "it is no candidate"}.`,
      );
    }

    const focus = (key) => board.querySelector(`[data-path="${key}"]`)?.focus();

    /** Arrows go along the tree; + adds, − removes, whatever a press does. */
    function onkeydown(event, spot, spots) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const at = spots.indexOf(spot);
      const to = {
        ArrowLeft: () => focus(spot.above),
        ArrowRight: () => focus(spots.find((one) => one.depth && one.above === spot.key)?.key),
        ArrowUp: () => focus(spots[at - 1]?.key),
        ArrowDown: () => focus(spots[at + 1]?.key),
        "+": () => change(spot.path, false),
        "-": () => change(spot.path, true),
        Delete: () => change(spot.path, true),
        Backspace: () => change(spot.path, true),
      }[event.key];
      if (!to) return;
      event.preventDefault();
      to();
    }

    /** The text as it is now: its picture, or its problem under the last good picture. */
    function load() {
      const text = props.value || "";
      if (text === own.text) return;
      own.text = text;
      const { paths, problem } = S.readPaths(text);
      if (!problem) own.paths = paths;
      root.dataset.problem = problem ? "1" : "";
      const deepest = Math.max(0, ...paths.map((path) => path.length));
      S.setText(said, problem || `${paths.length} candidate${paths.length === 1 ? "" : "s"}, ${deepest} deep.`);
      draw();
    }

    function draw() {
      undo.disabled = !own.before.length;
      const focused = board.contains(document.activeElement) ? document.activeElement.getAttribute("data-path") : null;
      if (own.paths.length > MOST_DRAWN) {
        board.replaceChildren(h("p", {}, `More than ${MOST_DRAWN} candidates are not drawn; the text says them.`));
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
      const nodes = spots.map((spot) => button(spot, x(spot), y(spot), spots, inTurn));
      const picture = svg(
        "svg",
        { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "aria-hidden": "true" },
        ...lines,
      );
      board.replaceChildren(
        h("div", { class: "svd-tree", style: `width:${size.width}px;height:${size.height}px` }, picture, ...nodes),
      );
      if (focused !== null) focus(inTurn);
    }

    function button(spot, left, top, spots, inTurn) {
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
          onclick: () => change(spot.path, own.removing),
          onkeydown: (event) => onkeydown(event, spot, spots),
        },
        h("span", {}, spot.depth ? String(spot.path.at(-1)) : ""),
      );
    }

    if (watch) watch("value", load);
    mode(false);
    load();
  }

  return { mountDrawing };
})(SpecViz);
Object.assign(SpecViz, drawing);
