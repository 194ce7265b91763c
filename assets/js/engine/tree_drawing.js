/* How the candidates below nodes are drawn: a level at once, or siblings taken one by one; the twin of
   specviz/tree_policies/drawing.py. Pure but for the draft that draws. */
// needs: sampling
/** @typedef {"iid" | "without_replacement" | "top_k"} Draw
    @typedef {[token: number, proposal: Float32Array | null]} Child what it was drawn from, before earlier siblings */

const treeDrawing = (function (S) {
  "use strict";

  const { sampling } = S;
  const [MOST_NODES, DEEPEST] = [512, 32]; // candidates of a round, and levels
  const AUTO = { "chain cold": "top_k", "tree cold": "top_k", "chain warm": "iid", "tree warm": "without_replacement" };
  /** @type {Record<Draw, Kind>} */
  const DRAWN_KINDS = { iid: "iid", without_replacement: "without_replacement", top_k: "point_mass" };

  /** How candidates are drawn: as asked, or by whether the draft is a tree and the temperature zero.
      @param {string} name @param {boolean} isTree @param {{ temperature: number }} rule @returns {Draw} */
  function chooseDraw(name, isTree, { temperature }) {
    const how = name === "auto" ? AUTO[`${isTree ? "tree" : "chain"} ${temperature === 0 ? "cold" : "warm"}`] : name;
    return /** @type {Draw} */ (how);
  }

  /** The kind of what `Siblings` takes.
      @param {{ temperature: number }} rule @returns {Kind} */
  const siblingKind = (rule) => (rule.temperature === 0 ? "point_mass" : "without_replacement");

  /** Up to `width` children below a node with these logits [V], in draw order.
      @param {Draw} how @param {Float32Array} logits @param {GrownDraft} draft @returns {Child[]} */
  function familyOf(how, logits, width, draft) {
    if (how === "top_k") return sampling.largest(logits, Math.min(width, logits.length)).map((token) => [token, null]);
    const q = sampling.transform(logits, draft.sampling);
    /** @type {Child[]} */
    const children = [];
    let [left, mass] = [q, 1];
    while (children.length < width && mass > 0) {
      const token = draft.draw(left);
      children.push([token, q]);
      if (how === "without_replacement" && children.length < width) [left, mass] = sampling.without(left, [token]);
    }
    return children;
  }

  /** So many candidates at most.
      @param {{ budget: number }} options */
  const mostOf = ({ budget }) => budget || MOST_NODES;

  /** Whether another level follows `levels` of them with `nodes` candidates, of a shape that has `wanted`. */
  const goesDeeper = ({ budget }, levels, wanted, nodes) => levels < wanted || (nodes < budget && levels < DEEPEST);

  /** `widths[i]` children below every node of level i; with a budget exactly so many candidates: where it ends inside a
      level the first nodes get theirs, where it reaches further than the shape the last width goes on. A chain without
      a budget is as long as the stop policy lets it become.
      @param {GrownDraft} draft @param {number[]} widths @param {Draw} how @param {{ budget: number }} options */
  function growLevels(draft, widths, how, options, first = [0]) {
    const most = mostOf(options);
    const isChain = widths.every((width) => width === 1) && first.length === 1 && first[0] === 0;
    if (draft.chainLevels && !options.budget && isChain) widths = Array(draft.chainLevels).fill(1);
    let [level, depth] = [first, 0];
    while (
      level.length &&
      widths.length &&
      draft.drafted < most &&
      goesDeeper(options, depth, widths.length, draft.drafted)
    ) {
      const width = widths[Math.min(depth++, widths.length - 1)];
      const { nodes, logits } = draft.expand(level);
      const room = most - draft.drafted; // who gets how many is settled before anything is drawn
      const share = (at) => Math.max(0, Math.min(width, room - at * width));
      const families = nodes.map((_, at) => (share(at) ? familyOf(how, logits[at], share(at), draft) : []));
      level = nodes.flatMap((parent, at) =>
        families[at].map(([token, q]) => draft.add(parent, token, DRAWN_KINDS[how], q)),
      );
    }
  }

  /** What is left below a node, taken one by one: above temperature 0 drawn without replacement, at temperature 0 the
      most probable in order of the model's own softmax. */
  class Siblings {
    /** @param {Float32Array} logits @param {Sampling} rule */
    constructor(logits, rule) {
      this.kind = siblingKind(rule);
      this.isRanked = this.kind === "point_mass";
      this.q = this.isRanked ? null : sampling.transform(logits, rule);
      this.rest = this.q ?? sampling.softmax(logits);
      /** Mass that no sibling has taken. */
      this.left = 1;
    }

    /** Probability of the most probable token that is left. */
    get best() {
      return this.rest[sampling.argmax(this.rest)] * (this.isRanked ? 1 : this.left);
    }

    /** The next one, and its share of what there was before any was taken.
        @param {GrownDraft} draft */
    take(draft) {
      if (this.isRanked) {
        const token = sampling.argmax(this.rest);
        const prob = this.rest[token];
        this.rest[token] = 0;
        this.left = this.rest.reduce((sum, value) => sum + value, 0);
        return { token, proposal: null, prob };
      }
      const token = draft.draw(this.rest);
      const [rest, mass] = sampling.without(this.rest, [token]);
      this.rest = rest;
      this.left *= mass;
      return { token, proposal: this.q, prob: this.q[token] };
    }
  }

  const sizes = { MOST_NODES, DEEPEST, mostOf, goesDeeper };
  const drawing = { ...sizes, DRAWN_KINDS, chooseDraw, siblingKind, familyOf, growLevels, Siblings };
  return { drawing };
})(SpecViz);
Object.assign(SpecViz, treeDrawing);
