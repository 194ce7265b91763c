/* Medusa in the browser's engine (Cai et al., 2401.10774): heads on the target's last state, each of which guesses one
   place further on; the twin of specviz/drafters/medusa.py and learned/heads.py.

   state of the token before the root ─► head 1, head 2, … ─► what stands 2, 3, … places on ─► tree, or chain */
// needs: checkpoint, drafters, growing, llama_rows, sampling, tree_policies
const medusa = (function (S) {
  "use strict";

  const { sampling } = S;
  const NUMBER_BYTES = 4;
  const SHOWN = 5; // tokens of a distribution in an exhibit, beside those drafted
  const rounded = (value, units) => Math.round(value * units) / units;

  /** The `nodes` paths of ranks most probably accepted to their ends, each after its own beginning: a path's worth is
      the product of `accuracies[depth][rank]` along it. Of equals the shorter, then the one of lower ranks.
      @param {number[][]} accuracies @returns {{ path: number[], worth: number }[]} */
  function staticPaths(accuracies, nodes) {
    const chosen = [];
    const below = ({ path, worth }) =>
      (accuracies[path.length] ?? []).map((share, rank) => ({ path: [...path, rank], worth: worth * share }));
    const lower = (one, other) => {
      const at = one.findIndex((rank, place) => rank !== other[place]);
      return one[at] < other[at];
    };
    const before = (one, other) =>
      one.worth !== other.worth
        ? one.worth > other.worth
        : one.path.length !== other.path.length
          ? one.path.length < other.path.length
          : lower(one.path, other.path);
    const waiting = below({ path: [], worth: 1 });
    while (waiting.length && chosen.length < nodes) {
      const best = waiting.reduce((first, other) => (before(other, first) ? other : first));
      waiting.splice(waiting.indexOf(best), 1, ...below(best));
      chosen.push(best);
    }
    return chosen;
  }

  /** Numbers that the heads take in an arena. */
  function medusaNumbers({ card }, { hidden }) {
    const { heads, layers } = card.options;
    return heads * hidden * (layers * (hidden + 1) + hidden + 4) + 2 * hidden + 4096;
  }

  class MedusaNetwork {
    /** @param {InstanceType<Names["Llama"]>} target @param {LearnedModule} module */
    constructor(target, { card, tensors }) {
      const { heads, layers, own_head: ownHead } = card.options;
      if (ownHead) throw new Error("these heads of Medusa read out by themselves, which the browser's engine has not.");
      const { arena, shape } = target;
      const { hidden } = shape;
      this.target = target;
      const numbers = (name) => {
        const tensor = tensors.get(name);
        const into = new Float32Array(tensor.shape.reduce((product, side) => product * side, 1));
        S.widen(tensor, into);
        return into;
      };
      this.heads = Array.from({ length: heads }, (_, head) => ({
        blocks: Array.from({ length: layers }, (_, layer) => ({
          weight: S.storeTensors(arena, tensors, [`heads.${head}.${layer}.linear`], "Medusa"),
          bias: numbers(`heads.${head}.${layer}.linear.bias`),
        })),
        last: S.storeTensors(arena, tensors, [`heads.${head}.${layers}`], "Medusa"),
      }));
      const rates = numbers("accuracies.rates");
      const ranks = rates.length / heads;
      this.accuracies = this.heads.map((_, head) => Array.from(rates.slice(head * ranks, (head + 1) * ranks)));
      const { bytes } = tensors.get("accuracies.batches"); // eight bytes a head
      this.measured = this.heads.every((_, head) => bytes.slice(8 * head, 8 * head + 8).some((byte) => byte > 0));
      this.reads = NUMBER_BYTES * (card.parameters + target.vocab * hidden);
      this.x = arena.take(hidden);
      this.inner = arena.take(hidden);
      this.read = arena.take(heads * hidden);
    }

    /** What each head says [heads][V] from the target's state [H].
        @param {Float32Array} state */
    logits(state) {
      const { arena } = this.target;
      const { hidden } = this.target.shape;
      const [x, inner] = [this.x, this.inner].map((pointer) => arena.view(pointer, hidden));
      this.heads.forEach(({ blocks, last }, head) => {
        x.set(state);
        for (const { weight, bias } of blocks) {
          inner.set(bias);
          arena.kernels.multiply(this.x, 1, hidden, weight, hidden, this.inner, true);
          for (let k = 0; k < hidden; k++) x[k] += inner[k] / (1 + Math.exp(-inner[k]));
        }
        arena.kernels.multiply(this.x, 1, hidden, last, hidden, this.read + 4 * head * hidden, false);
      });
      return this.target.answer(this.read, this.heads.length);
    }
  }

  /** The planned ranks below each node, level by level: point masses at any temperature. */
  class PlannedPolicy extends S.TreePolicy {
    static settlesSiblings = true;

    /** @param {number[][]} paths of ranks, each after its own beginning */
    constructor(paths) {
      super({});
      /** @type {Map<string, number[]>} path → the ranks of what hangs below it */
      this.plan = new Map();
      for (const path of paths) {
        const above = path.slice(0, -1).join();
        this.plan.set(above, [...(this.plan.get(above) ?? []), path.at(-1)]);
      }
    }

    kind() {
      return /** @type {Kind} */ ("point_mass");
    }

    grow(draft) {
      let level = new Map([[0, ""]]);
      while (level.size) {
        const asked = [...level.keys()].filter((node) => this.plan.has(level.get(node)));
        const { nodes, logits } = draft.expand(asked);
        const below = new Map();
        nodes.forEach((node, at) => {
          const path = level.get(node);
          const ranks = this.plan.get(path);
          const tokens = sampling.largest(logits[at], 1 + Math.max(...ranks));
          for (const rank of ranks)
            below.set(draft.add(node, tokens[rank], "point_mass", null), path ? `${path},${rank}` : String(rank));
        });
        level = below;
      }
    }
  }

  class MedusaDrafter extends S.GrowingDrafter {
    static passReads = "all heads and the target's head, where they have none of their own";
    static readsStates = true;

    /** @param {any} options @param {DrafterParts} parts */
    constructor(options, { network, policies }) {
      super({ ...options, gamma: Math.min(options.gamma, network.heads.length) }, policies);
      this.network = network;
      /** @type {Float32Array | null} the target's state of the last token that it has read */
      this.state = null;
      this.known = 0; // tokens of the text whose states were read
      const rates = network.accuracies.slice(0, this.options.gamma);
      const paths = staticPaths(rates, options.nodes ?? 0);
      if (options.nodes) this.ownTree = new PlannedPolicy(paths.map(({ path }) => path));
      const expected = paths.reduce((sum, { worth }) => sum + worth, 0);
      this.note = network.measured
        ? {
            heads_right_percent: rates.map(([first]) => Math.round(100 * first)),
            ...(paths.length && { expected_accepted: rounded(expected, 1000) }),
          }
        : {};
    }

    /** Of planned paths it is known before the heads are there that they are point masses. */
    static treeOf(options) {
      return options.nodes ? new PlannedPolicy([]) : super.treeOf(options);
    }

    begin() {}

    readStates(tokens, states) {
      this.state = states.at(-1);
      this.known += tokens.length;
    }

    /** @param {Outcome} outcome @returns {trace.Exhibit[]} */
    observe({ path, tokens, states }) {
      const accepted = [0, ...path].slice(0, tokens.length - 1 - this.known);
      if (accepted.length) this.readStates(accepted, [states[accepted.at(-1)]]);
      return [];
    }

    /** A root alone after a prompt of one token: nothing is known of the target before its first pass.
        @param {DraftContext} context @returns {Proposal} */
    propose(context) {
      const proposal = S.bareProposal(context.tokens.at(-1));
      /** @type {Float32Array[]} what each head says, once it was asked */
      let rows = [];
      /** Below a node of depth d speaks head d, counted from 0. */
      const answer = (nodes) => {
        if (!rows.length) rows = this.ask(proposal);
        return nodes.map((node) => rows[proposal.tree.depths[node]]);
      };
      this.draft(context, proposal, this.state ? this.options.gamma : 0, { source: "medusa", answer });
      if (!rows.length) return proposal;
      Object.assign(proposal.note, this.note);
      proposal.knew = [exhibit(proposal.tree, rows.map(sampling.softmax))];
      return proposal;
    }

    /** One pass of all heads, noted in the proposal. */
    ask(proposal) {
      const began = performance.now();
      const rows = this.network.logits(this.state);
      const seconds = (performance.now() - began) / 1000;
      proposal.passes.push({ rows: 1, cached_rows: 0, seconds, depth: null, read: this.network.reads });
      return rows;
    }
  }

  /** What each head holds probable, one row a head: it speaks for all nodes of its level.
      @param {InstanceType<Names["DraftTree"]>} tree @param {Float32Array[]} probs @returns {trace.Exhibit} */
  function exhibit(tree, probs) {
    const deepest = Math.max(...tree.depths);
    const rows = Array.from({ length: deepest }, (_, head) => {
      const nodes = [...tree.tokens.keys()]
        .filter((node) => tree.depths[node] === head + 1)
        .sort((one, other) => tree.parents[one] - tree.parents[other] || one - other);
      const drafted = [...new Set(nodes.map((node) => tree.tokens[node]))];
      const likely = sampling.largest(probs[head], SHOWN);
      const tokens = [...likely, ...drafted.filter((token) => !likely.includes(token))];
      const marks = [...tokens.keys()].filter((at) => drafted.includes(tokens[at]));
      const scores = tokens.map((token) => rounded(probs[head][token], 1e6));
      return { label: `head ${head + 1}`, tokens, marks, nodes, position: null, scores };
    });
    return { title: "what each head holds probable", rows, marked: "drafted" };
  }

  return { MedusaNetwork, MedusaDrafter, medusaNumbers, staticPaths };
})(SpecViz);
Object.assign(SpecViz, medusa);
