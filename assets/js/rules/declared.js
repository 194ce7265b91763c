/* What the verifiers declare of their rules (assets/rules.json, inlined before this file as `SpecViz.DECLARED`), and
   their thresholds worked out over ranges. Pure. */
// needs: nothing
const declared = (function (S) {
  "use strict";

  const ratio = (above, below) => (below > 0 ? Math.min(1, above / below) : Number(above > 0));
  const endHere = (left, reach) => (left + 1 - reach > 0 ? left / (left + 1 - reach) : 1);
  const rising = (of) => (one, other) => [of(one[0], other[0]), of(one[1], other[1])];
  const against = (of) => (one, other) => [of(one[0], other[1]), of(one[1], other[0])];

  /** Over ranges [low, high] of numbers that are at least 0; what each is, is said in specviz/trace/declared_rule.py.
   */
  const OPERATIONS = {
    times: rising((one, other) => one * other),
    least: rising(Math.min),
    minus: ([low, high]) => [-high, -low],
    exp: ([low, high]) => [Math.exp(low), Math.exp(high)],
    above: against((one, other) => Number(one > other)),
    reaches: against((one, other) => Number(one >= other)),
    ratio: against(ratio),
    end_here: rising(endHere),
  };

  /** The range an expression comes to; `values`: name → [low, high]. Throws where a name has no value. */
  function evaluate(expression, values) {
    if (typeof expression === "number") return [expression, expression];
    if (typeof expression === "string") {
      if (!Object.hasOwn(values, expression)) throw new Error(`there is no value for ${expression}`);
      return values[expression];
    }
    const [name, ...parts] = expression;
    if (name === "where") return evaluate(Object.hasOwn(values, parts[0]) ? parts[1] : parts[2], values);
    return OPERATIONS[name](...parts.map((part) => evaluate(part, values)));
  }

  /** What a verifier declares; null where it is not known. */
  const declared = (rule) => (Object.hasOwn(S.DECLARED, rule) ? S.DECLARED[rule] : null);

  /** The acceptance probability by a known rule's own equation. */
  const thresholdOf = (rule, values) => evaluate(S.DECLARED[rule].threshold, values);

  /** Whether the drafts that share an accepted token all stay candidates in this run.
      @param {trace.Trace} trace @param {trace.Round} round */
  function keepsSurvivors(trace, round) {
    const option = declared(round.judged.rule)?.survivors;
    return !!option && (trace.started.verifier.options || {})[option] === true;
  }

  /** Per node its row in the target's pass: nodes of the same text share one.
      @param {trace.Round} round */
  function rowsOf(round) {
    const seen = new Map();
    const rows = [];
    for (const node of round.nodes) {
      const key = node.parent < 0 ? "root" : `${rows[node.parent]} ${node.token}`;
      if (!seen.has(key)) seen.set(key, seen.size);
      rows.push(seen.get(key));
    }
    return rows;
  }

  /** The candidates for the token after `parent`: its children, or those of every draft that is alive there.
      @param {trace.Trace} trace @param {trace.Round} round */
  function offered(trace, round, parent) {
    if (!keepsSurvivors(trace, round)) return round.nodes.filter((node) => node.parent === parent);
    const rows = rowsOf(round);
    return round.nodes.filter((node) => node.parent >= 0 && rows[node.parent] === rows[parent]);
  }

  return { evaluate, declared, thresholdOf, keepsSurvivors, rowsOf, offered };
})(SpecViz);
Object.assign(SpecViz, declared);
