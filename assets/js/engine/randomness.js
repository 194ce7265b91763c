/* Everything random in the browser's engine: the two verbs, accept and draw, as specviz/core/randomness.py has them. A
   seeded source plays a run for real; one that walks proves what a rule does (enumeration.js). Pure. */
// needs: sampling
/** @typedef {{ accept: (probability: number, key: Key) => { accepted: boolean, u: number | null },
      draw: (probs: Float32Array, key: Key) => { token: number, u: number | null } }} RandomSource */

const randomness = (function (S) {
  "use strict";

  const { pick, uniform } = S.sampling;

  /** Real randomness, keyed: the same seed gives the same run, here and on a server. */
  class SeededRandom {
    constructor(seed) {
      this.seed = seed;
    }

    accept(probability, key) {
      const u = uniform(this.seed, key);
      return { accepted: u < probability, u };
    }

    draw(probs, key) {
      const u = uniform(this.seed, key);
      return { token: pick(probs, u), u };
    }
  }

  /** Plays given outcomes first, then of each decision the first that can happen, and keeps what else could have.
      `weight` is the probability of what was played. */
  class WalkingRandom {
    /** @param {number[]} outcomes of the first decisions: 1 and 0 of an acceptance, the token of a draw */
    constructor(outcomes) {
      this.outcomes = outcomes;
      this.played = [];
      this.weight = 1;
      /** @type {number[][]} outcomes of branches that were not taken */
      this.others = [];
    }

    /** The outcome of a decision with these probabilities. */
    play(probs) {
      const possible = [...probs.keys()].filter((outcome) => probs[outcome] > 0);
      const first = this.outcomes[this.played.length] ?? possible[0];
      if (this.played.length >= this.outcomes.length)
        this.others.push(...possible.slice(1).map((other) => [...this.played, other]));
      this.played.push(first);
      this.weight *= probs[first];
      return first;
    }

    accept(probability) {
      const p = Math.min(1, Math.max(0, probability));
      return { accepted: this.play([1 - p, p]) === 1, u: null };
    }

    draw(probs) {
      return { token: this.play(probs), u: null };
    }
  }

  return { SeededRandom, WalkingRandom };
})(SpecViz);
Object.assign(SpecViz, randomness);
