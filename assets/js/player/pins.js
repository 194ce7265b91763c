/* Comments pinned to moments of a run: kept in the link and in the exported file. The text is of whoever wrote the
   link, so it is shown as text alone, below words that say whose it is. As text:

   CRC of the run's text, then a line for each: ROUND.BEAT.NODE comment */
// needs: address, bytes, dom, state
/** @typedef {{ round: number, beat: number, node: NodeId, text: string }} Pin a comment; round and beat from 0 */

const pins = (function (S) {
  "use strict";

  const { h } = S;
  const MOST = 20;
  const LONGEST = 280;
  const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]+/gu;
  const LINE = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6}|end) (.+)$/;
  const WHOSE = "Comments pinned by whoever made this link or file, not by SpecViz:";

  /** Pure: a comment as it is kept: one line, nothing unseen, at most 280 characters. */
  const commentText = (text) =>
    Array.from(String(text).replace(UNSEEN, " ").replace(/ +/g, " ").trim()).slice(0, LONGEST).join("");

  /** Pure: comments on the run whose text has this CRC, as text.
      @param {Pin[]} list */
  const writePins = (run, list) =>
    list.length
      ? [run, ...list.map(({ round, beat, node, text }) => `${round + 1}.${beat + 1}.${node} ${text}`)].join("\n")
      : "";

  /** Pure: {run, pins} of any text; a line that is none is left out.
      @returns {{ run: string, pins: Pin[] }} */
  function readPins(given) {
    const [run, ...lines] = String(given || "").split("\n");
    if (!/^[0-9a-f]{8}$/.test(run)) return { run: "", pins: [] };
    const parts = lines.slice(0, MOST).flatMap((line) => {
      const [, round, beat, node, text] = LINE.exec(line) || [];
      const comment = commentText(text || "");
      if (!comment) return [];
      return [
        {
          round: Number(round) - 1,
          beat: Number(beat) - 1,
          node: node === S.END ? S.END : Number(node),
          text: comment,
        },
      ];
    });
    return { run, pins: parts.filter((pin) => pin.round >= 0 && pin.beat >= 0) };
  }

  const runs = new Map(); // CRC of a run's text → its comments, over all players of the page
  const hashes = new WeakMap(); // trace → CRC

  /** @param {trace.Trace} trace */
  function runOf(trace) {
    if (!trace.finished) return "";
    if (!hashes.has(trace)) hashes.set(trace, S.textHash(trace.finished.text));
    return hashes.get(trace);
  }

  /** The comments on a run that are there.
      @param {trace.Trace} trace @returns {Pin[]} */
  const pinsOf = (trace) =>
    (runs.get(runOf(trace)) || []).filter(({ round, node }) => {
      const there = trace.rounds[round];
      return there && (node === S.END || there.nodes[node]);
    });

  /** Take over the comments of a link or a file; others on the same run are replaced. */
  function takePins(text) {
    const given = readPins(text);
    if (given.run) runs.set(given.run, given.pins);
  }

  /** @param {trace.Trace} trace */
  const pinsText = (trace) => writePins(runOf(trace), pinsOf(trace));

  /** The field that a comment is written in; `save(text)` takes it, `left()` is called when the field is closed. */
  function commentForm(save, left) {
    const label = "your comment on this moment";
    const field = h("textarea", { class: "svn-field", rows: 2, maxlength: LONGEST, "aria-label": label });
    const keep = h("button", { type: "button", class: "svp-btn", onclick: done }, "pin it here");
    const cancel = h("button", { type: "button", class: "svp-link", onclick: close }, "cancel");
    const form = h("div", { class: "svn-form", hidden: true }, field, h("div", { class: "svn-row" }, keep, cancel));
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
      else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) done();
    });

    function done() {
      save(commentText(field.value));
      close();
    }

    function close() {
      form.hidden = true;
      field.value = "";
      left();
    }

    function open() {
      form.hidden = false;
      field.focus();
    }
    return { form, open };
  }

  /** A comment in the list; `visit()` goes to its moment, `remove()` takes it away.
      @param {Pin} pin */
  function listed(pin, here, visit, remove) {
    const round = `round ${pin.round + 1}`;
    const link = (more, words) => h("button", { type: "button", ...more }, words);
    return h(
      "li",
      { class: here ? "is-here" : null },
      link({ class: "svp-link", "aria-current": here ? "true" : null, onclick: visit }, round),
      h("q", { dir: "auto" }, pin.text),
      link({ class: "svp-link svn-off", "aria-label": `remove this comment on ${round}`, onclick: remove }, "remove"),
    );
  }

  /** The comments below the transport, and what writes one.
      @param {Act} act @param {PlayerState} own */
  function pinsPanel(stage, act, own) {
    const button = { type: "button", class: "svp-link svp-comment", onclick: write };
    const open = h("button", button, "comment on this moment");
    const writing = commentForm(save, () => open.focus({ preventScroll: true }));
    const whose = h("p", { class: "svp-small" }, WHOSE);
    const list = h("ul", { class: "svn-list" });
    const box = h("div", { class: "svn", role: "group", "aria-label": "comments" }, writing.form, whose, list);
    stage.querySelector(".svp-tools").append(open);
    stage.querySelector(".svp-transport").append(box);
    own.does.comment = write;
    S.openLinks((fields) => {
      takePins(fields.pins);
      if (own.trace) act.draw();
    });

    function write() {
      if (runOf(own.trace)) writing.open();
      else act.say("a run can be commented on once it is over");
    }

    function save(text) {
      const pin = { ...own.cursor, node: own.selected, text };
      if (text) change([...pinsOf(own.trace), pin].slice(-MOST));
    }

    /** @param {Pin[]} changed */
    function change(changed) {
      runs.set(runOf(own.trace), changed);
      S.setAddress({ pins: pinsText(own.trace) });
      act.draw();
    }

    let drawn = "";
    return function draw(now) {
      const all = pinsOf(now.trace);
      const here = (pin) => pin.round === now.cursor.round && pin.beat === now.cursor.beat;
      const seen = JSON.stringify([now.trace.started.run_id, all, all.map(here)]);
      whose.hidden = !all.length;
      if (seen === drawn) return;
      drawn = seen;
      const remove = (pin) => change(all.filter((other) => other !== pin));
      const item = (pin) =>
        listed(
          pin,
          here(pin),
          () => act.go(pin, true, pin.node),
          () => remove(pin),
        );
      list.replaceChildren(...all.map(item));
    };
  }

  return { commentText, writePins, readPins, pinsOf, pinsText, takePins, pinsPanel };
})(SpecViz);
Object.assign(SpecViz, pins);
