/* Tree policies of the browser's engine whose shape is written down before a draft begins, and EAGLE-2's; the twins of
   specviz/tree_policies/chain.py, levels.py, rsd_c.py, paths.py, eagle2.py and target_init.py. */
// needs: sampling, tree_drawing
const treePolicies = (function (S) {
  "use strict";

  const { sampling } = S;
  const { DRAWN_KINDS, MOST_NODES, DEEPEST, chooseDraw, familyOf, mostOf, goesDeeper, growLevels } = S.drawing;
  const WIDEST = 32; // ranks below a node

  /** Grows a tree, which is a root alone, by asking `expand` and adding candidates. */
  class TreePolicy {
    static opens = false; // its first level comes from the target
    static settlesSiblings = false; // how many children a node gets is settled before any is drawn

    /** Throws where the options make no tree. */
    constructor(options) {
      this.options = options;
    }

    /** Whether candidates may have siblings. */
    get isTree() {
      return true;
    }

    /** The kind of candidate that it makes.
        @param {Sampling} rule @returns {Kind} */
    kind(rule) {
      return DRAWN_KINDS[this.draw(rule)];
    }

    /** @param {Sampling} rule */
    draw(rule) {
      return chooseDraw(this.options.draw ?? "auto", this.isTree, rule);
    }

    /** Told once whose draft is judged by whom, and what passes cost here.
        @param {PolicyPair} pair */
    prepare(pair) {}

    /** @param {GrownDraft} draft */
    grow(draft) {}
  }

  class ChainPolicy extends TreePolicy {
    static settlesSiblings = true;

    get isTree() {
      return false;
    }

    grow(draft) {
      growLevels(draft, Array(this.options.length).fill(1), this.draw(draft.sampling), this.options);
    }
  }

  /** Throws where a tree of this branching has too many nodes. */
  function checkSize(branching) {
    let [nodes, width] = [0, 1];
    for (const children of branching) nodes += width *= children;
    if (nodes > MOST_NODES)
      throw new Error(
        `branching ${branching.join()} makes ${nodes} candidates per round, but at most ${MOST_NODES} are allowed; ` +
          "use fewer children or levels.",
      );
  }

  class LevelsPolicy extends TreePolicy {
    static settlesSiblings = true;

    constructor(options) {
      super(options);
      checkSize(options.branching);
    }

    get isTree() {
      return Math.max(1, ...this.options.branching) > 1;
    }

    grow(draft) {
      growLevels(draft, this.options.branching, this.draw(draft.sampling), this.options);
    }
  }

  /** Distinct children at every node: drawn without replacement whatever the branching. */
  class RsdCPolicy extends LevelsPolicy {
    draw(rule) {
      return chooseDraw("auto", true, rule);
    }
  }

  /** The paths of a list, by rank, such as 0; 1; 0,0; level by level. Throws where one is no list of ranks, stands
      twice or hangs below one that is not listed.
      @param {string} text @returns {number[][]} */
  function readPaths(text) {
    const isBracketed = /[[\]()]/.test(text);
    const parts = isBracketed
      ? [...text.matchAll(/[[(]([^[\]()]*)[\])]/g)].map(([, inner]) => inner)
      : text.split(/[;\n]/);
    const written = parts.filter((part) => part.trim()).map((part) => part.trim().replace(/,$/, "").split(","));
    const wrong = written.flat().find((rank) => !/^\d{1,5}$/.test(rank.trim()));
    if (wrong !== undefined) throw new Error(`paths has '${wrong.trim().slice(0, 20)}', which is no rank.`);
    if (!written.length) throw new Error("paths is empty; list at least one, such as 0; 1; 0,0; 0,1.");
    const paths = written.map((ranks) => ranks.map(Number));
    const listed = new Set(paths.map((path) => path.join()));
    if (listed.size < paths.length) throw new Error("paths lists a path twice; keep it once.");
    const loose = paths.find((path) => path.length > 1 && !listed.has(path.slice(0, -1).join()));
    if (loose)
      throw new Error(`paths lists ${loose.join()}, but not ${loose.slice(0, -1).join()}, below which it hangs.`);
    return paths.sort((one, other) => {
      const at = one.findIndex((rank, place) => rank !== other[place]);
      return one.length - other.length || (at < 0 ? 0 : one[at] - other[at]);
    });
  }

  /** A static tree that is written down; under `top_k` ranks may be left out. */
  class PathsPolicy extends TreePolicy {
    static settlesSiblings = true;

    constructor(options) {
      super(options);
      const paths = readPaths(options.paths);
      this.deepest = paths.at(-1).length;
      if (paths.length > MOST_NODES || this.deepest > DEEPEST || paths.flat().some((rank) => rank >= WIDEST))
        throw new Error(
          `paths lists more than ${MOST_NODES} candidates, ${DEEPEST} levels or ${WIDEST} children of a node; ` +
            "list fewer.",
        );
      /** @type {Map<string, number[]>} path → the ranks of its children, rising */
      this.families = new Map();
      for (const path of paths) {
        const above = path.slice(0, -1).join();
        this.families.set(above, [...(this.families.get(above) ?? []), path.at(-1)]);
      }
      const isGapped = [...this.families.values()].some((ranks) => ranks.at(-1) !== ranks.length - 1);
      if (isGapped && options.draw !== "top_k")
        throw new Error("paths leaves out a rank, but siblings are drawn one after the other; set draw to top_k.");
    }

    get isTree() {
      return [...this.families.values()].some((ranks) => ranks.length > 1);
    }

    grow(draft) {
      const { options } = this;
      const [most, how] = [mostOf(options), this.draw(draft.sampling)];
      let level = new Map([[0, ""]]);
      let depth = 0;
      while (level.size && draft.drafted < most && goesDeeper(options, depth, this.deepest, draft.drafted)) {
        depth++;
        const ranksBelow = (path) => (depth > this.deepest ? [0] : (this.families.get(path) ?? []));
        const asked = [...level].filter(([, path]) => ranksBelow(path).length).map(([node]) => node);
        const { nodes, logits } = draft.expand(asked);
        const below = new Map();
        nodes.forEach((node, at) => {
          const path = level.get(node);
          const ranks = ranksBelow(path).slice(0, most - draft.drafted);
          if (!ranks.length) return;
          const family = familyOf(how, logits[at], ranks.at(-1) + 1, draft);
          for (const rank of ranks.filter((rank) => rank < family.length)) {
            const [token, q] = family[rank];
            below.set(draft.add(node, token, DRAWN_KINDS[how], q), path ? `${path},${rank}` : String(rank));
          }
        });
        level = below;
      }
    }
  }

  /** Expands the nodes of the largest cumulative probability and keeps the best of all that were scored. */
  class Eagle2Policy extends TreePolicy {
    kind() {
      return /** @type {Kind} */ ("point_mass");
    }

    grow(draft) {
      const { options } = this;
      const scores = [0];
      const best = (one, other) => scores[other] - scores[one] || one - other; // of equals the older
      const rising = (one, other) => one - other;
      let [frontier, depth] = [[0], 0];
      while (goesDeeper(options, depth, options.depth, draft.drafted)) {
        depth++;
        const { nodes, logits } = draft.expand(frontier);
        if (!nodes.length) break;
        const scored = nodes.flatMap((node, at) => {
          const probs = sampling.softmax(logits[at]);
          return sampling.largest(logits[at], options.width).map((token) => {
            const child = draft.add(node, token, "point_mass", null);
            scores[child] = scores[node] + Math.log(probs[token]);
            return child;
          });
        });
        frontier = scored.sort(best).slice(0, options.width).sort(rising);
      }
      draft.note.scored = draft.drafted;
      const candidates = [...scores.keys()].slice(1).sort(best);
      draft.arrange([0, ...candidates.slice(0, options.budget).sort(rising)]);
    }
  }

  /** Lossy: the first level comes from the target's own distribution, one chain below each candidate. */
  class TargetInitPolicy extends TreePolicy {
    static opens = true;
    static settlesSiblings = true;

    constructor(options) {
      super(options);
      checkSize([options.width, ...Array(options.depth - 1).fill(1)]);
    }

    grow(draft) {
      const { options } = this;
      const { budget, depth } = options;
      const [width, how] = [Math.min(options.width, mostOf(options)), this.draw(draft.sampling)];
      const below = (levels) => Array(levels).fill(1);
      if (!draft.targetProposal) growLevels(draft, [width, ...below(depth - 1)], how, options);
      else {
        draft.expand([0]); // not for its answer: the drafter reads the text that its later levels continue
        const first = this.ofTheTarget(draft, width);
        if (goesDeeper(options, 1, depth, draft.drafted))
          growLevels(draft, below(Math.max(1, depth - 1)), how, options, first);
      }
      draft.note.from_target = draft.tree.sources.filter((source) => source === "target").length;
      draft.note.mask_side_largest = 1 + (budget || width * depth);
      draft.note.mask_side = draft.tree.length;
    }

    /** The open token and others of the same distribution, as candidates below the root. */
    ofTheTarget(draft, width) {
      const { token, logits } = draft.targetProposal;
      if (draft.sampling.temperature === 0) {
        const others = sampling.largest(logits, width).filter((other) => other !== token);
        const tokens = [token, ...others.slice(0, width - 1)];
        return tokens.map((candidate) => draft.add(0, candidate, "point_mass", null, "target"));
      }
      const p = sampling.transform(logits, draft.sampling);
      const taken = [token];
      let [left, mass] = sampling.without(p, taken);
      while (taken.length < width && mass > 0) {
        taken.push(draft.draw(left));
        [left, mass] = sampling.without(p, taken);
      }
      return taken.map((candidate) => draft.add(0, candidate, "without_replacement", p, "target"));
    }
  }

  const WRITTEN_DOWN = { chain: ChainPolicy, levels: LevelsPolicy, rsd_c: RsdCPolicy, paths: PathsPolicy };
  const SHAPED_TREES = { ...WRITTEN_DOWN, eagle2: Eagle2Policy, target_init: TargetInitPolicy };
  return { TreePolicy, LevelsPolicy, SHAPED_TREES };
})(SpecViz);
Object.assign(SpecViz, treePolicies);
