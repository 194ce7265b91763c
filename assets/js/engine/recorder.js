/* From a round of the browser's engine to events of the trace: heads of distributions, fates, layout, vocabulary; the
   twin of specviz/engine/recorder.py and measured.py. The only place where whole distributions meet the trace. */
// needs: sampling
const recorder = (function (S) {
  "use strict";

  const { sampling } = S;
  const UNITS = 1e6; // decimals of recorded probabilities
  const BITS = 1e4; // and of the numbers in bits
  /** What a node says of its distributions where none are kept. */
  const NOTHING = {
    draft: null,
    target: { tokens: [], probs: [], rest: 1 },
    draft_raw: null,
    target_raw: null,
    rank: null,
    agreement: null,
    agreement_raw: null,
  };
  const rounded = (value, units = UNITS) => Math.round(value * units) / units;

  /** The `top` most probable tokens and the mass outside; zeros are left out.
      @returns {trace.TopK} */
  function head(probs, top) {
    const listed = sampling
      .largest(probs, top)
      .map((token) => ({ token, prob: rounded(probs[token]) }))
      .filter(({ prob }) => prob > 0);
    const rest = rounded(Math.max(0, 1 - listed.reduce((sum, { prob }) => sum + prob, 0)));
    return { tokens: listed.map(({ token }) => token), probs: listed.map(({ prob }) => prob), rest };
  }

  const surprise = (p, of) => (p > 0 ? -p * Math.log2(of) : 0);
  const bits = (probs) => probs.reduce((sum, p) => sum + surprise(p, p), 0);
  const measured = (value) => (Number.isFinite(value) ? rounded(Math.max(0, value), BITS) : null);

  /** Target against draft on whole distributions; `q` null: there is none to compare.
      @returns {trace.Agreement} */
  function agreement(p, q) {
    const target = measured(bits(p));
    if (!q) return { target_bits: target, draft_bits: null, kl_bits: null, overlap: null };
    let [cross, overlap] = [0, 0];
    for (let token = 0; token < p.length; token++) {
      cross += surprise(p[token], q[token]);
      overlap += Math.min(p[token], q[token]);
    }
    return {
      target_bits: target,
      draft_bits: measured(bits(q)),
      kl_bits: measured(cross - bits(p)),
      overlap: Math.min(1, measured(overlap)),
    };
  }

  /** Place of a token among logits, 1 for the largest, of equal ones the lowest id first. */
  function rankOf(logits, token) {
    let before = 0;
    for (let id = 0; id < logits.length; id++)
      before += Number(logits[id] > logits[token] || (logits[id] === logits[token] && id < token));
    return 1 + before;
  }

  /** Rows of the tidy tree: leaves 0, 1, 2, … depth first, a parent in the middle of its first and last child. */
  function tidyRows(tree) {
    const rows = [];
    let next = 0;
    const visit = (node) => {
      const children = tree.children(node);
      children.forEach(visit);
      rows[node] = children.length ? (rows[children[0]] + rows[children.at(-1)]) / 2 : next++;
    };
    visit(0);
    return rows;
  }

  /** Writes one run's events. */
  class Recorder {
    /** `keeps`: whether distributions are kept; where runs are only timed they are not.
        @param {InstanceType<Names["Tokenizer"]>} tokenizer */
    constructor(tokenizer, top, rule, keeps = true) {
      this.tokenizer = tokenizer;
      this.keeps = keeps;
      this.top = top;
      this.rule = rule;
      this.known = new Set();
      this.seconds = 0;
    }

    /** Entries of the vocabulary for tokens not mentioned before.
        @returns {Record<string, trace.VocabEntry>} */
    entries(tokens) {
      const found = {};
      for (const token of tokens)
        if (!this.known.has(token)) {
          this.known.add(token);
          const bytes = this.tokenizer.tokenBytes(token);
          const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
          found[token] = { bytes: btoa(String.fromCharCode(...bytes)), text };
        }
      return found;
    }

    /** @param {RoundRecord} record */
    round(record) {
      const began = performance.now();
      const { proposal, verdict, times, commitment } = record;
      /** @type {trace.Round} */
      const event = {
        index: record.index,
        base_length: record.baseLength,
        start_s: record.start,
        nodes: this.nodes(record),
        drafted: {
          passes: proposal.passes,
          seconds: times.draft,
          note: proposal.note,
          knew: proposal.knew,
          learned: record.learned,
          riding: [],
          lanes: [],
        },
        scored: {
          target_pass: {
            rows: record.targetRows,
            cached_rows: commitment.cache_before,
            seconds: times.target,
            depth: null,
            read: null,
          },
          seconds: times.target,
        },
        judged: {
          rule: this.rule,
          trials: verdict.trials,
          path: verdict.path,
          final_node: verdict.path.at(-1) ?? 0,
          residual: this.keeps && verdict.residual ? head(verdict.residual, this.top) : null,
          residual_mass: verdict.mass,
          token: verdict.token,
          origin: verdict.origin,
          u: verdict.u,
          seconds: times.judge,
          order: verdict.order,
        },
        committed: { ...commitment, seconds: times.commit },
      };
      const vocab = this.entries(mentioned(event));
      this.seconds += (performance.now() - began) / 1000;
      return { kind: "round", event, vocab };
    }

    /** @param {RoundRecord} record @returns {trace.Node[]} */
    nodes({ proposal, scored, verdict }) {
      const { tree } = proposal;
      const y = tidyRows(tree);
      const fates = this.fates(tree, verdict);
      return tree.tokens.map((token, id) => {
        const parent = tree.parents[id];
        return {
          id,
          parent,
          depth: tree.depths[id],
          token,
          kind: tree.kinds[id],
          fate: fates[id],
          source: tree.sources[id],
          draft_prob: id ? rounded(tree.proposalProb(id)) : null,
          target_prob: id ? rounded(scored.candidateProb(id)) : null,
          x: tree.depths[id],
          y: y[id],
          ...(this.keeps ? this.distributions(proposal, scored, id) : NOTHING),
        };
      });
    }

    /** What both models say at a node, and how they agree.
        @param {Proposal} proposal @param {InstanceType<Names["ScoredTree"]>} scored */
    distributions({ tree, logits }, scored, id) {
      const plain = sampling.isPlain(scored.sampling);
      const children = tree.children(id);
      const drawn = children.map((child) => tree.proposals[child]).find((q) => q) ?? null;
      const lone = children.length === 1 && !drawn ? tree.tokens[children[0]] : null;
      const believed = logits.has(id) ? sampling.softmax(logits.get(id)) : null;
      const own = plain ? null : sampling.softmax(scored.logits[id]);
      const newsToPlain = plain && believed && !drawn; // what was asked and not drawn from
      return {
        draft: drawn ? head(drawn, this.top) : lone === null ? null : { tokens: [lone], probs: [1], rest: 0 },
        target: scored.greedy ? { tokens: [scored.argmax(id)], probs: [1], rest: 0 } : head(scored.probs(id), this.top),
        draft_raw: believed && !plain ? head(believed, this.top) : null,
        target_raw: own && head(own, this.top),
        rank: id ? rankOf(scored.logits[tree.parents[id]], tree.tokens[id]) : null,
        agreement: scored.greedy ? null : agreement(scored.probs(id), drawn),
        agreement_raw: own ? agreement(own, believed) : newsToPlain ? agreement(scored.probs(id), believed) : null,
      };
    }

    /** @param {Verdict} verdict @returns {trace.Node["fate"][]} */
    fates(tree, verdict) {
      const fates = tree.tokens.map(() => "unreached");
      fates[0] = "root";
      for (const trial of verdict.trials) fates[trial.node] = "rejected";
      for (const node of verdict.path) fates[node] = "accepted";
      return fates;
    }
  }

  /** Every token id that a round names.
      @param {trace.Round} event */
  function* mentioned(event) {
    for (const node of event.nodes) {
      yield node.token;
      for (const list of [node.target, node.draft, node.draft_raw, node.target_raw]) if (list) yield* list.tokens;
    }
    if (event.judged.residual) yield* event.judged.residual.tokens;
    yield event.judged.token;
    for (const exhibit of [...event.drafted.knew, ...event.drafted.learned])
      for (const row of exhibit.rows) yield* row.tokens;
  }

  return { Recorder };
})(SpecViz);
Object.assign(SpecViz, recorder);
