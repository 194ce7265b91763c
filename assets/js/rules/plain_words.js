/* The same moments in plain words: no letter of a formula, no word of the field that a visitor has to learn first. What
   words.js says in technical ones. Pure. */
// needs: numbers, sibling_rules, state, words
const plainWords = (function (S) {
  "use strict";

  const q = (token) => S.quote(token);

  /** Who guesses, in plain words.
      @param {{ started: trace.Started }} trace */
  const guesser = ({ started }) => (started.drafter.model ? "the small model" : `“${started.drafter.name}”`);
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

  /** A probability as cases of a hundred. */
  function ofHundred(probability) {
    const cases = Math.round(probability * 100);
    if (cases === 0) return "fewer than 1 of 100 such cases";
    if (cases === 100) return "more than 99 of 100 such cases";
    return `${cases} of 100 such cases`;
  }

  /** What became of a guess, and how likely that was.
      @param {Facts} facts */
  function plainVerdict(facts) {
    const token = q(facts.token);
    if (facts.round.judged.rule === "greedy") {
      if (facts.accepted) return `The big model would have written ${token} too: it stays.`;
      const first = facts.first === null ? "something else" : q(facts.first);
      return `The big model would have written ${first} here, not ${token}: it goes.`;
    }
    if (facts.u === null) return `${token} ${facts.accepted ? "stays" : "goes"}.`;
    if (facts.threshold >= 1) return `The big model likes ${token} well enough for it to stay whatever chance says.`;
    if (facts.threshold <= 0) return `${token} had no way to stay: it goes.`;
    const now = facts.accepted ? "This time chance lets it stay." : "This time it goes.";
    return `${token} stays in ${ofHundred(facts.threshold)}. ${now}`;
  }

  /** @param {trace.Trace} trace @param {trace.Round} round @param {View} at */
  function plainDraft(trace, round, labels, at) {
    const guesses = S.drafts(round);
    const fresh = guesses.filter((node) => node.depth === at.level || round.drafted.passes.length === 0);
    if (!fresh.length) return "Nothing is guessed here: the big model works alone.";
    const names = S.list(fresh.map((node) => q(labels[node.id])));
    const first = at.level === 1 || !round.drafted.passes.length;
    return first ? `${capital(guesser(trace))} guesses ${names}.` : `Then it guesses ${names}.`;
  }

  /** @param {trace.Round} round */
  function plainPass(round) {
    const guesses = S.drafts(round).length;
    if (!guesses) return `The big model makes one pass${S.riding(round) ? "" : ", for one token"}.`;
    if (guesses === 1) return "The big model checks the guess and writes on, in one pass.";
    return `The big model checks all ${guesses} guesses at once, in one pass.`;
  }

  /** @param {trace.Round} round */
  function plainEnding(round, labels) {
    const { origin } = round.judged;
    const token = q(labels[S.END]);
    if (S.endsText(round)) {
      const { path } = round.judged;
      return `The text is over with ${q(labels[path[round.committed.tokens.length - 1]])}.`;
    }
    if (origin === "bonus") return `Every guess on this path stayed, so the same pass gives one more: ${token}.`;
    if (origin === "target") return `Nothing was guessed: the big model writes ${token} itself.`;
    if (origin === "forced") return `${token} was given by hand.`;
    return `Where the guess went, the big model writes ${token} instead.`;
  }

  /** @param {trace.Round} round */
  function plainCommit(round) {
    const { committed, judged } = round;
    const added = S.count(committed.tokens.length, "token");
    if (committed.trimmed && committed.trimmed !== "open") return `${added} from one pass, and the text ends here.`;
    if (S.drafts(round).length && !judged.path.length)
      return `No guess stayed: ${added} from one pass, as without guessing.`;
    const kept = judged.path.length;
    return kept
      ? `${added} from one pass: ${S.count(kept, "good guess", "good guesses")}, and one more.`
      : `${added} from one pass.`;
  }

  /** One sentence for where the cursor stands.
      @param {trace.Trace} trace @param {trace.Round} round @param {View} at */
  function plainCaption(trace, round, labels, at) {
    if (at.phase === "draft") return plainDraft(trace, round, labels, at);
    if (at.phase === "target") return plainPass(round);
    if (at.phase === "commit") return plainCommit(round);
    if (at.drawn) return plainEnding(round, labels);
    const trial = round.judged.trials[at.trial];
    return plainVerdict(S.trialFacts(trace, round, labels, trial)) + plainAside(round, trial.node);
  }

  /** Of a node that only rides along, or lies behind the end of the text: that it counts nowhere.
      @param {trace.Round} round */
  const plainAside = (round, id) =>
    (round.drafted.riding || []).includes(id)
      ? " It only rides along and is no guess."
      : S.behindTheEnd(round).has(id)
        ? " But the text is over before it: it counts nowhere."
        : "";

  /** Why a guess was never checked.
      @param {trace.Trace} trace @param {trace.Round} round */
  function plainUnreached(trace, round, labels, id) {
    const before = S.barrier(trace, round, id);
    if (!before) return "Never checked.";
    if (before.at === undefined) return "Never checked: another way through stayed first.";
    if (before.rejected) return `Never checked: ${q(labels[before.at])} on the way to it went.`;
    const chosen = q(labels[before.accepted]);
    if (before.at === id) return `Never checked: ${chosen}, another guess for its place, stayed first.`;
    return `Never checked: on the way to it ${chosen} stayed first, in the place of ${q(labels[before.at])}.`;
  }

  /** The question of guess mode, without what decided.
      @param {Facts} facts */
  function plainQuestion(facts) {
    const token = q(facts.token);
    if (facts.u !== null) return `${token} stays in ${ofHundred(facts.threshold)}. Does it stay now? yes / no`;
    const asks =
      facts.round.judged.rule === "greedy" ? "would the big model write it, too" : "will the big model keep it";
    return `${token}: ${asks}? yes / no`;
  }

  /** A whole round in one line, for a card that is shared: "4 guessed, 3 kept, one pass".
      @param {trace.Round} round */
  function roundLine(round, plain) {
    const guessed = S.drafts(round).length;
    const kept = S.acceptedDrafts(round);
    const added = round.committed.tokens.length;
    if (plain) return guessed ? `${guessed} guessed, ${kept} kept, one pass` : "nothing guessed, one pass";
    const from = `${S.count(added, "token")} from one target pass`;
    return guessed ? `${guessed} drafted, ${kept} accepted: ${from}` : `no draft: ${from}`;
  }

  return {
    plainCaption,
    plainVerdict,
    plainEnding,
    plainAside,
    plainUnreached,
    plainQuestion,
    guesserInPlainWords: guesser,
    roundLine,
  };
})(SpecViz);
Object.assign(SpecViz, plainWords);
