/* What the editor of rules holds: a rule, the p and q it is looked at with, a task. It begins with what the browser
   remembers, with what a link brings, or with what a lesson asks for; whatever is not sound is not taken. */
// needs: address, rule_tasks
/** @typedef {{ text: string, world: RuleWorld, task: string, pairs: boolean }} RuleDraft `task` empty: none */
const ruleDraft = (function (S) {
  "use strict";

  const FREE = "";
  const FIRST = "accept = min(1, p / q)\nreplacement = p\n";
  /** The toy of lesson 3 and of the Proof tab.
      @type {RuleWorld} */
  const WORLD = { p: [0.5, 0.3, 0.2], q: [0.2, 0.45, 0.35], gamma: 1, siblings: 1, draw: "iid" };
  const DRAWS = ["iid", "without_replacement", "shared"];
  const LONGEST = 1000; // characters of a rule
  const ROUNDING = 1e-6;

  const isRow = (row) =>
    Array.isArray(row) &&
    row.length > 2 &&
    row.length < 9 &&
    row.every((value) => Number.isFinite(value) && value >= 0) &&
    Math.abs(row.reduce((sum, value) => sum + value, 0) - 1) < ROUNDING;
  const upToThree = (count) => Number.isInteger(count) && count > 0 && count < 4;

  /** Pure: what was given, where it is sound; null where it is not.
      @returns {RuleDraft | null} */
  function soundDraft(given) {
    if (!given || typeof given.text !== "string" || given.text.length > LONGEST) return null;
    const { p, q, gamma, siblings, draw } = { ...WORLD, ...given.world };
    const sound = isRow(p) && isRow(q) && p.length === q.length && upToThree(gamma) && upToThree(siblings);
    if (!sound || !DRAWS.includes(draw)) return null;
    const task = S.taskOf(given.task);
    const world = { p, q, gamma, siblings, draw, ...(task ? task.shape : {}) };
    return { text: given.text, world, task: task ? task.id : FREE, pairs: !!given.pairs };
  }

  /** Pure: what the browser remembers of an earlier visit, or what the editor begins with.
      @returns {RuleDraft} */
  function readDraft(kept) {
    const first = { text: FIRST, world: WORLD, task: FREE, pairs: false };
    try {
      return soundDraft(JSON.parse(kept)) || first;
    } catch {
      return first; // nothing was kept, or another release kept something else
    }
  }

  /** Pure: what a lesson's editor begins with: a task's own rule, or a rule alone.
      @param {{ task: string, rule: string }} write
      @returns {RuleDraft} */
  function draftOf({ task, rule }) {
    const wanted = S.taskOf(task);
    const text = wanted ? wanted.start : rule;
    return { text, world: { ...WORLD, ...(wanted ? wanted.shape : {}) }, task: task || FREE, pairs: false };
  }

  /** The field `rule` of a link. Rejects with a sentence where there is no sound draft in it.
      @returns {Promise<RuleDraft>} */
  async function unpackDraft(text) {
    const draft = soundDraft(await S.unpack(text).catch(() => null));
    if (!draft) throw new Error("The link's rule cannot be read, so this is your own; have the link copied anew.");
    return draft;
  }

  return { soundDraft, readDraft, draftOf, unpackDraft, RULE_FREE: FREE };
})(SpecViz);
Object.assign(SpecViz, ruleDraft);
