/* Stop policies of the browser's engine: below which candidates a draft goes on; the twins of specviz/stop_policies but
   for the trained ones. Both questions are asked before anything is drawn below the node, and a candidate that was
   drawn is always submitted. */
// needs: nothing

const stopPolicies = (function () {
  "use strict";

  const LONGEST = 32; // levels of a draft

  /** Lives for one run and may remember earlier rounds. */
  class StopPolicy {
    constructor(options) {
      this.options = options;
    }

    /** Whether it looks at the drafter's states. */
    get needsHidden() {
      return false;
    }

    /** Who says what the target would write after a text, for a policy that asks it beforehand.
        @param {(tokens: number[]) => number} says */
    consult(says) {}

    /** How many levels the last draft had, and how many were accepted. */
    learn(drafted, accepted) {}

    /** This round's draft shall be no deeper, and a chain may go on to here; null: as deep as its tree policy says.
        @returns {number | null} */
    levels() {
      return this.options.longest || null;
    }

    /** Whether to ask the drafter what follows this candidate. Not asked of the root.
        @param {GrownDraft} draft @param {number} node */
    goesBelow(draft, node) {
      return true;
    }

    /** Those of some candidates below which the drafter is asked what follows.
        @param {GrownDraft} draft @param {number[]} nodes */
    goingOn(draft, nodes) {
      return nodes.filter((node) => this.goesBelow(draft, node));
    }

    /** Whether to draw candidates below this node, now that it is known what the drafter says there.
        @param {GrownDraft} draft @param {number} node */
    drawsAt(draft, node) {
      return true;
    }

    /** What it goes by in this round, for the trace.
        @returns {Record<string, any>} */
    state() {
      return {};
    }
  }

  /** Every draft has its full length. */
  class FixedStop extends StopPolicy {}

  /** Keeps a drawn token and then stops where its probability was below the threshold. */
  class ConfidenceStop extends StopPolicy {
    goesBelow(draft, node) {
      return draft.prob(node) >= this.options.threshold;
    }
  }

  /** A smoothed acceptance rate below the wanted one pulls the threshold up by a step, otherwise down, unless the last
      draft was never stopped; the threshold itself is smoothed too (2309.08168, §4.3). */
  class MovingThreshold {
    /** @param {number} value @param {{ wanted: number, step: number, memory: number, inertia: number }} pace */
    constructor(value, pace) {
      this.value = value;
      this.pace = pace;
      this.stopped = false; // whether this round's draft was
      this.rate = 0;
    }

    learn(drafted, accepted) {
      const { wanted, step, memory, inertia } = this.pace;
      const { stopped } = this;
      this.stopped = false;
      if (!drafted) return;
      this.rate = memory * this.rate + ((1 - memory) * accepted) / drafted;
      const pulled = this.value + (this.rate < wanted ? step : stopped ? -step : 0);
      this.value = Math.min(1, Math.max(0, inertia * this.value + (1 - inertia) * pulled));
    }

    /** Whether a score reaches it. */
    isReached(score) {
      const reached = score >= this.value;
      this.stopped ||= !reached;
      return reached;
    }
  }

  /** Stops below an unlikely candidate; the threshold follows the acceptance rate. */
  class DraftVerifyStop extends StopPolicy {
    constructor(options) {
      super(options);
      this.moving = new MovingThreshold(options.first_threshold, options);
    }

    learn(drafted, accepted) {
      this.moving.learn(drafted, accepted);
    }

    goesBelow(draft, node) {
      return this.moving.isReached(draft.prob(node));
    }

    state() {
      return { stop_threshold: this.moving.value };
    }
  }

  /** Stops where 1 − √(c H(q)) falls below a floor, H the entropy of the drafter's distribution in nats. */
  class EntropyStop extends StopPolicy {
    constructor(options) {
      super(options);
      this.floor = new MovingThreshold(options.floor, options);
    }

    learn(drafted, accepted) {
      if (this.options.moves) this.floor.learn(drafted, accepted);
    }

    goesBelow(draft, node) {
      return !this.options.keep || this.isSure(draft, draft.parent(node));
    }

    drawsAt(draft, node) {
      return this.options.keep || this.isSure(draft, node);
    }

    state() {
      return this.options.moves ? { stop_floor: this.floor.value } : {};
    }

    isSure(draft, node) {
      return this.floor.isReached(1 - Math.sqrt(this.options.scale * draft.entropy(node)));
    }
  }

  /** Drafts deeper after a wholly accepted round, shallower after a rejection. */
  class HeuristicStop extends StopPolicy {
    constructor(options) {
      super(options);
      this.wanted = options.start_levels;
    }

    learn(drafted, accepted) {
      const { longer, shorter } = this.options;
      if (!drafted) return; // a round in which nothing could be drafted says nothing about length
      this.wanted = accepted >= drafted ? drafted + longer : Math.max(1, this.wanted - shorter);
    }

    levels() {
      return Math.min(this.wanted, this.options.longest || LONGEST);
    }

    state() {
      return { stop_levels: this.wanted };
    }
  }

  /** Draws a token only while the drafter expects that the target takes the path down to it. */
  class SurvivalStop extends StopPolicy {
    constructor(options) {
      super(options);
      /** @type {Map<number, number>} node → how likely the target takes the path to it and one token more */
      this.survives = new Map();
    }

    drawsAt(draft, node) {
      if (node === 0) this.survives.clear();
      const reached = node === 0 ? 1 : this.survives.get(draft.parent(node));
      this.survives.set(node, reached * draft.head(node, 1)[0]);
      return draft.depth(node) < this.options.least || this.survives.get(node) >= this.options.threshold;
    }

    state() {
      return { survival_percent: [...this.survives.values()].map((chance) => Math.round(100 * chance)) };
    }
  }

  /** Stops at the first candidate that the target will reject, by asking it: a bound, not a method. */
  class OracleStop extends StopPolicy {
    constructor(options) {
      super(options);
      this.asked = 0;
    }

    consult(says) {
      this.says = says;
    }

    goesBelow(draft, node) {
      const text = draft.text(node);
      this.asked += 1;
      return this.says(text.slice(0, -1)) === text.at(-1);
    }

    state() {
      return { stop_asked_target: this.asked };
    }
  }

  /** By name, as specviz/stop_policies registers them. */
  const UNTRAINED_STOPS = {
    fixed: FixedStop,
    confidence: ConfidenceStop,
    draft_verify: DraftVerifyStop,
    entropy: EntropyStop,
    heuristic: HeuristicStop,
    oracle: OracleStop,
    survival: SurvivalStop,
  };
  return { StopPolicy, UNTRAINED_STOPS };
})();
Object.assign(SpecViz, stopPolicies);
