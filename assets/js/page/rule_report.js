/* What a written rule does, for eyes and readers: the verdict, the law beside p, how much is kept, known mistakes, and
   how the first two tokens go together. */
// needs: dom, wording
const ruleReport = (function (S) {
  "use strict";

  const { h } = S;
  const three = (value) => value.toFixed(3);
  const signed = (value) => `${value < 0 ? "−" : "+"}${three(Math.abs(value))}`;
  const TONES = { exact: "good", here: "bad", biased: "bad", loses: "bad" };
  const SEEN = 5e-4; // what three digits show

  /** Two bars for a token, and between them what the law has too much or too little. */
  function lawPair(judged, p, token) {
    const law = judged.law[token];
    const most = Math.max(0.01, ...judged.law, ...p);
    const width = (value) => `${(100 * value) / most}%`;
    const fill = (kind, value) => {
      const bar = h("i", { class: `svw-fill is-${kind}` });
      bar.style.width = width(value);
      return bar;
    };
    const bias = judged.bias[token];
    const off = Math.abs(bias) >= SEEN;
    const gap = off ? h("i", { class: `svw-gap ${bias > 0 ? "is-more" : "is-less"}` }) : null;
    if (gap) {
      gap.style.left = width(Math.min(law, p[token]));
      gap.style.width = width(Math.abs(bias));
    }
    const row = (label, bars, value) => [
      h("span", { class: "svw-label" }, label),
      h("span", { class: "svw-track is-still" }, bars),
      h("span", { class: "svw-value" }, value),
    ];
    return h(
      "div",
      { class: "svw-pair" },
      h("code", {}, judged.names[token]),
      row("p", [fill("p", p[token])], three(p[token])),
      row(
        S.word("law"),
        [fill("law", law), gap],
        [three(law), off ? h("b", { class: "svw-bias" }, ` ${signed(bias)}`) : null],
      ),
    );
  }

  /** The second position: how often each pair of tokens comes out, and how often the target says it. */
  function pairTable(judged) {
    const { names, pairs, targetPairs } = judged;
    const cell = (first, second) => {
      const place = first * names.length + second;
      const bias = pairs[place] - targetPairs[place];
      const off = Math.abs(bias) >= SEEN;
      return h("td", { class: off ? "is-off" : "" }, three(pairs[place]), off ? h("b", {}, ` ${signed(bias)}`) : null);
    };
    return h(
      "div",
      { class: "svw-scroll", tabindex: "0", role: "region", "aria-label": "laws of pairs" },
      h(
        "table",
        { class: "svw-pairs" },
        h(
          "caption",
          {},
          S.word(
            "The first two tokens together. After token a, p and q are both turned by one place, after b by two, …",
          ),
        ),
        h(
          "tr",
          {},
          h("th", {}, "first ↓ second →"),
          names.map((name) => h("th", { scope: "col" }, name)),
        ),
        names.map((name, first) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, name),
            names.map((_, second) => cell(first, second)),
          ),
        ),
      ),
    );
  }

  function mistakeCard(mistake) {
    const { name, why } = S.inWords(mistake);
    return h("li", {}, h("strong", {}, name), h("p", {}, why), h("p", {}, "Write ", h("code", {}, mistake.cure)));
  }

  /** How much is kept, beside the most that an exact rule keeps of one candidate, and what a pass gives.
      @param {boolean} plain in plain words */
  function numbersLine(judged, { siblings }, plain) {
    const [kept, best, tokens] = [judged.acceptance, judged.best, judged.tokens].map(three);
    if (plain) {
      const stays = siblings > 1 ? `One of ${siblings} guesses stays` : "The guess stays";
      const alone = siblings > 1 ? " where there is one guess alone" : "";
      return (
        `${stays} in ${kept} of all cases. A right rule can keep at most ${best}${alone}: Σ min(p, q), what both ` +
        `models agree on. One check gives ${tokens} tokens on average.`
      );
    }
    const what = siblings > 1 ? `One of ${siblings} candidates` : "The candidate";
    const alone = siblings > 1 ? " of a single candidate" : "";
    return (
      `${what} is kept with probability ${kept}; an exact rule keeps at most Σ min(p, q) = ${best}${alone}. ` +
      `A pass gives ${tokens} tokens on average.`
    );
  }

  /** Everything about a judged rule.
      @param {RuleWorld} world */
  function ruleReport(judged, world, pairs) {
    return [
      h("p", { class: `svw-verdict is-${TONES[judged.kind]}` }, S.say(judged.verdict, judged.plain)),
      judged.mistakes.length
        ? h("ul", { class: "svw-mistakes", "aria-label": "known mistakes" }, judged.mistakes.map(mistakeCard))
        : null,
      h(
        "div",
        { class: "svw-bars" },
        judged.names.map((_, token) => lawPair(judged, world.p, token)),
      ),
      h("p", { class: "svw-numbers" }, numbersLine(judged, world, S.isPlain())),
      pairs ? pairTable(judged) : null,
    ].filter(Boolean);
  }

  return { ruleReport, numbersLine };
})(SpecViz);
Object.assign(SpecViz, ruleReport);
