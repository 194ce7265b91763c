/* Tasks over written rules: whether a rule fulfils one, and the line of text in which a student hands it in. The same
   in Python: specviz/written_rules/tasks.py. Pure.

   The line is that of hand_in.js: its task is rule-TASK, its answer the rule as base64 (of web addresses) of its
   UTF-8, - for an empty one. */
// needs: bytes, hand_in, rule_language, rule_law, rule_values, rule_verdict
/** @typedef {{ is: string, of?: string, name?: string, equals?: string }} RuleCheck
    @typedef {{ id: string, title: string, ask: string, shape: { gamma: number, siblings: number, draw: string },
      start: string, checks: RuleCheck[], hint: string, solution: string, look: string,
      plain: { title: string, ask: string, hint: string, look: string } }} RuleTask */
const ruleTasks = (function (S) {
  "use strict";

  const ROUNDING = 1e-9;

  /** @returns {RuleTask | undefined} */
  const taskOf = (id) => S.WRITTEN.tasks.find((task) => task.id === id);
  /** @param {RuleTask} task */
  const worldsOf = (task) => S.WRITTEN.probes.map(({ p, q }) => ({ p, q, ...task.shape }));

  const exactIn = S.isExact;
  const levelIn = (rule, world) => S.levelOf(rule, world, world.p, world.q);
  const keptIn = (rule, world) => S.sumOf(levelIn(rule, world).kept);
  const bestIn = ({ p, q }) => S.sumOf(p.map((value, token) => Math.min(value, q[token])));

  /** What a line should come to: `best`, the most that an exact rule keeps of one candidate; `distance`, the total
      variation between the law of the first token and p. */
  function wanted(quantity, rule, world) {
    if (quantity === "best") return bestIn(world);
    const law = S.lawOf(rule, world).text(-1, 1);
    return law.reduce((sum, value, token) => sum + Math.abs(value - world.p[token]), 0) / 2;
  }

  /** A rule's own line as a number, for a candidate of that world.
      @param {WrittenRule} rule */
  function lineIn(rule, name, { p, q, siblings, gamma }) {
    const setting = S.settingOf({ p, q, r: p, Q: q, K: siblings, gamma, rho: 1 }, 0);
    const value = S.lineValue(rule, name, setting, null);
    return Array.isArray(value) ? null : value;
  }

  /** A rule without one of its lines. */
  const without = (rule, name) => ({ ...rule, lines: new Map([...rule.lines].filter(([line]) => line !== name)) });

  /** check → whether it holds. */
  const CHECKS = {
    exact: (rule, worlds) => worlds.every((world) => exactIn(rule, world)),
    bent: (rule, worlds) => !worlds.every((world) => exactIn(rule, world)),
    exact_without_stop: (rule, worlds) => worlds.every((world) => exactIn(without(rule, "stop"), world)),
    keeps: (rule, worlds, { of }) =>
      worlds.every((world) => keptIn(rule, world) > keptIn(S.parseRule(of), world) - ROUNDING),
    keeps_more: (rule, worlds) =>
      worlds.every((world) => keptIn(rule, world) > bestIn(world) - ROUNDING) &&
      worlds.some((world) => keptIn(rule, world) > bestIn(world) + ROUNDING),
    stops: (rule, worlds) =>
      worlds.some((world) => levelIn(rule, world).stopped > ROUNDING) &&
      worlds.some((world) => levelIn(rule, world).stopped < 1 - ROUNDING),
    line: (rule, worlds, { name, equals }) =>
      worlds.every((world) => Math.abs((lineIn(rule, name, world) ?? NaN) - wanted(equals, rule, world)) < ROUNDING),
  };

  /** The sentence for where a check does not hold: `words` or `plain`.
      @param {RuleCheck} check */
  const missed = ({ is, name = "" }, wording) => S.WRITTEN.missing[is][wording].replace("{name}", name);

  /** Whether a rule fulfils a task: what is still missing, in words, and what the rule does wrong; `plain`: the same in
      plain words.
      @typedef {{ missing: string[], mistakes: string[] }} Lacking
      @param {RuleTask} task @returns {{ passed: boolean, plain: Lacking } & Lacking} */
  function checkTask(task, text) {
    const worlds = worldsOf(task);
    try {
      const rule = S.parseRule(text);
      const fails = task.checks.filter((check) => !CHECKS[check.is](rule, worlds, check));
      const exact = worlds.every((world) => exactIn(rule, world));
      const wrong = fails.length ? S.mistakesOf(rule, worlds[0], exact) : [];
      return {
        passed: !fails.length,
        missing: fails.map((check) => missed(check, "words")),
        mistakes: wrong.map(({ name }) => name),
        plain: {
          missing: fails.map((check) => missed(check, "plain")),
          mistakes: wrong.map(({ plain }) => plain.name),
        },
      };
    } catch (error) {
      if (error.line === undefined) throw error;
      const lacking = { missing: [error.message], mistakes: [] };
      return { passed: false, ...lacking, plain: lacking };
    }
  }

  /** The line that a student hands in. */
  function handInRule(id, name, text) {
    const answer = S.base64url(new TextEncoder().encode(text));
    return S.handInLine({ task: `rule-${id}`, name, answer: answer || "-" });
  }

  return { taskOf, checkTask, handInRule };
})(SpecViz);
Object.assign(SpecViz, ruleTasks);
