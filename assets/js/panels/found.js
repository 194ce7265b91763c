/* Rounds that were looked for elsewhere on the page, such as all that were rejected at depth 1: the player steps
   through them. `foundPlace` is pure. */
// needs: dom, numbers
const found = (function (S) {
  "use strict";

  const { h } = S;

  /** Pure: where a round stands among those found, and which of them come before and after it; null at either end.
      @param {trace.Round[]} rounds @param {trace.Round} round */
  function foundPlace(rounds, round) {
    const before = rounds.filter((one) => one < round);
    const after = rounds.filter((one) => one > round);
    return { at: rounds.indexOf(round) + 1, of: rounds.length, back: before.at(-1) ?? null, on: after[0] ?? null };
  }

  function foundPanel(box, act) {
    const words = h("span", {});
    const button = (text, name) =>
      h("button", { type: "button", class: "svp-link", "data-found": name, onclick: () => step(name) }, text);
    const [back, on, end] = [button("‹ previous", "back"), button("next ›", "on"), button("leave", "end")];
    const bar = h("p", { class: "svp-found", role: "status", hidden: true }, words, back, on, end);
    box.append(bar);

    function step(name) {
      const { found, cursor } = act.now();
      if (name === "end") return act.set({ found: null });
      const round = foundPlace(found.rounds, cursor.round)[name];
      if (round !== null) act.go({ round, beat: 0 });
    }

    return function draw(now) {
      bar.hidden = !now.found;
      if (!now.found) return;
      const { at, of, back: before, on: after } = foundPlace(now.found.rounds, now.cursor.round);
      const place = at ? `round ${at} of ${of}` : `${S.count(of, "round")}, this is none of them`;
      S.setText(words, `${now.found.words}: ${place} in this run`);
      back.disabled = before === null;
      on.disabled = after === null;
    };
  }

  return { foundPlace, foundPanel };
})(SpecViz);
Object.assign(SpecViz, found);
