/* Titles, headings and labels of the page: what each is called in plain words. The technical wording is the key, and
   stands where the label is drawn; `word` and `worded` (wording.js) choose. Pure.
   Not listed on purpose, because they are the same in both: symbols, formulas, names of methods, models and options. */
// needs: nothing
const plainNames = (function () {
  "use strict";

  /** The editor of rules. */
  const EDITOR = {
    "In plain words": "In technical words",
    task: "task",
    tokens: "tokens",
    "γ, longest draft": "guesses in a row",
    candidates: "guesses for one place",
    drawn: "how a guess comes up",
    "start from": "start from",
    "each from q": "each by q",
    "without replacement": "never the same twice",
    "by u itself": "by u itself",
    law: "text",
    "Your p and q: drag a bar, or use the arrow keys on it.":
      "How often the big model wants each token (p), and how often the small one guesses it (q): drag a bar, or use " +
      "the arrow keys on it.",
    "The first two tokens together. After token a, p and q are both turned by one place, after b by two, …":
      "How often each two tokens follow one another. After a, all of p and q moves on by one token, after b by two, …",
    "with which probability candidate x is kept, or a comparison with u":
      "how often the guess x stays, or a comparison with u",
    "weights of the token that is drawn where x is rejected": "how the token in its place is chosen when x goes",
    "weights of the token after the round; left out: if(rejected, 0, p)":
      "how the token after all guesses is chosen; left out: if(rejected, 0, p)",
    "with which probability the draft ends before x; left out: 0": "how often the guessing ends before x; left out: 0",
    "the target's and the drafter's row":
      "how often the big model wants each token, and how often the small one guesses it",
    "the drafted token as a row of 0 and 1, and p at it":
      "the guess: 1 at its token and 0 elsewhere; and p of that token",
    "a number between 0 and 1; it can only be compared":
      "a number between 0 and 1, chosen by chance; it can only be compared",
    "what is left of p for this candidate: p at first, then what the line replacement came to":
      "what is left of p for this guess: p at first, then what the line replacement gave",
    "what this candidate was drawn from: q, or q without the siblings before it":
      "how often this guess came up: q, or q without the guesses before it",
    "1 where the round ended with a rejection (in bonus)": "1 where a guess went (in the line bonus)",
    "the number of siblings, the longest draft, K-SEQ's factor":
      "the number of guesses for one place, of guesses in a row, and a factor of the rule K-SEQ",
  };

  /** technical wording → plain wording */
  const PLAIN_NAMES = { ...EDITOR };

  return { PLAIN_NAMES };
})();
Object.assign(SpecViz, plainNames);
