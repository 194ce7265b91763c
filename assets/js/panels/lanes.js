/* What the round cost: rows in the target's cache and measured seconds by phase. */
// needs: dom, gain, light, numbers, timeline, wording
const lanes = (function (S) {
  "use strict";

  const { h } = S;
  S.bringsTerms({ sentences: [".svp-badge .svp-small"] });
  const WAIT = "waiting for the drafter";

  /** The target's cache: rows that were there, rows this pass computes, which of them stay.
      @param {Act} act */
  function cachePanel(box, act) {
    const words = h("p", { class: "svp-small" });
    const lane = h("div", {
      class: "svp-lane",
      role: "group",
      ...S.worded("rows of the target's cache", "aria-label"),
    });
    box.append(words, lane);
    lane.addEventListener("click", (event) => {
      const cell = S.pressed(event, "[data-node]");
      if (cell) act.select(Number(cell.dataset.node));
    });
    return function draw(now) {
      const { committed, scored } = now.round;
      const rows = now.at.scored ? scored.target_pass.rows : 0;
      const state = now.at.committed
        ? `${committed.cache_kept.toLocaleString("en")} kept, ${committed.cache_dropped} dropped`
        : rows
          ? S.say(`${S.count(rows, "row")} being judged`, `${rows} being checked`)
          : S.word("waiting for the target pass");
      const before = S.count(committed.cache_before, S.say("row", "token"));
      S.setText(words, `${S.word("cache")} · ${before} before · ${state}`);
      const cells = now.round.nodes.slice(0, rows).map((node) => {
        const fate = now.stateOf(node.id);
        const gone = now.at.committed && fate !== "accepted" && fate !== "root";
        return h("i", {
          class: `svp-cell is-${fate}${gone ? " is-gone" : ""}${node.id === now.selected ? " is-selected" : ""}`,
          "data-node": node.id,
          title: now.nameOf(node.id),
        });
      });
      lane.replaceChildren(h("span", { class: "svp-before" }, committed.cache_before.toLocaleString("en")), ...cells);
    };
  }

  /** Where this round's time went. The engine's clock; what moves on the screen is not in it. */
  function timePanel(box) {
    const words = h("p", { class: "svp-small" });
    const bar = h("div", { class: "svp-times", "aria-hidden": "true" });
    const parts = h("p", { class: "svp-small svp-parts" });
    box.append(words, bar, parts);
    let shown = null;
    return function draw(now) {
      if (shown?.round === now.round && shown.plain === S.isPlain()) return;
      shown = { round: now.round, plain: S.isPlain() };
      const waits = S.isBeside(now.trace.rounds); // for a drafter that drafts meanwhile
      const times = S.roundTimes(now.round).map((part) =>
        waits && part.name === "draft" ? { ...part, name: WAIT } : part,
      );
      const total = S.roundSeconds(now.round);
      const clock = now.trace.started.source === "simulated" ? "modelled" : "measured";
      const plain = S.plainToken(now.trace);
      const tokens = now.round.committed.tokens.length;
      const steps = plain ? tokens * plain.seconds : null;
      const claims = S.drafts(now.round).length > 0 && !S.isNoisy(now.trace);
      const slower = claims && total > steps ? ", so slower here" : "";
      const against = plain
        ? ` · ${S.say(S.count(tokens, "plain step"), "without guessing")}: about ${S.seconds(steps)}${slower}`
        : "";
      S.setText(words, `this round, ${clock}: ${S.seconds(total)} for ${S.count(tokens, "token")}${against}`);
      words.title = !plain
        ? ""
        : clock === "modelled"
          ? `the simulation's clock counts ${S.seconds(plain.seconds)} for a one-token step of ` +
            S.say("the target", "the big model")
          : plain.from;
      bar.replaceChildren(
        ...times.map((part) => {
          const piece = h("i", {
            class: `svp-time is-${part.name.split(" ")[0]}`,
            title: `${S.word(part.name)}: ${S.seconds(part.seconds)}`,
          });
          piece.style.flexGrow = String(total ? part.seconds / total : 0);
          return piece;
        }),
      );
      parts.replaceChildren(
        ...times.map((part) =>
          h(
            "span",
            {},
            h("i", { class: `svp-swatch is-${part.name.split(" ")[0]}` }),
            `${S.word(part.name)} ${S.seconds(part.seconds)}`,
          ),
        ),
      );
    };
  }

  /** Pure: where the run comes from: the source, then [{text, note, lossy}], every method with its options as the
     note. */
  function provenance(started) {
    const set = (options) =>
      Object.entries(options || {})
        .map(([name, value]) => `${name.replace(/_/g, " ")} ${value}`)
        .join(", ");
    const named = [
      ["drafter", started.drafter],
      ["tree policy", started.tree_policy],
      ["stop policy", started.stop_policy],
      ["verifier", started.verifier],
    ].filter(([, card]) => card);
    const clock =
      started.source === "simulated" ? [{ text: "no model ran, times modelled", note: started.machine.processor }] : [];
    const methods = named.map(([kind, card]) => ({
      text: `${S.word(kind)} ${card.name}${card.model ? ` (${card.model.name})` : ""}`,
      note: set(card.options),
      lossy: card.lossless === false,
    }));
    const law =
      clock.length || methods.some((one) => one.lossy)
        ? []
        : [{ text: S.word("✓ lossless"), note: S.word("the output follows the target's distribution exactly") }];
    const whole = S.inRole("target", started.target.name);
    const target =
      started.target.dtype === "int8"
        ? {
            text: `${whole} in int8`,
            note: "weights and what they multiply are whole numbers with a scale: its text may differ from float32's",
          }
        : { text: whole };
    const settings =
      `temperature ${started.sampling.temperature} · seed ${started.seed} · ` + `${started.created.slice(0, 10)}`;
    const warm = started.memory
      ? [
          {
            text: `warm start: ${S.count(started.memory.runs, "run")}`,
            note: `${S.say("the drafter", "what guesses")} began with what it learnt before (${started.memory.origin})`,
          },
        ]
      : [];
    return { source: started.source, parts: [...clock, target, ...methods, ...warm, ...law, { text: settings }] };
  }

  /** The same as elements.
      @param {trace.Started} started */
  function provenanceRow(started) {
    const { source, parts } = provenance(started);
    return [
      h("span", { class: "svp-source" }, source),
      ...parts.map((one) =>
        h(
          "span",
          { class: "svp-small", title: one.note || null },
          one.text,
          one.lossy ? h("b", { class: "svp-lossy" }, S.word("✕ lossy")) : null,
        ),
      ),
    ];
  }

  /** The same in a player's line above the stage, with the button of the light. */
  function showProvenance({ badge, own }) {
    if (badge && own.trace) badge.replaceChildren(...provenanceRow(own.trace.started), S.lightButton());
  }

  return { cachePanel, timePanel, provenance, showProvenance };
})(SpecViz);
Object.assign(SpecViz, lanes);
