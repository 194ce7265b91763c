/* Tasks over written rules: whether a rule fulfils one, and the line of text in which a student hands it in. The same
   in Python: specviz/written_rules/tasks.py. Pure.

   The line is that of hand_in.js: its task is rule-TASK, its answer the rule as base64 (of web addresses) of its
   UTF-8, - for an empty one. */
// needs: bytes, hand_in, rule_language, rule_law, rule_values, rule_verdict
/** @typedef {{ is: string, of?: string, name?: string, equals?: string }} RuleCheck
    @typedef {{ id: string, title: string, ask: string, shape: { gamma: number, siblings: number, draw: string },
      start: string, checks: RuleCheck[], hint: string, solution: string, look: string }} RuleTask */
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

  /** check → whether it holds, and the sentence where it does not. */
  const CHECKS = {
    exact: (rule, worlds) => [worlds.every((world) => exactIn(rule, world)), "the law is not p"],
    bent: (rule, worlds) => [!worlds.every((world) => exactIn(rule, world)), "the law is still p"],
    exact_without_stop: (rule, worlds) => [
      worlds.every((world) => exactIn(without(rule, "stop"), world)),
      "without the stop the law is not p either",
    ],
    keeps: (rule, worlds, { of }) => [
      worlds.every((world) => keptIn(rule, world) > keptIn(S.parseRule(of), world) - ROUNDING),
      "it keeps fewer candidates than it could",
    ],
    keeps_more: (rule, worlds) => [
      worlds.every((world) => keptIn(rule, world) > bestIn(world) - ROUNDING) &&
        worlds.some((world) => keptIn(rule, world) > bestIn(world) + ROUNDING),
      "it keeps no more candidates than an exact rule can",
    ],
    stops: (rule, worlds) => [
      worlds.some((world) => levelIn(rule, world).stopped > ROUNDING) &&
        worlds.some((world) => levelIn(rule, world).stopped < 1 - ROUNDING),
      "the stop never ends a draft, or ends every one",
    ],
    line: (rule, worlds, { name, equals }) => [
      worlds.every((world) => Math.abs((lineIn(rule, name, world) ?? NaN) - wanted(equals, rule, world)) < ROUNDING),
      `the line '${name}' is missing, or is not the right number`,
    ],
  };

  /** Whether a rule fulfils a task: what is still missing, in words, and what the rule does wrong.
      @param {RuleTask} task @returns {{ passed: boolean, missing: string[], mistakes: string[] }} */
  function checkTask(task, text) {
    const worlds = worldsOf(task);
    try {
      const rule = S.parseRule(text);
      const results = task.checks.map((check) => CHECKS[check.is](rule, worlds, check));
      const missing = results.filter(([holds]) => !holds).map(([, sentence]) => sentence);
      const exact = worlds.every((world) => exactIn(rule, world));
      const mistakes = S.mistakesOf(rule, worlds[0], exact).map(({ name }) => name);
      return { passed: !missing.length, missing, mistakes: missing.length ? mistakes : [] };
    } catch (error) {
      if (error.line === undefined) throw error;
      return { passed: false, missing: [error.message], mistakes: [] };
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
