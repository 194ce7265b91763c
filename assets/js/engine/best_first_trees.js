/* Tree policies of the browser's engine that spend a budget where it is expected to pay; the twins of
   specviz/tree_policies/dyspec.py, ddtree.py, sequoia.py and rsd_s.py. */
// needs: sampling, tree_drawing, tree_policies
/** @typedef {{ target: string, drafter: string | null, temperature: number, vectors: MeasuredVectors,
      steps: trace.StepTime[], draftStep: number | null }} PolicyPair hashes of both models' weights (`drafter` null:
      none of its own), and seconds of bare passes
    @typedef {{ target: { weights_sha256: string }, drafter: { weights_sha256: string },
      vectors: { temperature: number, vector: number[] }[] }} MeasuredVectors the shipped acceptance vectors
    @typedef {{ children: Planned[] }} Planned a node of a planned tree */

const bestFirstTrees = (function (S) {
  "use strict";

  const { sampling } = S;
  const { siblingKind, Siblings } = S.drawing;
  const rounded = (value, units) => Math.round(value * units) / units;

  /** Take the first in order out of a list. */
  function pop(waiting, isBefore) {
    const first = waiting.reduce((best, other) => (isBefore(other, best) ? other : best));
    waiting.splice(waiting.indexOf(first), 1);
    return first;
  }

  /** One whose siblings are taken one by one. */
  class SiblingPolicy extends S.TreePolicy {
    kind(rule) {
      return siblingKind(rule);
    }

    /** Add the next of a node's siblings; its id, and its share. */
    static taken(draft, node, family) {
      const { token, proposal, prob } = family.take(draft);
      return { child: draft.add(node, token, family.kind, proposal), prob };
    }
  }

  /** How many tile × tile blocks of the ancestor mask hold anything. */
  function touchedTiles(parents, tile) {
    const touched = new Set();
    for (const node of parents.keys())
      for (let seen = node; seen >= 0; seen = parents[seen])
        touched.add(`${Math.floor(node / tile)} ${Math.floor(seen / tile)}`);
    return touched.size;
  }

  /** All nodes, subtree by subtree; siblings keep their order. */
  function depthFirst(tree, node = 0) {
    return [node, ...tree.children(node).flatMap((child) => depthFirst(tree, child))];
  }

  /** The tree grows where verification is most likely to arrive. */
  class DySpecPolicy extends SiblingPolicy {
    grow(draft) {
      const { tile, threshold } = this.options;
      if (threshold > 0) this.byLevel(draft);
      else this.bestFirst(draft);
      const { tree, note } = draft;
      note.mask_tiles_as_drawn = touchedTiles(tree.parents, tile);
      draft.arrange(depthFirst(tree));
      note.mask_tiles = touchedTiles(tree.parents, tile);
      note.mask_tiles_all = Math.ceil(tree.length / tile) ** 2;
    }

    bestFirst(draft) {
      /** @type {Map<number, InstanceType<typeof Siblings>>} */
      const families = new Map();
      const values = [1];
      const slots = [{ worth: 1, node: 0 }]; // of the next child below a node; of equals the older node
      const isBefore = (one, other) => one.worth > other.worth || (one.worth === other.worth && one.node < other.node);
      while (slots.length && draft.drafted < this.options.budget) {
        const { node } = pop(slots, isBefore);
        if (!families.has(node)) {
          const { logits } = draft.expand([node]);
          if (!logits.length) continue;
          families.set(node, new Siblings(logits[0], draft.sampling));
        }
        const family = families.get(node);
        const { child, prob } = SiblingPolicy.taken(draft, node, family);
        values[child] = values[node] * prob;
        slots.push({ worth: values[child], node: child });
        if (family.left > 0) slots.push({ worth: values[node] * family.left, node });
      }
    }

    byLevel(draft) {
      const { threshold, budget } = this.options;
      const values = [1];
      let level = [0];
      while (level.length && draft.drafted < budget) {
        const { nodes, logits } = draft.expand(level);
        level = [];
        nodes.forEach((node, at) => {
          const family = new Siblings(logits[at], draft.sampling);
          while (family.left > 0 && values[node] * family.left >= threshold && draft.drafted < budget) {
            const { child, prob } = SiblingPolicy.taken(draft, node, family);
            values[child] = values[node] * prob;
            if (values[child] >= threshold) level.push(child);
          }
        });
      }
    }
  }

  /** Of all paths those most likely to be right as a whole. */
  class DDTreePolicy extends S.TreePolicy {
    static settlesSiblings = true;

    kind() {
      return /** @type {Kind} */ ("point_mass");
    }

    grow(draft) {
      const { budget } = this.options;
      const rule = draft.sampling;
      /** @type {Map<number, { token: number, cost: number }[]>} what follows a node, likeliest first */
      const families = new Map();
      /** @type {{ cost: number, ranks: number[], parent: number }[]} */
      const waiting = [];
      let worth = 0;
      /** Of equals the shorter path, then the one of lower ranks. */
      const isBefore = (one, other) => {
        if (one.cost !== other.cost) return one.cost < other.cost;
        if (one.ranks.length !== other.ranks.length) return one.ranks.length < other.ranks.length;
        const at = one.ranks.findIndex((rank, place) => rank !== other.ranks[place]);
        return one.ranks[at] < other.ranks[at];
      };
      const openBelow = (node, cost, ranks) => {
        const { logits } = draft.expand([node]);
        if (!logits.length) return;
        const probs = rule.temperature === 0 ? sampling.softmax(logits[0]) : sampling.transform(logits[0], rule);
        const likely = sampling.largest(probs, budget).filter((token) => probs[token] > 0);
        families.set(
          node,
          likely.map((token) => ({ token, cost: -Math.log(probs[token]) })),
        );
        waiting.push({ cost: cost + families.get(node)[0].cost, ranks: [...ranks, 0], parent: node });
      };
      openBelow(0, 0, []);
      while (waiting.length && draft.drafted < budget) {
        const { cost, ranks, parent } = pop(waiting, isBefore);
        const [family, rank] = [families.get(parent), ranks.at(-1)];
        const node = draft.add(parent, family[rank].token, "point_mass", null);
        worth += Math.exp(-cost);
        if (rank + 1 < family.length) {
          const next = cost - family[rank].cost + family[rank + 1].cost;
          waiting.push({ cost: next, ranks: [...ranks.slice(0, -1), rank + 1], parent });
        }
        if (draft.drafted < budget) openBelow(node, cost, ranks);
      }
      draft.note.expected_accepted = rounded(worth, 1e4);
    }
  }

  /** The best trees of at most `most` nodes, root included, and `depth` levels, under an acceptance vector: F(m, l) is
      the expected number of accepted nodes, the root counted; a tree's first b children take y of the nodes, child b
      the others (Sequoia 2402.12374, §3.1.2). */
  class Plans {
    /** @param {number[]} vector */
    constructor(vector, most, depth) {
      this.vector = vector;
      this.best = [Array(most + 1).fill(1)];
      /** @type {number[][][]} */
      this.partial = [[]];
      for (let level = 0; level < depth; level++) this.addLevel(most);
    }

    /** [value, y] of the best split of n nodes between the first children and the next one. */
    split(before, prob, below, n) {
      let [value, kept] = [-Infinity, 1];
      for (let y = 1; y < n; y++) {
        const worth = before[y] + prob * below[n - y];
        if (worth > value) [value, kept] = [worth, y];
      }
      return [value, kept];
    }

    addLevel(most) {
      const below = this.best.at(-1);
      const rows = [Array(most + 1).fill(1)];
      for (const prob of this.vector) {
        const before = rows.at(-1);
        rows.push(Array.from({ length: most + 1 }, (_, n) => this.split(before, prob, below, n)[0]));
      }
      this.partial.push(rows);
      this.best.push(below.map((_, n) => Math.max(...rows.map((row) => row[n]))));
    }

    /** A best tree, walked back through the tables; of equals that with the fewest children.
        @returns {Planned} */
    shape(nodes, depth) {
      if (depth === 0 || nodes <= 1) return { children: [] };
      const [rows, below] = [this.partial[depth], this.best[depth - 1]];
      const most = Math.max(...rows.map((row) => row[nodes]));
      const children = [];
      for (let number = rows.findIndex((row) => row[nodes] === most); number > 0; number--) {
        const [, kept] = this.split(rows[number - 1], this.vector[number - 1], below, nodes);
        children.unshift(this.shape(nodes - kept, depth - 1));
        nodes = kept;
      }
      return { children };
    }
  }

  /** Seconds of a target pass over so many tokens, on straight lines through what was measured, beyond it the last one.
      @param {trace.StepTime[]} steps */
  function targetSeconds(steps, tokens) {
    const after = steps.findIndex(({ rows }) => rows >= tokens);
    if (after === 0 || steps.length === 1) return steps[0].median_s;
    const [low, high] = after < 0 ? steps.slice(-2) : steps.slice(after - 1, after + 1);
    const slope = (high.median_s - low.median_s) / (high.rows - low.rows);
    return after < 0
      ? high.median_s + Math.max(0, slope) * (tokens - high.rows)
      : low.median_s + slope * (tokens - low.rows);
  }

  /** The shape with the most expected tokens for its size. */
  class SequoiaPolicy extends SiblingPolicy {
    static settlesSiblings = true;

    constructor(options) {
      super(options);
      if (options.acceptance !== "auto") this.vector = parseVector(options.acceptance);
    }

    /** Fix the vector as measured for the pair, and, where `fit` asks for it, nodes and levels for these step times:
        the options say what was chosen. Without a drafter's model the vector is the bundled pair's, and nothing
        is fitted. */
    prepare({ target, drafter, temperature, vectors, steps, draftStep }) {
      if (this.options.acceptance === "auto") {
        const measured = vectorFor(vectors, drafter === null ? 1 : temperature);
        this.vector = measured.vector;
        if (drafter !== null) {
          const isPair = target === vectors.target.weights_sha256 && drafter === vectors.drafter.weights_sha256;
          const name = `T=${measured.temperature} ${vectors.drafter.weights_sha256.slice(0, 8)}`;
          const whose = isPair ? "measured" : "of another pair measured";
          this.options = { ...this.options, acceptance: `${whose} ${name}: ${measured.vector.join()}` };
        }
      }
      const { budget, depth, fit } = this.options;
      if (fit && steps.length && draftStep !== null)
        this.fit(new Plans(this.vector, budget + 1, depth), steps, draftStep);
      const chosen = this.options;
      this.planned = new Plans(this.vector, chosen.budget + 1, chosen.depth).shape(chosen.budget + 1, chosen.depth);
    }

    /** The size of least time per token. */
    fit(plans, steps, draftStep) {
      const { budget, depth } = this.options;
      let least = Infinity;
      for (let nodes = 1; nodes <= budget; nodes++)
        for (let levels = 1; levels <= Math.min(depth, nodes); levels++) {
          const seconds = targetSeconds(steps, nodes + 1) + levels * draftStep;
          const perToken = seconds / plans.best[levels][nodes + 1];
          if (perToken < least) {
            least = perToken;
            this.options = { ...this.options, budget: nodes, depth: levels, fit: false };
          }
        }
    }

    grow(draft) {
      let level = [{ node: 0, planned: this.planned }];
      while (level.length) {
        const shapes = new Map(level.map(({ node, planned }) => [node, planned.children]));
        const { nodes, logits } = draft.expand([...shapes.keys()].filter((node) => shapes.get(node).length));
        level = [];
        nodes.forEach((node, at) => {
          const family = new Siblings(logits[at], draft.sampling);
          for (const planned of shapes.get(node)) {
            if (family.left <= 0) break;
            level.push({ node: SiblingPolicy.taken(draft, node, family).child, planned });
          }
        });
      }
    }
  }

  /** Probabilities such as 0.6,0.1,0.05, a name in front skipped. Throws where they are none. */
  function parseVector(text) {
    const values = text.slice(text.lastIndexOf(":") + 1).split(",");
    const numbers = values.map((value) => (value.trim() ? Number(value) : NaN));
    if (!numbers.every((p) => p >= 0 && p <= 1) || numbers.reduce((sum, p) => sum + p, 0) > 1 + 1e-9)
      throw new Error(
        `acceptance is '${text.slice(0, 60)}', but must be probabilities separated by commas that sum to at most 1, ` +
          "such as 0.6,0.1,0.05; or auto.",
      );
    return numbers;
  }

  /** The measured vector of the nearest temperature, of two the lower.
      @param {MeasuredVectors} vectors */
  function vectorFor({ vectors }, temperature) {
    const gap = (one) => Math.abs(one.temperature - temperature);
    return vectors.reduce((best, other) =>
      gap(other) < gap(best) || (gap(other) === gap(best) && other.temperature < best.temperature) ? other : best,
    );
  }

  const BEST_FIRST_TREES = { dyspec: DySpecPolicy, ddtree: DDTreePolicy, sequoia: SequoiaPolicy };
  return { SiblingPolicy, BEST_FIRST_TREES };
})(SpecViz);
Object.assign(SpecViz, bestFirstTrees);
