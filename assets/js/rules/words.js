/* What happened at each beat, in one plain sentence. Pure.
   In a sentence every token stands between U+2068 and U+2069 (which no token shows), so that it can be set apart.
   What a verdict rests on is told by each verifier's own rule, in rules.js. */
// needs: bytes, declared, distributions, numbers, rules, sibling_rules, state, timeline
/** @typedef {ReturnType<Names["trialFacts"]>} Facts everything a sentence about one trial may need */

const words = (function (S) {
  "use strict";

  const q = (token) => S.quote(token);
  const list = (words, most = 5) => {
    const shown = words.length > most ? [...words.slice(0, most - 1), `${words.length - most + 1} more`] : words;
    return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown[shown.length - 1]}`;
  };

  const FATES = {
    root: "root",
    hidden: "not drafted yet",
    drafted: "waiting for its verdict",
    accepted: "accepted",
    rejected: "rejected",
    unreached: "unreached",
    behind: "behind the end of the text",
    correction: "correction",
    bonus: "bonus",
    target: "the target's own",
    forced: "forced",
  };

  /** Everything a sentence about one trial may need.
      @param {trace.Trace} trace @param {trace.Round} round @param {trace.Trial} trial */
  function trialFacts(trace, round, labels, trial) {
    const node = round.nodes[trial.node];
    const family = S.offered(trace, round, node.parent);
    const inFamily = (other) => family.includes(round.nodes[other.node]);
    const before = round.judged.trials.slice(0, round.judged.trials.indexOf(trial)).filter(inFamily);
    const kept = round.judged.trials.find((other) => other.accepted && inFamily(other));
    const drawn = kept ? labels[kept.node] : node.parent === round.judged.final_node ? labels[S.END] : null;
    const first = round.nodes[node.parent].target.tokens[0];
    return {
      ...trial,
      trial,
      round,
      labels,
      terms: trial.terms || {},
      options: trace.started.verifier.options || {},
      token: labels[trial.node],
      kind: node.kind,
      depth: node.depth,
      source: node.source,
      p0: node.target_prob,
      q0: node.draft_prob,
      family,
      siblings: family.length,
      place: family.indexOf(node) + 1,
      earlier: before.length,
      drawn,
      shown: S.odds(trace, round, node, true),
      first: first === undefined ? null : S.label(trace, first, labels.after(node.parent)),
      ratio: trial.draft_prob > 0 ? trial.target_prob / trial.draft_prob : Infinity,
    };
  }

  /** How the round's last token came about.
      @param {trace.Round} round */
  function ending(round, labels) {
    if (S.endsText(round)) return overWith(round, labels);
    const { origin, residual, residual_mass: mass } = round.judged;
    const token = q(labels[S.END]);
    const { trials, path } = round.judged;
    const last = trials.findIndex((trial) => trial.node === path[path.length - 1]);
    const walked = S.orderOf(round) === "top_down";
    const tried = walked
      ? trials.length - 1 - last
      : trials.filter((trial) => round.nodes[trial.node].parent === round.judged.final_node).length;
    const none =
      tried === 1
        ? "The candidate here was rejected"
        : tried === 2
          ? "Both candidates here were rejected"
          : `All ${tried} candidates here were rejected`;
    if (origin === "bonus")
      return `A whole path was accepted, so the same pass already knows what comes next: ${token}, a bonus.`;
    if (origin === "target") return `No draft to judge: the target says ${token} itself.`;
    if (origin === "forced") return `The token ${token} was given, not drawn.`;
    if (residual)
      return `${none}. The correction ${token} is drawn from what is left of the target (${S.prob(mass)} of its mass).`;
    return `${none}: the target's own ${token} corrects the draft.`;
  }

  /** Where the text ended inside the accepted path: with which token, and that what follows is none of it.
      @param {trace.Round} round */
  function overWith(round, labels) {
    const { path } = round.judged;
    const kept = round.committed.tokens.length;
    const behind = [...path.slice(kept).map((node) => labels[node]), labels[S.END]].map(q);
    return (
      `The text is over with ${q(labels[path[kept - 1]])}. What the pass says behind its end, ${list(behind)}, ` +
      "is no text and counts nowhere."
    );
  }

  /** @param {trace.Trace} trace @param {trace.Round} round @param {View} at */
  function drafting(trace, round, labels, at) {
    const fresh = round.nodes.filter(
      (node) => node.depth > 0 && (node.depth === at.level || round.drafted.passes.length === 0),
    );
    if (!fresh.length && round.drafted.note.drafter_context_full === true)
      return "Nothing is drafted: the text is longer than the drafter's context.";
    if (!fresh.length)
      return round.judged.origin === "forced"
        ? "A token is forced here; nothing is drafted."
        : "Nothing is drafted: the target works alone in this round.";
    const guesses = new Set(S.drafts(round));
    const own = fresh.filter((node) => guesses.has(node));
    if (own.length < fresh.length) return lookingAhead(own, fresh.length - own.length, labels);
    const names = list(fresh.map((node) => q(labels[node.id])));
    const known = Object.entries(round.drafted.note)
      .map(([key, value]) => `${key.replace(/_/g, " ")} ${value}`)
      .join(", ");
    const because = known ? ` (${known})` : "";
    if (at.level === 1 || !round.drafted.passes.length) return `The drafter proposes ${names}${because}.`;
    return fresh.length === 1
      ? `It goes on with ${names}.`
      : `Level ${at.level}: ${fresh.length} more candidates, ${names}.`;
  }

  /** A draft with nodes beside it that are in the pass for the target's answers there.
      @param {Labels} labels */
  function lookingAhead(own, riding, labels) {
    const proposes = own.length
      ? `The drafter proposes ${list(own.map((node) => q(labels[node.id])))}.`
      : "The drafter proposes nothing.";
    const ride = riding === 1 ? "rides" : "ride";
    return `${proposes} ${S.count(riding, "node")} only ${ride} along, for what the target answers there.`;
  }

  /** @param {trace.Trace} trace @param {trace.Round} round */
  function committing(trace, round) {
    const made = round.committed;
    const path = round.judged.path.length;
    const drafted = S.drafts(round).length;
    const how = `${S.count(made.tokens.length, "token")} from one target pass`;
    if (made.trimmed === "open")
      return `${how}. The last token stays open: the next round tries other candidates of the target in its place.`;
    if (made.trimmed)
      return (
        `${how}. The text ends here ` +
        `(${{ eos: "end of text", stop: "stop string", length: "length limit" }[made.trimmed] || made.trimmed}); ` +
        `${S.count(made.trimmed_tokens, "verified token")} cut off.`
      );
    if (drafted && !path) {
      const lost = S.isBeside(trace.rounds) ? "what the drafter did meanwhile was" : "the time for drafting was spent";
      return `Nothing was accepted: ${how}, as many as without drafting, and ${lost} in vain.`;
    }
    const rows = made.cache_dropped
      ? ` ${S.count(made.cache_dropped, "row")} of rejected or unreached candidates leave the cache.`
      : "";
    const last = round.judged.origin === "bonus" ? "a bonus" : "one more of the target's own";
    return `${how}${path ? `: ${path} accepted and ${last}` : ""}.${rows}`;
  }

  /** Of a node that only rides along, or lies behind the end of the text: that its verdict counts nowhere.
      @param {trace.Round} round */
  const aside = (round, id) =>
    (round.drafted.riding || []).includes(id)
      ? " It rides along and counts as no draft."
      : S.behindTheEnd(round).has(id)
        ? " But the text is over before it: it is no text and counts nowhere."
        : "";

  /** One sentence for where the cursor stands.
      @param {trace.Trace} trace @param {trace.Round} round @param {View} at */
  function caption(trace, round, labels, at) {
    if (at.phase === "draft") return drafting(trace, round, labels, at);
    if (at.phase === "target") {
      const pass = round.scored.target_pass;
      const drafts = S.drafts(round).length;
      const riding = S.riding(round);
      const parts = [
        "the root",
        ...(drafts ? [drafts === 1 ? "its candidate" : `all ${drafts} candidates`] : []),
        ...(riding ? [`${S.count(riding, "node")} that only ${riding === 1 ? "rides" : "ride"} along`] : []),
      ];
      const what = parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)} at once` : "the root alone";
      return (
        `One target pass scores ${what}: ${S.count(pass.rows, "new row")} on top of ` +
        `${pass.cached_rows.toLocaleString("en")} in the cache.`
      );
    }
    if (at.phase === "commit") return committing(trace, round);
    if (at.drawn) return ending(round, labels);
    const trial = round.judged.trials[at.trial];
    return `${S.ruleOf(round).words(trialFacts(trace, round, labels, trial))}${aside(round, trial.node)}`;
  }

  /** Why a node was unreached: the node on the way to it that was `rejected`, or at which a sibling was `accepted`
      first; {} where a whole path was accepted first, null where nothing tells.
      @param {trace.Trace} trace @param {trace.Round} round
      @returns {{ at?: number, rejected?: boolean, accepted?: number } | null} */
  function barrier(trace, round, id) {
    const trials = new Map(round.judged.trials.map((trial) => [trial.node, trial.accepted]));
    if (S.orderOf(round) === "bottom_up") return {};
    for (let node = round.nodes[id]; node.id > 0; node = round.nodes[node.parent]) {
      if (trials.get(node.id) === false) return { at: node.id, rejected: true };
      const family = S.offered(trace, round, node.parent);
      const chosen = round.judged.trials.find((trial) => trial.accepted && family.includes(round.nodes[trial.node]));
      if (chosen && chosen.node !== node.id) return { at: node.id, accepted: chosen.node };
    }
    return null;
  }

  /** Why a node was unreached, in a sentence.
      @param {trace.Trace} trace @param {trace.Round} round */
  function unreached(trace, round, labels, id) {
    const before = barrier(trace, round, id);
    if (!before) return "Unreached.";
    if (before.at === undefined) return "Unreached: a whole path was accepted first.";
    if (before.rejected) return `Unreached: ${q(labels[before.at])} on the way to it was rejected.`;
    const chosen = q(labels[before.accepted]);
    if (before.at === id) return `Unreached: its sibling ${chosen} was accepted first.`;
    return `Unreached: on the way to it ${chosen} was accepted first, the sibling of ${q(labels[before.at])}.`;
  }

  return { list, FATES, trialFacts, ending, caption, aside, barrier, unreached };
})(SpecViz);
Object.assign(SpecViz, words);
