/* The small language in which a visitor writes a rule: lines `name = expression` over rows and numbers. Text in, lines
   out, or one sentence that names the place. There are no loops, so every rule comes to its end. The same in Python:
   specviz/written_rules/language.py. Pure. */
// needs: nothing
/** @typedef {{ kind: "number", value: number, at: number } | { kind: "name", name: string, at: number }
      | { kind: "call", name: string, parts: RuleNode[], at: number }} RuleNode
    @typedef {{ name: string, node: RuleNode, line: number }} RuleLine
    @typedef {{ lines: Map<string, RuleLine>, text: string }} WrittenRule */

const ruleLanguage = (function () {
  "use strict";

  const [MOST_CHARACTERS, MOST_LINES, DEEPEST] = [1000, 40, 40];
  const GIVEN = ["p", "q", "r", "Q", "x", "u", "K", "gamma", "rejected", "rho"];
  const KNOWN = "p, q, r, Q, u, x";
  /** name → the fewest and the most arguments */
  const FUNCTIONS = { min: [1, 9], max: [1, 9], sum: [1, 1], normalise: [1, 1], before: [1, 1], if: [3, 3] };
  Object.assign(FUNCTIONS, { exp: [1, 1], log: [1, 1] });
  const WORDS = ["and", "or", "not", "else", "if"];
  const SIGNS = { "−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "≤": "<=", "≥": ">=", "≠": "!=" };
  const COMPARING = ["<", "<=", ">", ">=", "==", "!="];
  const TOKEN =
    /[ \t]*(?:(\d+(?:\.\d+)?|\.\d+)|([A-Za-z_][A-Za-z_0-9]*)|(<=|>=|==|!=|[-+*/()<>=,[\]−–×·÷≤≥≠])|([^ \t]))/y;

  /** An error at a place: {line, column} are counted from 1. */
  function ruleFault(line, at, sentence) {
    return Object.assign(new Error(`line ${line}, column ${at + 1}: ${sentence}`), { line, column: at + 1 });
  }

  /** `min(1, p/q)` → [{text, sort, at}], ended by one without text. */
  function tokensOf(text, line, start) {
    const tokens = [];
    TOKEN.lastIndex = start;
    for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
      const [, number, name, sign, other] = match;
      const shown = number ?? name ?? sign ?? other;
      const at = TOKEN.lastIndex - shown.length;
      if (other) throw ruleFault(line, at, `'${other}' means nothing here; write with + - * / ( ) [ ] < > and names.`);
      tokens.push({ sort: number ? "number" : name ? "name" : "sign", text: SIGNS[shown] ?? shown, at });
    }
    return [...tokens, { sort: "end", text: "", at: text.trimEnd().length }];
  }

  /** Reads one expression; `known`: the names that may stand in it. */
  class ExpressionReader {
    constructor(tokens, line, known) {
      this.tokens = tokens;
      this.line = line;
      this.known = known;
      this.next = 0;
      this.depth = 0;
    }

    get token() {
      return this.tokens[this.next];
    }

    is(text) {
      return this.token.sort !== "number" && this.token.text === text && this.token.sort !== "end";
    }

    take(text) {
      if (!this.is(text)) return false;
      this.next += 1;
      return true;
    }

    fault(sentence, at = this.token.at) {
      return ruleFault(this.line, at, sentence);
    }

    want(text, after) {
      if (!this.take(text)) throw this.fault(`write '${text}' ${after}.`);
    }

    /** All of the line. */
    whole() {
      const node = this.choice();
      const { sort, text } = this.token;
      if (sort === "sign" && text === "=") throw this.fault("'=' gives a name to a line; to compare, write '=='.");
      if (sort !== "end") throw this.fault(`'${text}' cannot stand here; write + - * / or a comparison before it.`);
      return node;
    }

    /** `a if c else b`, or what is smaller. */
    choice() {
      this.depth += 1;
      if (this.depth > DEEPEST) throw this.fault("this is nested too deeply; give a part a name in a line above.");
      const there = this.joined("or", () => this.joined("and", () => this.turned()));
      const { at } = this.token;
      let node = there;
      if (this.take("if")) {
        const condition = this.joined("or", () => this.joined("and", () => this.turned()));
        this.want("else", "and what it is otherwise, as in `1 if p > q else p / q`");
        node = this.call("if", [condition, there, this.choice()], at);
      }
      this.depth -= 1;
      return node;
    }

    joined(word, smaller) {
      let node = smaller();
      for (let { at } = this.token; this.take(word); { at } = this.token) node = this.call(word, [node, smaller()], at);
      return node;
    }

    turned() {
      const { at } = this.token;
      if (!this.take("not")) return this.compared();
      this.depth += 1;
      if (this.depth > DEEPEST) throw this.fault("this is nested too deeply; give a part a name in a line above.");
      const node = this.call("not", [this.turned()], at);
      this.depth -= 1;
      return node;
    }

    compared() {
      const left = this.added();
      const { text, at } = this.token;
      if (!COMPARING.includes(text)) return left;
      this.next += 1;
      const node = this.call(text, [left, this.added()], at);
      if (COMPARING.includes(this.token.text)) throw this.fault("compare two at a time and join them with `and`.");
      return node;
    }

    added() {
      return this.chained(["+", "-"], () => this.chained(["*", "/"], () => this.signed()));
    }

    chained(signs, smaller) {
      let node = smaller();
      while (this.token.sort === "sign" && signs.includes(this.token.text)) {
        const { text, at } = this.token;
        this.next += 1;
        node = this.call(text, [node, smaller()], at);
      }
      return node;
    }

    signed() {
      const { at } = this.token;
      if (!this.take("-")) return this.indexed();
      this.depth += 1;
      if (this.depth > DEEPEST) throw this.fault("this is nested too deeply; give a part a name in a line above.");
      const node = this.call("negative", [this.signed()], at);
      this.depth -= 1;
      return node;
    }

    indexed() {
      const node = this.atom();
      const { at } = this.token;
      if (!this.take("[")) return node;
      if (!this.take("x")) throw this.fault("only the drafted token can be picked; write [x], as in p[x].");
      this.want("]", "after x");
      return this.call("pick", [node], at);
    }

    atom() {
      const { sort, text, at } = this.token;
      this.next += sort === "end" ? 0 : 1;
      if (sort === "number") return { kind: "number", value: Number(text), at };
      if (sort === "name" && this.is("(")) return this.called(text, at);
      if (sort === "name" && !WORDS.includes(text)) return this.named(text, at);
      if (text !== "(") {
        const what = sort === "end" ? "something is missing at the end" : `'${text}' cannot stand here`;
        throw ruleFault(this.line, at, `${what}; write a number, a name such as p, or a bracket.`);
      }
      const node = this.choice();
      this.want(")", "to close the bracket");
      return node;
    }

    named(name, at) {
      if (Object.hasOwn(FUNCTIONS, name)) throw this.fault(`write brackets after ${name}, as in ${name}(p).`, at);
      if (!this.known.has(name))
        throw this.fault(`'${name}' is not known here; use ${KNOWN}, or give it a value in a line above.`, at);
      return { kind: "name", name, at };
    }

    called(given, at) {
      const name = given === "normalize" ? "normalise" : given;
      if (!Object.hasOwn(FUNCTIONS, name)) {
        const cure = this.known.has(name)
          ? `${name}[x], or an operation after ${name}`
          : Object.keys(FUNCTIONS).join(", ");
        throw this.fault(`there is no function '${name}'; write ${cure}.`, at);
      }
      this.want("(", "to open the bracket");
      const parts = [this.choice()];
      while (this.take(",")) parts.push(this.choice());
      this.want(")", `to close ${name}(`);
      const [least, most] = FUNCTIONS[name];
      if (parts.length < least || parts.length > most)
        throw this.fault(
          `${name} takes ${least === most ? least : `${least} to ${most}`} of them, not ${parts.length}.`,
          at,
        );
      return this.call(name, parts, at);
    }

    call(name, parts, at) {
      return { kind: "call", name, parts, at };
    }
  }

  /** u may only be compared, with something that does not hold u itself. */
  function checkU(node, line) {
    if (node.kind === "name" && node.name === "u")
      throw ruleFault(line, node.at, "u is only compared, as in u < p / q; what you compute with is p and q.");
    if (node.kind !== "call") return;
    const sides = COMPARING.includes(node.name) ? node.parts.filter((part) => !isU(part)) : node.parts;
    if (COMPARING.includes(node.name) && !sides.length)
      throw ruleFault(line, node.at, "u is compared with itself here.");
    for (const part of sides) checkU(part, line);
  }

  const isU = (node) => node.kind === "name" && node.name === "u";

  function lineOf(text, number, known) {
    const start = /^[ \t]*([A-Za-z_][A-Za-z_0-9]*)[ \t]*=(?!=)/.exec(text);
    if (!start) throw ruleFault(number, text.search(/\S/), "begin with a name and =, as in accept = min(1, p / q).");
    const name = start[1];
    const at = text.indexOf(name);
    if (GIVEN.includes(name) || Object.hasOwn(FUNCTIONS, name) || WORDS.includes(name))
      throw ruleFault(number, at, `'${name}' has a meaning already; choose another name for this line.`);
    if (known.has(name)) throw ruleFault(number, at, `there are two lines called '${name}'; keep one of them.`);
    const node = new ExpressionReader(tokensOf(text, number, start[0].length), number, known).whole();
    checkU(node, number);
    return { name, node, line: number };
  }

  /** The lines of a rule. Throws an error with its place.
      @returns {WrittenRule} */
  function parseRule(text) {
    if (text.length > MOST_CHARACTERS)
      throw ruleFault(1, 0, `a rule has at most ${MOST_CHARACTERS} characters; this has ${text.length}.`);
    const rows = text.split(/\r\n|\n|\r/);
    if (rows.length > MOST_LINES)
      throw ruleFault(MOST_LINES, 0, `a rule has at most ${MOST_LINES} lines; this has ${rows.length}.`);
    const known = new Set(GIVEN);
    const lines = new Map();
    rows.forEach((row, index) => {
      const bare = row.replace(/#.*/, "");
      if (!bare.trim()) return;
      const line = lineOf(bare, index + 1, known);
      known.add(line.name);
      lines.set(line.name, line);
    });
    for (const [name, example] of [
      ["accept", "accept = min(1, p / q)"],
      ["replacement", "replacement = max(0, p - q)"],
    ])
      if (!lines.has(name)) throw ruleFault(rows.length, 0, `there is no line '${name}'; write ${example}.`);
    return { lines, text };
  }

  /** Whether a line, or one that it names, looks at u.
      @param {WrittenRule} rule */
  function looksAt(rule, name, word) {
    const seen = new Set();
    const holds = (node) => {
      if (node.kind === "call") return node.parts.some(holds);
      if (node.kind !== "name") return false;
      if (node.name === word) return true;
      if (seen.has(node.name) || !rule.lines.has(node.name)) return false;
      seen.add(node.name);
      return holds(rule.lines.get(node.name).node);
    };
    return rule.lines.has(name) && holds(rule.lines.get(name).node);
  }

  return { parseRule, ruleFault, looksAt, COMPARING };
})();
Object.assign(SpecViz, ruleLanguage);
