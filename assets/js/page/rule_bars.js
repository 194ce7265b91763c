/* A distribution as bars that can be dragged, or moved by keys: what one token gains the others lose in proportion. */
// needs: dom
const ruleBars = (function (S) {
  "use strict";

  const { h } = S;
  const STEPS = 1000; // thousandths

  /** Pure: the row with one value set, the others scaled so that all add up to 1, in thousandths. */
  function movedRow(row, token, value) {
    const wanted = Math.round(Math.min(1, Math.max(0, value)) * STEPS);
    const others = row.reduce((sum, other, place) => sum + (place === token ? 0 : other), 0);
    const left = STEPS - wanted;
    const shares = row.map((other, place) => {
      if (place === token) return wanted;
      return Math.round(others > 0 ? (left * other) / others : left / (row.length - 1));
    });
    const largest = shares.reduce(
      (best, share, place) => (place !== token && (best < 0 || share > shares[best]) ? place : best),
      -1,
    );
    shares[largest] += STEPS - shares.reduce((sum, share) => sum + share, 0);
    return shares.map((share) => share / STEPS);
  }

  /** Pure: a row for another number of tokens, evenly thinned out or filled up. */
  function resizedRow(row, size) {
    const kept = row.slice(0, size);
    while (kept.length < size) kept.push(1 / size);
    const sum = kept.reduce((total, value) => total + value, 0);
    const even = sum > 0 ? kept.map((value) => value / sum) : kept.map(() => 1 / size);
    return movedRow(even, 0, even[0]);
  }

  const KEYS = { ArrowRight: 0.01, ArrowUp: 0.01, ArrowLeft: -0.01, ArrowDown: -0.01, PageUp: 0.1, PageDown: -0.1 };

  /** Pure: where a key takes a value; null where it is none of the bar's. */
  function steppedBy(key, value) {
    if (key === "Home") return 0;
    if (key === "End") return 1;
    return Object.hasOwn(KEYS, key) ? value + KEYS[key] : null;
  }

  /** The bars of p and q, a pair per token. `changed(which, row)` is told of every move. */
  function barBox(changed) {
    const root = h("div", { class: "svw-bars", role: "group", "aria-label": "p and q of every token" });
    let rows = { p: [], q: [] };
    let bars = [];

    function bar(which, token, name) {
      const fill = h("i", { class: `svw-fill is-${which}` });
      const value = h("span", { class: "svw-value", "aria-hidden": "true" });
      const slider = h(
        "span",
        {
          class: "svw-track",
          role: "slider",
          tabindex: "0",
          "aria-label": `${which} of ${name}`,
          "aria-valuemin": "0",
          "aria-valuemax": "1",
        },
        fill,
      );
      const move = (to) => changed(which, movedRow(rows[which], token, to));
      const drag = (event) => {
        const { left, width } = slider.getBoundingClientRect();
        move((event.clientX - left) / width);
      };
      S.onDrag(slider, drag);
      slider.addEventListener("keydown", (event) => {
        const to = steppedBy(event.key, rows[which][token]);
        if (to === null || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        move(to);
      });
      const show = () => {
        const now = rows[which][token];
        fill.style.width = `${100 * now}%`;
        S.set(slider, "aria-valuenow", now.toFixed(3));
        S.setText(value, now.toFixed(3));
      };
      return { show, parts: [h("span", { class: "svw-label", "aria-hidden": "true" }, which), slider, value] };
    }

    return {
      root,
      show(now, names) {
        rows = now;
        if (bars.length !== 2 * names.length) {
          bars = names.flatMap((name, token) => [bar("p", token, name), bar("q", token, name)]);
          const pairs = names.map((name, token) =>
            h("div", { class: "svw-pair" }, h("code", {}, name), bars[2 * token].parts, bars[2 * token + 1].parts),
          );
          root.replaceChildren(...pairs);
        }
        for (const one of bars) one.show();
      },
    };
  }

  return { barBox, movedRow, resizedRow, steppedBy };
})(SpecViz);
Object.assign(SpecViz, ruleBars);
