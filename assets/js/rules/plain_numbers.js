/* What each number of the card says, in plain words, by its symbol. The technical note stands in the rule that shows
   the number (sibling_rules.js, path_rules.js, rules.js, card.js); a rule's own terms have the symbols that its
   verifier declares (assets/rules.json). Pure. */
// needs: nothing
const plainNumbers = (function () {
  "use strict";

  const TWO_MODELS = {
    p: "how often the big model wants this token here",
    q: "how often the small model guesses it here",
    Q: "how often the small model guesses it, without the guesses that went before",
    "p/q": "the big model's share divided by the small one's: how often the guess may stay",
    "p/Q": "the big model's share divided by the small one's: how often the guess may stay",
    u: "chosen by chance",
  };

  /** After the guesses. */
  const ENDING = {
    r: "how often this token is written in place of the guess that went",
    mass: "how much was still missing in all",
    path: "the longest way through stays, and this guess is not on it: it goes",
  };

  /** Where nothing is compared but tokens. */
  const TOKENS = {
    argmax: "what the big model would write here",
    x: "what was guessed",
    draft: "what was guessed",
    drawn: "what the big model wrote here by itself",
    winner: "what the big model wrote here by itself",
    given: "the big model guessed this token itself: it stays",
  };

  /** Rules that let more stay than the exact one. */
  const GENEROUS = {
    threshold: "how often the guess may stay",
    l: "how generous the rule is; 1 is not at all",
    share: "how likely it is, beside the big model's favourite",
    "p / max p": "how likely it is, beside the big model's favourite",
    "p/lQ": "the same fraction, made generous",
    v: "a mixture of what both models want",
    trusted: "1 where the small model is simply believed",
    forgiven: "1 where a guess that went is kept all the same",
    H: "how undecided the big model is here",
    "δe⁻ᴴ": "one limit: lower the more undecided the big model is",
    ε: "the other limit: whatever is likelier than this always stays",
    bar: "the lower of the two limits",
  };

  /** Several guesses for one place, and whole ways through. */
  const TOGETHER = {
    ρ: "divides p, so that all guesses for this place together take no more than their share",
    β: "how often one of these guesses stays",
    any: "how often at least one of these guesses stays",
    "p/ρq": "how often the guess may stay",
    P: "how often all guesses up to here may stay together",
    h: "how often the guesses may end here",
    s: "what the longer way through has left over",
    A: "how often the way to the guess before it stays",
    "A·p/Q": "how often the way to this guess stays",
    "A′": "how often the way to it stays, before the last guess after it went",
    "A″": "how often the guesses may end here",
  };

  /** symbol → what it says */
  const PLAIN_NUMBERS = { ...TWO_MODELS, ...ENDING, ...TOKENS, ...GENEROUS, ...TOGETHER };

  return { PLAIN_NUMBERS };
})();
Object.assign(SpecViz, plainNumbers);
