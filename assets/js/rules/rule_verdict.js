/* What a written rule is: exact, biased towards some tokens, or losing mass; and which known mistake it behaves like.
   A mistake is known by what it does on fixed distributions (assets/written_rules.json, `SpecViz.WRITTEN`), however it
   is written. The same in Python: specviz/written_rules/verdict.py. Pure. */
// needs: rule_language, rule_law, rule_values
/** @typedef {{ id: string, line: string, name: string, why: string, cure: string, like?: string[], test?: string,
      plain: { name: string, why: string }, siblings?: number, draw?: string, harmless?: boolean }} RuleMistake */
const ruleVerdict = (function (S) {
  "use strict";

  const ROUNDING = 1e-9;
  const near = (one, other) => Math.abs(one - other) < ROUNDING;
  const alike = (one, other) => one.length === other.length && one.every((value, place) => near(value, other[place]));

  // --- what the lines do on fixed distributions ---

  const settled = (situation) => ({ r: situation.p, Q: situation.q, rho: 1, K: 1, gamma: 1, ...situation });

  /** The distributions on which a rule of this shape is looked at. */
  function situationsOf(world) {
    const { situations, later_siblings: siblings, later_draws: draws } = S.WRITTEN;
    const more = world.siblings < 2 ? [] : world.draw === "without_replacement" ? draws : siblings;
    return [...situations, ...more].map(settled);
  }

  /** Per situation and token that can be drawn: how often it is kept, and the row drawn from where it is not.
      @param {WrittenRule} rule */
  function behaviour(rule, situations) {
    return situations.flatMap((values) =>
      values.Q.flatMap((chance, token) => {
        if (chance <= 0) return [];
        const pieces = S.piecesOf(rule, values, token);
        const kept = pieces.filter(([, row]) => row === null).reduce((sum, [share]) => sum + share, 0);
        const rejected = pieces.find(([, row]) => row !== null);
        return [{ values, token, kept, row: rejected ? rejected[1] : null }];
      }),
    );
  }

  const sameKept = (mine, theirs) => mine.every((one, place) => near(one.kept, theirs[place].kept));

  /** Whether replacements are drawn alike wherever the rule draws one. */
  function sameDrawn(mine, theirs) {
    const drawn = mine.map((one, place) => [one.row, theirs[place].row]).filter(([row]) => row);
    return drawn.length > 0 && drawn.every(([row, other]) => alike(S.normalised(row), S.normalised(other)));
  }

  /** The factor on r/Q wherever the candidate passes neither never nor always, inside min(1, ·) or before it; null
      where there is no single one. */
  function factorOf(mine) {
    const chance = mine.find(({ kept }) => kept > ROUNDING && kept < 1 - ROUNDING);
    if (!chance) return null;
    const ratio = ({ values, token }) => values.r[token] / values.Q[token];
    const inside = chance.kept / ratio(chance);
    if (mine.every((fate) => near(fate.kept, Math.min(1, inside * ratio(fate))))) return inside;
    const before = chance.kept / Math.min(1, ratio(chance));
    return mine.every((fate) => near(fate.kept, Math.min(1, before * Math.min(1, ratio(fate))))) ? before : null;
  }

  /** The row drawn from is what r leaves of Q, and does not add up to 1. */
  function sumsWrong(mine) {
    const rows = mine.filter(({ row }) => row);
    const rest = ({ r, Q }) => S.normalised(r.map((value, token) => Math.max(0, value - Q[token])));
    const right = rows.every(({ row, values }) => alike(S.normalised(row), rest(values)));
    return rows.length > 0 && right && rows.some(({ row }) => !near(S.sumOf(row), 1));
  }

  /** A token that the target rules out passes where u is 0, and nowhere else.
      @param {WrittenRule} rule */
  function passesAtTheEdge(rule) {
    if (!S.looksAt(rule, "accept", "u")) return false;
    const values = settled({ p: [0.6, 0, 0.4], q: [0.3, 0.5, 0.2] });
    const at = (u) => S.atToken(S.lineValue(rule, "accept", S.settingOf(values, 1, u), 0), 1) !== 0;
    return at(0) && S.piecesOf(rule, values, 1).every(([, row]) => row !== null);
  }

  /** Whether the same rows stop the draft at one token and not at another.
      @param {WrittenRule} rule */
  function stopVaries(rule, situations) {
    return situations.some(({ p, q, gamma }) => {
      const stops = q.map((_, token) =>
        S.atToken(S.lineValue(rule, "stop", S.settingOf({ p, q, gamma }, token), 0), token),
      );
      return stops.some((stop) => !near(Math.min(1, Math.max(0, stop)), Math.min(1, Math.max(0, stops[0]))));
    });
  }

  /** @param {WrittenRule} rule */
  function bonusRows(rule, situations) {
    return situations.flatMap(({ p, q, gamma }) =>
      [0, 1].map((rejected) => S.bonusOf(rule, { gamma }, p, q, rejected) ?? p.map(() => 0)),
    );
  }

  const TESTS = {
    lenient: ({ mine }) => factorOf(mine) > 1 + ROUNDING,
    strict: ({ mine }) => factorOf(mine) !== null && factorOf(mine) < 1 - ROUNDING,
    edge: ({ rule }) => passesAtTheEdge(rule),
    negative: ({ mine }) => mine.some(({ row }) => row && row.some((value) => value < -ROUNDING)),
    wrong_sum: ({ mine }) => sumsWrong(mine),
    varies: ({ rule, situations }) => stopVaries(rule, situations),
  };
  const OTHERS = { accept: "accept = 1", replacement: "replacement = p", bonus: "" };

  /** A rule whose line is this expression. The lines that it is not about never decide. */
  function example(line, expression) {
    const lines = {
      ...OTHERS,
      accept: line === "replacement" ? "accept = 0" : OTHERS.accept,
      [line]: `${line} = ${expression}`,
    };
    return S.parseRule(Object.values(lines).join("\n"));
  }

  /** @param {RuleMistake} mistake */
  function behavesLike(mistake, look) {
    if (mistake.test) return TESTS[mistake.test](look);
    return mistake.like.some((expression) => {
      const other = example(mistake.line, expression);
      if (mistake.line === "bonus")
        return bonusRows(look.rule, look.situations).every((row, place) =>
          alike(row, bonusRows(other, look.situations)[place]),
        );
      const theirs = behaviour(other, look.situations);
      return mistake.line === "accept" ? sameKept(look.mine, theirs) : sameDrawn(look.mine, theirs);
    });
  }

  /** Known mistakes that a rule behaves like, the gravest first. One that bends nothing is named even where the law is
      exact.
      @param {WrittenRule} rule @param {RuleWorld} world @returns {RuleMistake[]} */
  function mistakesOf(rule, world, exact) {
    const situations = situationsOf(world);
    const look = { rule, situations, mine: behaviour(rule, situations) };
    return S.WRITTEN.mistakes.filter(
      (mistake) =>
        (mistake.harmless || !exact) &&
        (mistake.siblings ?? 1) <= world.siblings &&
        (mistake.draw ?? world.draw) === world.draw &&
        (rule.lines.has(mistake.line) || mistake.draw === "shared") &&
        behavesLike(mistake, look),
    );
  }

  // --- the law, and what is said of it ---

  const letters = (size) => [..."abcdefgh"].slice(0, size);
  const percent = (share) => `${(100 * share).toFixed(1)}%`;
  const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

  /** Whether the law of the first tokens is the target's.
      @param {WrittenRule} rule @param {RuleWorld} world */
  function isExact(rule, world) {
    const length = Math.max(2, world.gamma + 1);
    const target = S.targetText(world.p, -1, length);
    return S.lawOf(rule, world)
      .text(-1, length)
      .every((value, place) => near(value, target[place]));
  }

  /** All about a rule in a world. Throws an error with its place.
      @param {RuleWorld} world */
  function judgeRule(text, world) {
    const rule = S.parseRule(text);
    const law = S.lawOf(rule, world);
    const size = world.p.length;
    const length = Math.max(2, world.gamma + 1);
    const [first, pairs, whole] = [1, 2, length].map((many) => law.text(-1, many));
    const target = S.targetText(world.p, -1, length);
    const error = Math.max(...whole.map((value, place) => Math.abs(value - target[place])));
    const level = law.level(-1);
    const bias = first.map((value, token) => value - world.p[token]);
    const exact = error < ROUNDING;
    const elsewhere = exact ? S.WRITTEN.probes.find((probe) => !isExact(rule, { ...world, ...probe })) : undefined;
    const judged = {
      names: letters(size),
      law: first,
      bias,
      pairs,
      targetPairs: S.targetText(world.p, -1, 2),
      exact,
      elsewhere,
      lost: Math.max(0, 1 - S.sumOf(whole)),
      distance: bias.reduce((sum, value) => sum + Math.abs(value), 0) / 2,
      acceptance: S.sumOf(level.kept),
      best: S.sumOf(world.p.map((value, token) => Math.min(value, world.q[token]))),
      tokens: law.round(-1, Infinity).reduce((sum, [tokens, mass]) => sum + mass * tokens.length, 0),
      mistakes: mistakesOf(rule, world, exact && !elsewhere).map(({ id, line, name, why, plain, cure }) => ({
        id,
        line,
        name,
        why,
        plain,
        cure,
      })),
    };
    return { ...judged, ...said(judged) };
  }

  /** The verdict in a sentence, and in a plain one. */
  function said({ names, exact, elsewhere, lost, bias, distance }) {
    if (elsewhere) {
      const row = (values) => values.join(", ");
      return {
        kind: "here",
        verdict:
          "Exact for these p and q, but not for every: it is not for " +
          `p = ${row(elsewhere.p)} and q = ${row(elsewhere.q)}.`,
        plain:
          "Right for these p and q, but not for every: the text is wrong for " +
          `p = ${row(elsewhere.p)} and q = ${row(elsewhere.q)}.`,
      };
    }
    if (exact)
      return {
        kind: "exact",
        verdict: "Exact: the law is p, to rounding.",
        plain: "Right: every token comes out as often as the big model wants it.",
      };
    if (lost > ROUNDING)
      return {
        kind: "loses",
        verdict: `Loses mass: with probability ${lost.toFixed(3)} nothing is left to draw a token from.`,
        plain: `Something is lost: in ${percent(lost)} of all cases there is no token left to write.`,
      };
    const most = Math.max(...bias);
    if (most < ROUNDING)
      return {
        kind: "biased",
        verdict: "The first token has the law p, but what follows it does not: look at the pairs.",
        plain: "The first token is right, but what follows it is not: look at the pairs.",
      };
    const part = (value) => names.filter((_, token) => near(bias[token], value)).join(", ");
    const least = Math.min(...bias);
    return {
      kind: "biased",
      verdict:
        `Biased towards ${part(most)} (${signed(most)}), away from ${part(least)} (${signed(least)}); ` +
        `total variation ${distance.toFixed(3)}.`,
      plain:
        `Wrong: too often ${part(most)} (${signed(most)}), too seldom ${part(least)} (${signed(least)}). ` +
        `${percent(distance)} of the tokens should be others.`,
    };
  }

  return { judgeRule, mistakesOf, isExact, ruleLetters: letters };
})(SpecViz);
Object.assign(SpecViz, ruleVerdict);
