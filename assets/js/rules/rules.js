/* Every rule by its name, each in its own terms: sibling_rules.js and path_rules.js, and here those without
   arithmetic. A rule
   that is not listed still shows its numbers. Pure. */
// needs: declared, numbers, path_rules, sibling_rules
const rules = (function (S) {
  "use strict";

  const { quote, verdict, triedBelow, uniform, siblings } = S.ruleParts;

  const greedy = {
    words: (facts) =>
      facts.accepted
        ? `The target's first choice here is ${quote(facts.token)} as well: kept.`
        : `The target's first choice here is ${facts.first === null ? "another token" : quote(facts.first)}, not ` +
          `${quote(facts.token)}: rejected.`,
    numbers: (facts) => [
      ...believed(facts),
      ["argmax", facts.first ?? "–", "of p: the target's first choice"],
      ["x", facts.token, facts.accepted ? "x = argmax p: accepted" : "x ≠ argmax p: rejected"],
    ],
    steps: (facts, said) => plainly(facts, said),
  };

  /** q and p of a candidate as they are shown everywhere: at temperature 0 what the models believe by themselves.
      @param {Facts} facts */
  const believed = (facts) =>
    [
      ["p", facts.shown[1], "target, before temperature 0"],
      ["q", facts.shown[0], "draft, before temperature 0"],
    ].filter(([, value]) => value !== "–");

  const naive = {
    words: (facts) =>
      facts.accepted
        ? `The target drew its own token, and it is ${quote(facts.token)}: kept.`
        : `The target drew ${facts.drawn === null ? "its own token" : quote(facts.drawn)}; ${quote(facts.token)} ` +
          `is something else: rejected.`,
    numbers: (facts) => [
      ["drawn", facts.drawn ?? "–", "by the target itself"],
      ["p", S.prob(facts.target_prob), "the probability that the draw would be this token"],
      ["draft", facts.token, facts.accepted ? "the same: accepted" : "another token: rejected"],
    ],
    steps: (facts, said) => plainly(facts, said),
  };

  const coupled = {
    words: (facts) =>
      facts.accepted
        ? `${quote(facts.token)} won the target's race as well as the draft's, with the same times: kept.`
        : `With the same times ${facts.drawn === null ? "another token" : quote(facts.drawn)} won the target's race, ` +
          `not ${quote(facts.token)}: rejected.`,
    numbers: (facts) => [
      ["winner", facts.drawn ?? "–", "smallest E/p: the target's own draw"],
      ["p", S.prob(facts.target_prob), "the probability that the target's winner would be this token"],
      ["q", S.prob(facts.draft_prob), "the same for the draft's"],
      ["draft", facts.token, facts.accepted ? "the same winner: accepted" : "another winner: rejected"],
    ],
    steps: (facts, said) => plainly(facts, said),
  };

  const gls = {
    ...coupled,
    words: (facts) =>
      facts.accepted
        ? `${quote(facts.token)} won its lane for the draft, and all lanes together for the target: kept.`
        : `Over all lanes ${facts.drawn === null ? "another token" : quote(facts.drawn)} won the target's race, ` +
          `not ${quote(facts.token)}: rejected.`,
    numbers: (facts) => [
      ["winner", facts.drawn ?? "–", "smallest E/p of all lanes: the target's own draw"],
      ["p", S.prob(facts.target_prob), "the probability that the target's winner would be this token"],
      ["q", S.prob(facts.draft_prob), "the same for the draft's, in its lane"],
      ["draft", facts.token, facts.accepted ? "the target's winner: accepted" : "another token: rejected"],
    ],
  };

  /** Siblings by name alone, where no number decides.
      @param {Facts} facts */
  function plainly(facts, said) {
    const tried = triedBelow(facts, said);
    return tried.length < 2
      ? null
      : { title: "tried here, in this order", head: [], rows: tried.map((trial) => ({ trial, cells: [] })) };
  }

  const anyRule = {
    words(facts) {
      if (facts.u === null) return `${quote(facts.token)} was ${verdict(facts)}.`;
      const { u, threshold } = uniform(facts);
      return `The acceptance probability of ${quote(facts.token)} is ${threshold}; u is ${u}: ${verdict(facts)}.`;
    },
    numbers(facts) {
      const judged =
        facts.u === null
          ? ["threshold", S.prob(facts.threshold), facts.accepted ? "accepted" : "rejected"]
          : uniform(facts).row;
      const symbols = S.declared(facts.round.judged.rule)?.terms || {};
      const terms = Object.entries(facts.terms).map(([name, value]) => [
        Object.hasOwn(symbols, name) ? symbols[name] : name,
        S.ratio(value),
        name.replace(/_/g, " "),
      ]);
      return [["p", S.prob(facts.target_prob), "target"], ["q", S.prob(facts.draft_prob), "draft"], ...terms, judged];
    },
    steps: (facts, said) =>
      siblings(facts, said, "tried here, in this order", [
        ["p", (trial) => S.prob(trial.target_prob)],
        ["q", (trial) => S.prob(trial.draft_prob)],
        ["acceptance probability", (trial) => S.prob(trial.threshold)],
      ]),
  };

  const rules = { ...S.siblingRules, ...S.pathRules, greedy, naive, coupled, gls };
  const mine = (found, name) => (Object.hasOwn(found, name) ? found[name] : {});

  /** Sentences, numbers and steps of a round's rule, with the formula and code that its verifier declares.
      @param {trace.Round} round */
  function ruleOf(round) {
    const name = round.judged.rule;
    const { formula = [], code = [], rest = "", rest_formula: restFormula = "" } = S.declared(name) || {};
    const told = { formula, code, restFormula, rest: rest || "what the rejections left" };
    return { ...anyRule, ...mine(rules, name), ...told };
  }

  return { rules, ruleOf };
})(SpecViz);
Object.assign(SpecViz, rules);
