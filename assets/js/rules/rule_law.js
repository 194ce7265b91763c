/* The exact law of a written rule: every candidate that may be drawn, every side of u on which the rule decides the
   same, every replacement, added up. Nothing is sampled. The same in Python: specviz/written_rules/law.py. Pure.

   A world has a target row p and a draft row q for the first token. After token t both are turned by t + 1 places, so
   that what comes second hangs on what came first. */
// needs: rule_language, rule_values
/** @typedef {{ p: number[], q: number[], gamma: number, siblings: number, draw: string }} RuleWorld
    @typedef {{ kept: number[], moved: number[][], stopped: number, lost: number }} RuleLevel
    `kept`: per token, a candidate was kept; `moved`: [last candidate tried][replacement]; `stopped`: nothing was
    submitted; `lost`: there was nothing to draw the replacement from */
const ruleLaw = (function (S) {
  "use strict";

  const NEVER = 1e-15; // below this a way is rounding
  const START = -1;
  const HALVINGS = 60;

  /** The row after a token.
      @param {number[]} row */
  function turned(row, token) {
    return row.map((_, place) => row[(place + token + 1) % row.length]);
  }
  const after = (row, context) => (context === START ? row : turned(row, context));

  /** What the next sibling is drawn from: q, or q without those drawn before it, made whole. */
  function proposal(world, q, drawn) {
    if (world.draw !== "without_replacement" || !drawn.length) return q;
    return S.normalised(q.map((value, token) => (drawn.includes(token) ? 0 : value)));
  }

  /** K-SEQ's factor: the smallest rho of at least 1 with 1 − (1 − β)ᴷ ≤ ρβ, where β = Σ min(p/ρ, q). */
  function kseqFactor(p, q, siblings) {
    const misses = (rho) => {
      const beta = Math.min(1, S.sumOf(p.map((value, token) => Math.min(value / rho, q[token]))));
      let miss = 1;
      for (let sibling = 0; sibling < siblings; sibling++) miss *= 1 - beta;
      return 1 - miss > rho * beta;
    };
    let [low, high] = [1, siblings];
    if (!misses(low)) return low;
    for (let halving = 0; halving < HALVINGS; halving++) {
      const middle = (low + high) / 2;
      if (misses(middle)) low = middle;
      else high = middle;
    }
    return high;
  }

  /** How a candidate fares: pieces of u with their share, and what is drawn where it is rejected (null: kept).
      `from`, `to`: between which u lies.
      @param {WrittenRule} rule @returns {[number, number[] | null][]} */
  function piecesOf(rule, values, token, [from, to] = [0, 1]) {
    const size = values.p.length;
    const at = (u, cuts = null) => S.settingOf(values, token, u, cuts);
    const decides = S.looksAt(rule, "accept", "u");
    const cuts = [];
    const acceptance = S.atToken(S.lineValue(rule, "accept", at((from + to) / 2, cuts), 0), token);
    if (!decides) cuts.push(acceptance);
    const replace = (u, also = null) => S.rowOf(S.lineValue(rule, "replacement", at(u, also), 0), size);
    const always = replace((from + to) / 2, cuts);
    const moves = S.looksAt(rule, "replacement", "u");
    const inside = [...new Set(cuts)].filter((cut) => cut > from && cut < to).sort((one, other) => one - other);
    const ends = [from, ...inside, to];
    const pieces = [];
    for (let piece = 0; piece + 1 < ends.length; piece++) {
      const share = (ends[piece + 1] - ends[piece]) / (to - from);
      const u = (ends[piece] + ends[piece + 1]) / 2;
      const kept = decides ? S.atToken(S.lineValue(rule, "accept", at(u), 0), token) !== 0 : u < acceptance;
      if (share > NEVER) pieces.push([share, kept ? null : moves ? replace(u) : always]);
    }
    return pieces;
  }

  /** Where the number lies that drew a token, the parts of a row laid side by side.
      @returns {[number, number]} */
  function partOf(row, token) {
    const start = row.slice(0, token).reduce((sum, value) => sum + value, 0);
    return [start, start + row[token]];
  }

  const clipped = (value) => Math.min(1, Math.max(0, value));

  /** All that can happen to the candidates for one token.
      @param {WrittenRule} rule @param {RuleWorld} world @returns {RuleLevel} */
  function levelOf(rule, world, p, q) {
    const level = { kept: p.map(() => 0), moved: p.map(() => p.map(() => 0)), stopped: 0, lost: 0 };
    const rho = kseqFactor(p, q, world.siblings);
    function replaced(mass, last, row) {
      const sum = S.sumOf(row);
      if (row.some((value) => value < -S.TINY || value === Infinity) || sum <= S.TINY) level.lost += mass;
      else row.forEach((value, token) => (level.moved[last][token] += (mass * Math.max(0, value)) / sum));
    }
    function tried(whole, left, drawn) {
      const drawnFrom = proposal(world, q, drawn);
      drawnFrom.forEach((chance, token) => {
        let mass = whole * chance;
        if (mass < NEVER) return;
        const values = { p, q, r: left, Q: drawnFrom, rho, K: world.siblings, gamma: world.gamma };
        if (!drawn.length) {
          const stop = clipped(
            S.atToken(S.lineValue(rule, "stop", S.settingOf({ p, q, gamma: world.gamma }, token), 0), token),
          );
          level.stopped += mass * stop;
          mass *= 1 - stop;
        }
        for (const [share, row] of piecesOf(
          rule,
          values,
          token,
          world.draw === "shared" ? partOf(drawnFrom, token) : [0, 1],
        )) {
          if (mass * share < NEVER) continue;
          if (row === null) level.kept[token] += mass * share;
          else if (canGoOn(drawn, token)) tried(mass * share, row, [...drawn, token]);
          else replaced(mass * share, token, row);
        }
      });
    }
    const canGoOn = (drawn, token) =>
      drawn.length + 1 < world.siblings && S.sumOf(proposal(world, q, [...drawn, token])) > S.TINY;
    tried(1, p, []);
    return level;
  }

  /** What a bonus is drawn from; null where there is none.
      @param {WrittenRule} rule */
  function bonusOf(rule, world, p, q, rejected) {
    const setting = S.settingOf({ p, q, gamma: world.gamma, rejected }, null);
    const row = S.rowOf(S.lineValue(rule, "bonus", setting, rejected ? 0 : p), p.length);
    const sum = S.sumOf(row);
    if (row.some((value) => value < -S.TINY || value === Infinity) || sum <= S.TINY) return null;
    return row.map((value) => Math.max(0, value) / sum);
  }

  /** The law of texts under repeated rounds of a rule.
      @param {WrittenRule} rule @param {RuleWorld} world */
  function lawOf(rule, world) {
    const size = world.p.length;
    const levels = new Map();
    const bonuses = new Map();
    const texts = new Map();
    const kept = (map, key, make) => {
      if (!map.has(key)) map.set(key, make());
      return map.get(key);
    };
    const level = (context) =>
      kept(levels, context, () => levelOf(rule, world, after(world.p, context), after(world.q, context)));
    const bonus = (context, rejected) =>
      kept(bonuses, `${context} ${rejected}`, () =>
        bonusOf(rule, world, after(world.p, context), after(world.q, context), rejected),
      );

    /** What a round commits: [tokens, probability], cut off after `most` tokens. */
    function round(context, most) {
      const ways = [];
      const end = (tokens, at, mass, rejected) => {
        const row = tokens.length < most ? bonus(at, rejected) : null;
        if (!row) ways.push([tokens, mass]);
        else row.forEach((chance, token) => mass * chance > NEVER && ways.push([[...tokens, token], mass * chance]));
      };
      const go = (tokens, at, mass, depth) => {
        if (mass < NEVER) return;
        if (tokens.length === most) ways.push([tokens, mass]);
        else if (depth === world.gamma) end(tokens, at, mass, 0);
        else {
          const here = level(at);
          end(tokens, at, mass * here.stopped, 0);
          here.kept.forEach((chance, token) => go([...tokens, token], token, mass * chance, depth + 1));
          here.moved.forEach((row, last) =>
            row.forEach((chance, token) => {
              if (mass * chance > NEVER) end([...tokens, token], last, mass * chance, 1);
            }),
          );
        }
      };
      go([], context, 1, 0);
      return ways;
    }

    /** The law of the next tokens, all texts of this length in order; what is lost is missing in the sum. */
    function text(context, length) {
      if (length === 0) return [1];
      return kept(texts, `${context} ${length}`, () => {
        const law = new Array(size ** length).fill(0);
        for (const [tokens, mass] of round(context, length)) {
          if (!tokens.length || mass < NEVER) continue;
          const rest = text(tokens.at(-1), length - tokens.length);
          const first = tokens.reduce((index, token) => index * size + token, 0) * rest.length;
          rest.forEach((chance, place) => (law[first + place] += mass * chance));
        }
        return law;
      });
    }

    return { level, round, text };
  }

  /** The target's own law of texts. */
  function targetText(p, context, length) {
    if (length === 0) return [1];
    return after(p, context).flatMap((chance, token) => targetText(p, token, length - 1).map((rest) => chance * rest));
  }

  return { lawOf, levelOf, piecesOf, bonusOf, targetText, turned };
})(SpecViz);
Object.assign(SpecViz, ruleLaw);
