/* What a written rule's expressions come to: numbers, and rows with a number per token, worked out token by token. The
   same in Python: specviz/written_rules/values.py. Pure. */
// needs: rule_language
/** @typedef {{ values: Record<string, number | number[]>, token: number | null, u: number | null,
      cuts: number[] | null, memo: Map<string, number | number[]> }} RuleSetting */
const ruleValues = (function (S) {
  "use strict";

  const TINY = 1e-12;

  const { isArray } = Array;
  const sumOf = (row) => row.reduce((sum, value) => sum + value, 0);
  /** A row, from a row or from a number that stands for every token. */
  const rowOf = (value, size) => (isArray(value) ? value : new Array(size).fill(value));
  const atToken = (value, token) => (isArray(value) ? value[token] : value);

  /** Weights made to add up to 1; a row that adds up to nothing stays as it is. */
  function normalised(row) {
    const sum = sumOf(row);
    return sum > TINY ? row.map((value) => value / sum) : row;
  }

  /** Where each token's part begins, the parts of a row laid side by side. */
  function before(row) {
    let sum = 0;
    return row.map((value) => {
      const start = sum;
      sum += value;
      return start;
    });
  }

  const divided = (above, below) => (below === 0 ? (above === 0 ? 0 : above * Infinity) : above / below);
  const times = (one, other) => (one === 0 || other === 0 ? 0 : one * other); // 0 · ∞ too: p · log(p) at p = 0
  const yes = (truth) => (truth ? 1 : 0);
  const EACH = {
    "+": (one, other) => one + other,
    "-": (one, other) => one - other,
    "*": times,
    "/": divided,
    "<": (one, other) => yes(one < other),
    "<=": (one, other) => yes(one <= other),
    ">": (one, other) => yes(one > other),
    ">=": (one, other) => yes(one >= other),
    "==": (one, other) => yes(one === other),
    "!=": (one, other) => yes(one !== other),
    and: (one, other) => yes(one !== 0 && other !== 0),
    or: (one, other) => yes(one !== 0 || other !== 0),
    not: (one) => yes(one === 0),
    negative: (one) => -one,
    exp: Math.exp,
    log: (one) => (one < 0 ? NaN : Math.log(one)),
    if: (condition, there, elsewhere) => (condition !== 0 ? there : elsewhere),
    min: Math.min,
    max: Math.max,
  };
  const WHOLE = {
    min: (row) => Math.min(...row),
    max: (row) => Math.max(...row),
    sum: sumOf,
    normalise: normalised,
    before,
  };

  /** What an expression comes to. Throws an error with its place.
      @param {WrittenRule} rule @param {RuleSetting} setting @returns {number | number[]} */
  function evaluateRule(rule, node, setting, line) {
    if (node.kind === "number") return node.value;
    if (node.kind === "name") return nameOf(rule, node, setting, line);
    const { name, parts, at } = node;
    if (S.COMPARING.includes(name) && parts.some(isU)) return comparedWithU(rule, node, setting, line);
    const values = parts.map((part) => evaluateRule(rule, part, setting, line));
    if (name === "pick") {
      if (setting.token === null)
        throw S.ruleFault(
          line,
          at,
          "there is no drafted token here; x and [x] belong to accept, replacement and stop.",
        );
      return atToken(values[0], setting.token);
    }
    const [first] = values;
    if (values.length === 1 && Object.hasOwn(WHOLE, name)) return isArray(first) ? WHOLE[name](first) : first;
    return checked(elementwise(EACH[name], values), line, at);
  }

  const isU = (node) => node.kind === "name" && node.name === "u";

  function elementwise(operation, values) {
    const row = values.find(isArray);
    if (!row) return operation(...values);
    return row.map((_, token) => operation(...values.map((value) => atToken(value, token))));
  }

  function checked(value, line, at) {
    if (isArray(value) ? value.some(Number.isNaN) : Number.isNaN(value))
      throw S.ruleFault(
        line,
        at,
        "this is no number for some token; it divides by 0, or takes the log of less than 0.",
      );
    return value;
  }

  function nameOf(rule, node, setting, line) {
    const { name, at } = node;
    if (Object.hasOwn(setting.values, name)) return setting.values[name];
    if (!rule.lines.has(name))
      throw S.ruleFault(line, at, `there is no ${name} here; docs/write_the_rule.md says which line knows what.`);
    if (!setting.memo.has(name)) {
      const wanted = rule.lines.get(name);
      setting.memo.set(name, evaluateRule(rule, wanted.node, setting, wanted.line));
    }
    return setting.memo.get(name);
  }

  /** A comparison with u, and the values of u at which its answer changes. */
  function comparedWithU(rule, node, setting, line) {
    const { name, parts, at } = node;
    if (setting.u === null) throw S.ruleFault(line, at, "there is no u here; it belongs to accept and replacement.");
    const values = parts.map((part) => (isU(part) ? setting.u : evaluateRule(rule, part, setting, line)));
    const other = values[isU(parts[0]) ? 1 : 0];
    if (setting.cuts) setting.cuts.push(...(isArray(other) ? other : [other]));
    return elementwise(EACH[name], values);
  }

  /** The value of a line; `otherwise` where the rule has no such line.
      @param {WrittenRule} rule */
  function lineValue(rule, name, setting, otherwise) {
    const line = rule.lines.get(name);
    return line ? evaluateRule(rule, line.node, setting, line.line) : otherwise;
  }

  /** What a line may look at. `token`: the drafted one, null where there is none.
      @returns {RuleSetting} */
  function settingOf(values, token, u = null, cuts = null) {
    const given = { ...values };
    if (token !== null) given.x = values.p.map((_, other) => Number(other === token));
    return { values: given, token, u, cuts, memo: new Map() };
  }

  return { evaluateRule, lineValue, settingOf, rowOf, atToken, sumOf, normalised, TINY };
})(SpecViz);
Object.assign(SpecViz, ruleValues);
