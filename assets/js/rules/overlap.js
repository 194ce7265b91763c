/* Two distributions of a visitor's own: what p and q share, what sticks out, what is missing, in whole hundredths, so
   that every sum on the screen is exact. Pure. */
// needs: nothing
const overlap = (function () {
  "use strict";

  const WHOLE = 100;
  /** What is shown, one after the other: each goes on from the one before. */
  const STEPS = ["guess", "overlap", "overhang", "refill", "formula"];
  const sum = (shares) => shares.reduce((total, share) => total + share, 0);

  /** Shares of any size as whole hundredths that sum to 100; what rounding leaves goes to the largest remainders.
      @param {number[]} shares at least one above 0 */
  function hundredths(shares, whole = WHOLE) {
    const all = sum(shares);
    const exact = shares.map((share) => (all > 0 ? (share * whole) / all : whole / shares.length));
    const cut = exact.map(Math.floor);
    const order = exact.map((_, at) => at).sort((a, b) => exact[b] - cut[b] - (exact[a] - cut[a]) || a - b);
    for (const at of order.slice(0, whole - sum(cut))) cut[at] += 1;
    return cut;
  }

  /** The distribution in which token `at` has `value` hundredths, and the others share the rest as they did before;
      evenly, where they had nothing.
      @param {number[]} shares in hundredths */
  function dragged(shares, at, value) {
    const kept = Math.min(WHOLE, Math.max(0, Math.round(value)));
    const others = hundredths(
      shares.filter((_, place) => place !== at),
      WHOLE - kept,
    );
    return [...others.slice(0, at), kept, ...others.slice(at)];
  }

  /** What follows from p and q, in hundredths: per token `kept` = min(p, q), `over` = max(0, q − p) and `missing` =
      max(0, p − q); `accepted` = Σ kept, `left` = Σ missing, which is Σ over.
      @param {number[]} p @param {number[]} q */
  function overlapOf(p, q) {
    const kept = p.map((share, at) => Math.min(share, q[at]));
    const over = p.map((share, at) => q[at] - kept[at]);
    const missing = p.map((share, at) => share - kept[at]);
    return { kept, over, missing, accepted: sum(kept), left: sum(missing) };
  }

  const decimal = (share) => (share / WHOLE).toFixed(2);

  /** The residual with the numbers put in, a line for each token that is missing something. */
  function residualLines(names, p, q) {
    const { missing, left } = overlapOf(p, q);
    return missing.flatMap((share, at) =>
      share > 0
        ? [
            `r(${names[at]}) = max(0, p − q) / Σ max(0, p − q) = (${decimal(p[at])} − ${decimal(q[at])}) / ` +
              `${decimal(left)} = ${(share / left).toFixed(2)}`,
          ]
        : [],
    );
  }

  /** What is to be seen at a step, in a sentence.
      @param {boolean} plain in plain words */
  function overlapWords(step, p, q, plain) {
    const { accepted, left } = overlapOf(p, q);
    const [small, big] = plain ? ["the small model", "the big one"] : ["q", "p"];
    if (step === "guess")
      return plain
        ? "Of 100 guesses, the small model makes as many of each word as its bar says. The big one wants the others."
        : "The drafter proposes by q. The text has to come out by p. Drag either bar of a token.";
    if (left === 0) return "Both agree on every token: every guess stays, and nothing has to be replaced.";
    if (step === "overlap") return `What ${small} and ${big} share stays: ${accepted} of 100 guesses are kept.`;
    if (step === "overhang")
      return `${left} of 100 guesses stick out over what ${big} wants. They fall off: these guesses are rejected.`;
    if (step === "refill")
      return (
        `The same ${left} of 100 are missing elsewhere. Their replacements fill just these gaps: every token comes ` +
        `out as often as ${big} wants it.`
      );
    return plain
      ? "As a formula: a gap, divided by all gaps together, says how often a replacement is this word."
      : `The residual r is the gaps, divided by their sum ${decimal(left)}: kept + ${decimal(left)} · r = p.`;
  }

  return { OVERLAP_STEPS: STEPS, hundredths, dragged, overlapOf, overlapWords, residualLines, hundredth: decimal };
})();
Object.assign(SpecViz, overlap);
