/* RSD with stochastic beam search in the browser's engine: every level is a sample without replacement of whole paths;
   the twin of specviz/tree_policies/rsd_s.py, where the race of arrivals is explained. */
// needs: best_first_trees, tree_drawing, tree_policies
/** @typedef {{ node: number | null, prob: number, rest: number }} BeamPath `node` null: it arrived, but drafting ends
      there; `rest`: rate of all arrivals at its level after it */

const beamTrees = (function (S) {
  "use strict";

  const { mostOf, goesDeeper, Siblings } = S.drawing;
  const total = (values) => values.reduce((sum, value) => sum + value, 0);

  /** The arrivals of one level, from the paths of the level above. */
  class Race {
    /** @param {BeamPath[]} above @param {Map<number, InstanceType<typeof Siblings>>} below */
    constructor(above, below) {
      this.above = above;
      this.below = below;
      this.arrived = 0; // how many of the paths above
    }

    /** Of the next child below each path that is there, and of the next path above. */
    rates() {
      const { above, below, arrived } = this;
      const rates = above.slice(0, arrived).map(({ node, prob }) => prob * (below.get(node)?.left ?? 0));
      const first = arrived === 0 ? 1 : above[arrived - 1].rest;
      return [...rates, arrived < above.length ? first : 0];
    }

    /** The path below which the next candidate arrives, or one where drafting ends; null where all are there.
        @param {GrownDraft} draft */
    next(draft) {
      const rates = this.rates();
      const possible = [...rates.keys()].filter((at) => rates[at] > 0);
      if (!possible.length) return null;
      const sum = total(rates);
      const event = possible.length === 1 ? possible[0] : draft.draw(rates.map((rate) => rate / sum));
      if (event === this.arrived) this.arrived++;
      return this.above[event];
    }
  }

  /** Temperature 0: not a race but plain beam search, the most probable path first. */
  class RankedRace extends Race {
    next() {
      const worth = ({ node, prob }) => prob * this.below.get(node).best;
      const open = this.above.filter(({ node }) => (this.below.get(node)?.left ?? 0) > 0);
      return open.reduce((best, other) => (best === null || worth(other) > worth(best) ? other : best), null);
    }
  }

  class RsdSPolicy extends S.SiblingPolicy {
    grow(draft) {
      const { options } = this;
      const Racing = draft.sampling.temperature === 0 ? RankedRace : Race;
      /** @type {BeamPath[]} */
      let beam = [{ node: 0, prob: 1, rest: 0 }];
      let depth = 0;
      while (beam.length && goesDeeper(options, depth, options.depth, draft.drafted)) {
        depth++;
        const alive = beam.flatMap(({ node }) => (node === null ? [] : [node]));
        const { nodes, logits } = draft.expand(alive);
        const below = new Map(nodes.map((node, at) => [node, new Siblings(logits[at], draft.sampling)]));
        beam = this.level(draft, new Racing(beam, below));
      }
    }

    /** @returns {BeamPath[]} */
    level(draft, race) {
      const beam = [];
      let taken = 0;
      while (race.below.size && taken < this.options.width && draft.drafted < mostOf(this.options)) {
        const path = race.next(draft);
        if (path === null) break;
        const family = race.below.get(path.node);
        if (!family) {
          beam.push({ node: null, prob: 0, rest: total(race.rates()) });
          continue;
        }
        const { child, prob } = S.SiblingPolicy.taken(draft, path.node, family);
        beam.push({ node: child, prob: path.prob * prob, rest: total(race.rates()) });
        taken++;
      }
      return taken ? beam : [];
    }
  }

  /** By name, as specviz/tree_policies registers them. */
  const TREE_POLICIES = { ...S.SHAPED_TREES, ...S.BEST_FIRST_TREES, rsd_s: RsdSPolicy };
  return { TREE_POLICIES };
})(SpecViz);
Object.assign(SpecViz, beamTrees);
