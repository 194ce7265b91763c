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
    "how they are drawn": "how a guess comes up",
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
    "1 where the round ended with a rejection (in bonus)":
      "1 where a guess went (only in the line for the token after all guesses)",
    "the number of siblings, the longest draft, K-SEQ's factor":
      "the number of guesses for one place, of guesses in a row, and a factor of the rule K-SEQ",
  };

  /** What becomes of a token. */
  const FATES = {
    root: "where guessing begins",
    "not drafted yet": "not guessed yet",
    "waiting for its verdict": "waiting to be checked",
    accepted: "stays",
    "accepted draft": "a guess that stays",
    rejected: "goes",
    unreached: "never checked",
    "behind the end of the text": "behind the end of the text",
    correction: "written in its place",
    bonus: "one more for free",
    "the target's own": "the big model's own",
    forced: "given by hand",
  };

  /** The steps of a round, the models' lanes and the caches. */
  const ROUND = {
    draft: "guess",
    "target pass": "check",
    verdicts: "stay or go",
    commit: "write",
    "roll back": "thrown away",
    "waiting for the drafter": "waiting for guesses",
    drafter: "guessing",
    target: "big model",
    verifier: "checked by",
    "tree policy": "shape of guesses",
    "stop policy": "end of guesses",
    "✓ lossless": "✓ the big model's own text",
    "✕ lossy": "✕ may differ from the big model's text",
    "the output follows the target's distribution exactly":
      "every token comes out as often as the big model alone would write it",
    "with rejected candidates": "with guesses that go",
    "verdicts and commit": "stay or go, and write",
    "drafted tokens thrown away": "guesses thrown away",
    "empty: idle": "empty: waits",
    round: "round",
    "begins at": "begins at",
    "at the same time": "at the same time",
    "target idle": "big model waits",
    "thrown away": "thrown away",
    cache: "what the big model has read",
    "waiting for the target pass": "waiting for the check",
    "rows of the target's cache": "what the big model has read",
    "rows in the cache": "tokens that it has read",
    "rows per pass": "places in a check",
    computed: "looked at",
    kept: "kept",
    "dropped again": "forgotten again",
    "saved by sharing prefixes": "saved where guesses begin alike",
    "The target's cache over the whole run": "What the big model has read, over the whole run",
    "The target pass row by row: order, positions, mask": "The check, guess by guess: what each one sees",
    "rows of the target pass": "guesses of the check",
    "attention mask of the pass": "what each guess sees",
    "Each row sees only the cached text (the bar) and its own ancestors (the squares). A click selects its node.":
      "Each guess sees only the text (the bar) and the guesses that lead to it (the squares). A click selects it.",
    "The round's last token has no row in this pass: the next one begins with it.":
      "The round's last token is not in this check: the next one begins with it.",
    "left: the cached text, seen by all rows; then one column per node. Lit: the selected node's row.":
      "left: the text so far, which all guesses see; then a column for each guess. Lit: what the selected one sees.",
  };

  /** The tree, the bars of the card and its worksheet. */
  const CARD = {
    node: "number",
    token: "token",
    parent: "comes after",
    depth: "place",
    "draft q": "small model q",
    "target p": "big model p",
    fate: "what becomes of it",
    "draft q → target p": "small model q → big model p",
    "draft and target probabilities of the next token": "how often each model wants the next token",
    "What the models believe by themselves. At temperature 0 only the target's first choice counts.":
      "What each model thinks by itself. At temperature 0 only the big model's favourite counts.",
    "↪ Choose a token that was not drafted to continue the run with it.":
      "↪ Choose a token that was not guessed to go on from it.",
    "The target's answer is kept back until you have guessed.":
      "The big model's answer is kept back until you have guessed.",
    "The target has not been asked yet.": "The big model has not been asked yet.",
    "the last committed token · root of this round's tree": "the last token of the text · all guesses go on from it",
    argmax: "favourite",
    winner: "written",
    drawn: "written",
    mass: "missing",
    path: "way",
    bar: "limit",
    threshold: "limit",
    candidate: "guess",
    "p left": "p left",
    "acceptance probability": "may stay",
    probability: "may stay",
    "path to": "way to",
    "A of parent": "A before it",
    "tried here, in this order": "checked here, in this order",
    "siblings in the order they were tried; each rejection changes p for the next":
      "guesses for this place in the order of checking; each that goes changes p for the next",
    "siblings in the order they were tried; p and ρ stay as they are":
      "guesses for this place in the order of checking; p and ρ stay as they are",
    "siblings, each tried by itself against the same p":
      "guesses for this place, each checked by itself against the same p",
    "siblings, each held against the same bar": "guesses for this place, each held against the same limit",
    "P runs down the chain, token by token; the verdicts come up from its end":
      "P is worked out from the first guess to the last; what stays is settled from the last to the first",
    "from the leaves up, in the order they were tried": "from the last guesses to the first, in the order of checking",
    "What the drafter knew": "What the guesses came from",
    "after the target's answer": "after the big model's answer",
  };

  /** The run in numbers. */
  const COUNTERS = {
    "target passes": "checks by the big model",
    "committed so far, the prompt not counted": "written so far, the prompt not counted",
    "alpha (α)": "of the checked guesses stayed",
    "accepted ÷ tested": "stayed ÷ checked",
    "acceptance rate": "of all guesses stayed",
    "accepted ÷ drafted": "stayed ÷ guessed",
    "mean acceptance length": "tokens a round that guessed",
    "1 + accepted ÷ rounds that drafted": "1 + stayed ÷ rounds that guessed",
    "tokens per target pass": "tokens a check",
    "tokens ÷ target passes": "tokens ÷ checks",
    "speedup over plain decoding": "as fast as without guessing",
    "speedup over one-token passes": "as fast as one token at a time",
    "nothing was drafted": "nothing was guessed",
    "per tested candidate": "of the guesses that were checked",
    "per tested candidate; this rule tries whole paths, so no candidate is tested by itself":
      "of the guesses that were checked; this rule checks whole ways through, and no guess by itself",
    "per drafted candidate": "of all guesses",
    "corrections and bonuses are not in it": "what the big model wrote itself is not in it",
    "per round that drafted": "of the rounds that guessed",
    "without a draft": "without a guess",
    "per target pass: every round counts, and only tokens that stayed in the text":
      "of all checks: every round counts, and only tokens that stayed in the text",
  };

  /** Guess mode, the keys, the two clocks. */
  const AROUND = {
    "guess mode: predict each verdict": "guess mode: say what stays",
    "Each verdict is asked before it is shown.": "You are asked before it is shown.",
    "Nothing is drawn here: no u decides.": "Chance does not decide here.",
    "play or pause": "play or pause",
    "a beat back, forward (also PageUp, PageDown)": "a step back, forward (also PageUp, PageDown)",
    "a round back, forward": "a round back, forward",
    "next, previous rejection": "next, previous guess that goes",
    "next bonus": "next free token",
    "start, end of the run": "start, end of the run",
    "to the tree; there arrows walk from node to node, → opens what is folded":
      "to the guesses; there arrows walk from one to another, → opens what is folded",
    "the whole run at its own speed beside plain decoding":
      "the whole run at its own speed, beside the big model alone",
    "the whole tree, or its readable part": "all guesses, or as many as can be read",
    "comment on this moment": "comment on this moment",
    "plain or technical words": "plain or technical words",
    "present: fill the window; Space then steps, Esc leaves": "present: fill the window; Space then steps, Esc leaves",
    "these keys": "these keys",
    "The whole circle: as many passes of one row each. Filled: one pass over all rows.":
      "The whole circle: as many checks of one place each. Filled: one check of all places.",
    rows: "places",
    "rows in one pass": "places in one check",
    "one row": "one place",
  };

  /** technical wording → plain wording */
  const PLAIN_NAMES = { ...EDITOR, ...FATES, ...ROUND, ...CARD, ...COUNTERS, ...AROUND };

  return { PLAIN_NAMES };
})();
Object.assign(SpecViz, plainNames);
