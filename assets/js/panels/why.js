/* Why things are done as they are, at the beat where the question arises: a line or two in the card, with the values
   of the round at hand, a picture where one says more, and a way to where it is proved. `why` is pure. */
// needs: address, declared, dom, numbers, pass_rows, sibling_rules, wording
const why = (function (S) {
  "use strict";

  const { h } = S;
  S.bringsTerms({ sentences: [".svp-why p"] });
  const PROOF = { tab: "Proof", text: "proved on the Proof tab" };
  const COST = { tab: "Machine", text: "what a wider pass costs" };

  /** Pure: the drafter model's own cache in a round: {before, read: nodes whose row it has, kept, missing: accepted
      nodes that it never read, next: rows its next pass reads}. Null where it has none of its own, or where the trace
      does not say which nodes were read.
      @param {trace.Trace} trace */
  function drafterCache(trace, index) {
    const round = trace.rounds[index];
    const { passes } = round.drafted;
    if (!trace.started.drafter.model || !passes.length) return null;
    const read = new Set();
    for (const [place, pass] of passes.slice(1).entries()) {
      const level = round.nodes.filter((node) => node.depth === place + 1);
      if (level.length !== pass.rows) return null; // some of a level was read, and the trace does not say which
      for (const node of level) read.add(node.id);
    }
    // Where the target's token is left open, the last one is read once more: what may follow it is drawn anew.
    const again = round.committed.trimmed === "open" ? round.judged.path.at(-1) : null;
    const kept = round.judged.path.filter((id) => read.has(id) && id !== again);
    const next = trace.rounds[index + 1]?.drafted.passes[0];
    return {
      before: passes[0].cached_rows,
      first: passes[0].rows,
      read,
      kept: passes[0].cached_rows + passes[0].rows + kept.length,
      dropped: read.size - kept.length,
      missing: round.judged.path.filter((id) => !read.has(id)),
      next: next ? next.rows : null,
    };
  }

  /** @typedef {{ title: string, text: string }} Said */
  /** One reason in technical and in plain words.
      @type {(title: string, text: string, plain: [string, string],
        more?: { link?: { tab: string, text: string }, picture?: string }) =>
        Said & { plain: Said, link?: { tab: string, text: string }, picture?: string }} */
  const line = (title, text, plain, more = {}) => ({
    title,
    text,
    plain: { title: plain[0], text: plain[1] },
    ...more,
  });

  function whyDraft(now) {
    const { round, trace } = now;
    const { passes } = round.drafted;
    const deepest = Math.max(...round.nodes.map((node) => node.depth));
    const { stop_policy } = trace.started;
    const longest = trace.started.drafter.options.gamma;
    if (now.at.level >= deepest && stop_policy && Number.isInteger(longest) && deepest < longest)
      return [
        line(
          "Why keep the token it stopped at?",
          `The stop policy ${stop_policy.name} ended this draft at ${deepest} of ${longest}. What was drawn stays: ` +
            "were unsure tokens dropped, a token's own value would decide whether it is tested, and that biases the " +
            "text.",
          [
            "Why keep the guess it stopped at?",
            `Guessing ended here at ${deepest} of ${longest}. What was guessed stays: were unsure guesses ` +
              "thrown away, unlikely tokens would be guessed too seldom, and the text would be another one.",
          ],
          { link: { tab: "Proof", text: "try “drop unsure tokens” on the Proof tab" } },
        ),
      ];
    if (now.at.level > 1 || !passes.length) return [];
    const all = passes.reduce((sum, pass) => sum + pass.seconds, 0);
    return [
      line(
        "Why guess?",
        `${S.count(passes.length, "drafter pass", "drafter passes")} took ${S.seconds(all)} here; the one target ` +
          `pass that checks all of it takes ${S.seconds(round.scored.target_pass.seconds)}.`,
        [
          "Why guess?",
          `Guessing took ${S.seconds(all)} here; the one pass of the big model that checks all of it takes ` +
            `${S.seconds(round.scored.target_pass.seconds)}.`,
        ],
      ),
    ];
  }

  /** @param {Moment} now */
  function whyTarget(now) {
    const { round } = now;
    const { rows } = round.scored.target_pass;
    if (rows < 2) return [];
    const [drafts, riding] = [S.drafts(round).length, S.riding(round)];
    const chain = !riding && round.nodes.every((node) => node.depth === node.id);
    const which = riding
      ? `${drafts} + ${riding} + 1 = ${rows}`
      : chain
        ? `γ + 1 = ${drafts} + 1 = ${rows}`
        : `${drafts} + 1 = ${rows}`;
    return [
      line(
        `Why ${which} rows?`,
        "A row predicts the token after it. The root's row judges the first candidate, each candidate's row what " +
          `follows it, and ${chain ? "the last row" : "the row at a path's end"} gives the bonus.`,
        [
          `Why ${rows} places?`,
          "Each place says what follows it. The first checks the first guess, each guess's own place what follows " +
            "it, and the last one gives one more token.",
        ],
      ),
      line(
        "Why is it one pass?",
        "A mask lets each node see only the text and its own ancestors.",
        ["Why is it one pass?", "Each guess sees only the text and the guesses that lead to it."],
        { picture: "mask", link: COST },
      ),
    ];
  }

  /** @param {Moment} now */
  function whyTrial(now) {
    const { round } = now;
    const trial = round.judged.trials[now.at.trial];
    const exact = S.declared(round.judged.rule)?.equation === "ratio(p, q)" && trial.u !== null;
    if (!exact) return [];
    const { target_prob: p, draft_prob: q } = trial;
    const drawn = round.nodes[trial.node].kind !== "point_mass";
    if (trial.accepted)
      return [
        line(
          "Why min(1, p/q)?",
          drawn
            ? "Drawn with q and kept with min(1, p/q), this token comes through q · min(1, p/q) = min(p, q) = " +
                `${S.prob(Math.min(p, q))} of the time: never more often than the target's ${S.prob(p)}.`
            : `It was proposed without drawing (q = 1), so it is kept p = ${S.prob(p)} of the time.`,
          [
            "Why does it not always stay?",
            drawn
              ? `Guessed as often as here and kept by this rule, it comes through ${S.prob(Math.min(p, q))} of the ` +
                `time: never more often than the big model's ${S.prob(p)}.`
              : "It is guessed whenever this place comes, so it stays as often as the big model wants it: " +
                `${S.prob(p)}.`,
          ],
          { link: PROOF },
        ),
      ];
    const next = round.judged.trials[now.at.trial + 1];
    const sibling = next && round.nodes[next.node].parent === round.nodes[trial.node].parent;
    const q0 = sibling && round.nodes[next.node].kind === "without_replacement";
    if (!sibling) return [];
    return [
      line(
        "What is the next sibling tested against?",
        `Not p: what this rejection leaves of it, max(0, p − Q) made whole${q0 ? ", and Q without this token" : ""}. ` +
          `For ${S.quote(now.labels[next.node])} that is p ${S.prob(next.target_prob)}, Q ${S.prob(next.draft_prob)}.`,
        [
          "What is the next guess for this place checked against?",
          "Against what the guess that went leaves over, or its share would be counted twice. For " +
            `${S.quote(now.labels[next.node])} that is ${S.prob(next.target_prob)}.`,
        ],
        { link: PROOF },
      ),
    ];
  }

  /** @param {Moment} now */
  function whyDrawn(now) {
    const { round, labels } = now;
    const { origin, residual, path } = round.judged;
    if (origin === "bonus")
      return [
        line(
          "Where does one more token come from?",
          `The row of ${S.quote(labels[path.at(-1)])} was in the same pass and predicts what follows it: ` +
            `${path.length} + 1 = ${S.count(path.length + 1, "token")}, at no further cost.`,
          [
            "Where does one more token come from?",
            `The same pass also said what follows ${S.quote(labels[path.at(-1)])}: ${path.length} + 1 = ` +
              `${S.count(path.length + 1, "token")}, at no further cost.`,
          ],
        ),
      ];
    if (!residual) return [];
    return [
      line(
        "Why from r and not from p?",
        "Acceptance already gives each token min(p, q) of the time. Only max(0, p − q) is missing, and the two add " +
          "up to p. Drawn from p, the draft's favourites would come too often.",
        [
          "Why from what is missing?",
          "Good guesses have brought what both models agree on already. Only the rest may be added, or the small " +
            "model's favourites would come too often.",
        ],
        { link: { tab: "Proof", text: "leave the residual out on the Proof tab" } },
      ),
    ];
  }

  /** @param {Moment} now */
  function whyCommit(now) {
    const cache = drafterCache(now.trace, now.cursor.round);
    if (!cache) return [];
    const { missing } = cache;
    const text = missing.length
      ? `Accepted to the end: the drafter drew ${S.quote(now.labels[missing[0]])} last and never read it, so its ` +
        "cache lacks that row; the target's has it." +
        (cache.next ? ` Its next pass reads ${S.count(cache.next, "row")}.` : "")
      : `It drops ${S.count(cache.dropped, "row")} of what was not accepted, as the target's cache drops ` +
        `${now.round.committed.cache_dropped}.`;
    const plain = missing.length
      ? `All stayed: the small model guessed ${S.quote(now.labels[missing[0]])} last and never read it. It does so ` +
        "in its next pass."
      : `It drops its notes of ${S.count(cache.dropped, "guess", "guesses")}, as the big model drops its own of ` +
        `${now.round.committed.cache_dropped}.`;
    const asked = "And the small model's own notes?";
    return [line("And the drafter's own cache?", text, [asked, plain], { picture: "caches" })];
  }

  /** The lines for where the cursor stands: [{title, text, picture?, link?}]. Pure.
      @param {Moment} now */
  function why(now) {
    if (now.asked) return [];
    if (now.at.phase === "draft") return whyDraft(now);
    if (now.at.phase === "target") return whyTarget(now);
    if (now.at.phase === "commit") return whyCommit(now);
    return now.at.drawn ? whyDrawn(now) : whyTrial(now);
  }

  /** Both caches after the commit, one strip each.
      @param {Moment} now */
  function cachesPicture(now) {
    const cache = drafterCache(now.trace, now.cursor.round);
    const { committed } = now.round;
    const lost = new Set(cache.missing);
    const strip = (name, before, has, kept) =>
      h(
        "div",
        { class: "svp-strip" },
        h("span", { class: "svp-small" }, name),
        h(
          "span",
          {
            class: "svp-lane",
            role: "img",
            "aria-label": S.say(`${name}'s cache: ${kept} rows kept`, `${name}: ${kept} kept`),
          },
          h("span", { class: "svp-before" }, before.toLocaleString("en")),
          now.round.nodes.map((node) => {
            const fate = now.stateOf(node.id);
            const gone = fate !== "accepted" && fate !== "root";
            if (!has(node.id)) return h("i", { class: `svp-cell is-absent${lost.has(node.id) ? " is-lost" : ""}` });
            return h("i", { class: `svp-cell is-${fate}${gone ? " is-gone" : ""}`, title: now.labels[node.id] });
          }),
        ),
        h("span", { class: "svp-small" }, `${kept.toLocaleString("en")} kept`),
      );
    return h(
      "div",
      { class: "svp-why-picture" },
      strip(S.word("target"), committed.cache_before, () => true, committed.cache_kept),
      strip(S.word("drafter"), cache.before + cache.first - 1, (id) => id === 0 || cache.read.has(id), cache.kept),
    );
  }

  const PICTURES = { mask: (now) => S.maskPicture(now), caches: cachesPicture };

  /** The same as elements.
      @param {Moment} now */
  function whyLines(now) {
    return why(now).map((one) => {
      const { title, text } = S.isPlain() ? one.plain : one;
      const link = document.querySelector("[role=tab]") ? one.link : null; // a page that stands alone has no tabs
      return h(
        "div",
        { class: "svp-why" },
        h(
          "p",
          {},
          h("b", {}, title),
          " ",
          ...S.sentence(text),
          link ? " " : null,
          link
            ? h("button", { type: "button", class: "svp-link", onclick: () => S.openTab(link.tab) }, link.text)
            : null,
        ),
        one.picture ? PICTURES[one.picture](now) : null,
      );
    });
  }

  return { why, whyLines, drafterCache };
})(SpecViz);
Object.assign(SpecViz, why);
