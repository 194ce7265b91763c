/* Stop policies of the browser's engine that go by a small trained network, with the shipped weights; the twins of
   specviz/stop_policies/learned.py, disco.py, decision.py and specdecpp.py. */
// needs: stop_policies
/** @typedef {{ weight: number[][], bias: number[] }} DenseLayer
    @typedef {{ threshold: number, drafter_sha256: string, mean: number[], scale: number[], layers: DenseLayer[] }}
      StopWeights what `specviz learn` made
    @typedef {{ weights: StopWeights, digest: string }} TrainedStop */

const trainedStops = (function (S) {
  "use strict";

  const HEAD = 10; // how many of the largest probabilities are looked at
  const SMALLEST = 1e-6; // a trace keeps six decimals
  const OWN_PROB = HEAD; // which of the numbers of a candidate is its own probability

  /** Of a candidate at `depth` with probability `prob`, out of a distribution with the largest probabilities `head`:
      their logarithms, that of `prob`, the entropy of the head with all the rest as one outcome, and the depth. */
  function candidateNumbers(head, prob, depth) {
    const kept = [...head, ...Array(HEAD - head.length).fill(0)];
    const log = (p) => Math.log(Math.max(p, SMALLEST));
    const outcomes = [...kept, 1 - kept.reduce((sum, p) => sum + p, 0)];
    const entropy = outcomes.reduce((sum, p) => (p > SMALLEST ? sum - p * Math.log(p) : sum), 0);
    return [...kept.map(log), log(prob), entropy, depth];
  }

  const silu = (x) => x / (1 + Math.exp(-x));

  /** Inputs → probability. A layer as wide as its input is added to it.
      @param {StopWeights} weights @param {ArrayLike<number>} inputs */
  function predict({ mean, scale, layers }, inputs) {
    let x = Array.from(inputs, (value, at) => (value - mean[at]) / scale[at]);
    const dense = ({ weight, bias }) =>
      weight.map((row, out) => row.reduce((sum, factor, at) => sum + factor * x[at], bias[out]));
    for (const layer of layers.slice(0, -1)) {
      const y = dense(layer).map(silu);
      x = y.length === x.length ? y.map((value, at) => value + x[at]) : y;
    }
    return 1 / (1 + Math.exp(-dense(layers.at(-1))[0]));
  }

  /** Goes by a network, with an option `threshold` of which 0 means the value found in training. */
  class TrainedStopPolicy extends S.StopPolicy {
    /** @param {any} options @param {TrainedStop} trained */
    constructor(options, trained) {
      super(options);
      this.weights = trained.weights;
      this.digest = trained.digest;
      this.threshold = options.threshold || trained.weights.threshold;
    }

    state() {
      return { stop_threshold: this.threshold, stop_weights: this.digest };
    }
  }

  /** Stops below a candidate that the network expects to be rejected. */
  class DiscoStop extends TrainedStopPolicy {
    goesBelow(draft, node) {
      return predict(this.weights, this.numbers(draft, node)) >= this.threshold;
    }

    numbers(draft, node) {
      const numbers = candidateNumbers(draft.head(draft.parent(node), HEAD), draft.prob(node), draft.depth(node));
      return numbers.filter((_, at) => at !== OWN_PROB);
    }
  }

  /** All candidates of a level go on while any of them is worth it. */
  class DecisionStop extends DiscoStop {
    numbers(draft, node) {
      return candidateNumbers(draft.head(draft.parent(node), HEAD), draft.prob(node), draft.depth(node));
    }

    goingOn(draft, nodes) {
      return nodes.some((node) => this.goesBelow(draft, node)) ? nodes : [];
    }
  }

  /** Stops where a head on the drafter's states expects that some candidate of the path so far is rejected. */
  class SpecDecPPStop extends TrainedStopPolicy {
    constructor(options, trained) {
      super(options, trained);
      /** @type {Map<number, number>} node → probability that its whole path is accepted */
      this.survives = new Map();
    }

    get needsHidden() {
      return true;
    }

    drawsAt(draft, node) {
      if (node === 0) {
        this.survives = new Map([[0, 1]]);
        return true;
      }
      const chance = this.survives.get(draft.parent(node)) * predict(this.weights, draft.hidden(node));
      this.survives.set(node, chance);
      return draft.depth(node) < this.options.least || 1 - chance <= this.threshold;
    }
  }

  const TRAINED_STOPS = { disco: DiscoStop, decision: DecisionStop, specdecpp: SpecDecPPStop };
  const STOP_POLICIES = { ...S.UNTRAINED_STOPS, ...TRAINED_STOPS };
  return { STOP_POLICIES };
})(SpecViz);
Object.assign(SpecViz, trainedStops);
