/* One text being decoded in the browser: committed tokens, the target's cache, and what one round does to them; the
   names of specviz/engine/session.py.

   prompt ─► begin ─► round: draft ─► target pass ─► verdict ─► commit ─► round … */
// needs: draft_tree, sampling, verifiers
/** @typedef {{ draft: number, target: number, judge: number, commit: number }} Times seconds
    @typedef {{ tokens: trace.CommittedToken[], trimmed: trace.Committed["trimmed"], trimmed_tokens: number,
      cache_before: number, cache_kept: number, cache_dropped: number }} Commitment
    @typedef {{ index: number, baseLength: number, start: number, proposal: Proposal,
      scored: InstanceType<Names["ScoredTree"]>, verdict: Verdict, commitment: Commitment, times: Times,
      learned: trace.Exhibit[], targetRows: number }} RoundRecord */

const session = (function (S) {
  "use strict";

  /** When the text ends: an end-of-text token, a stop string in the exact bytes, or a length. */
  class Ending {
    /** @param {{ most: number, eosIds: number[], stop: string[], bytesOf: (token: number) => Uint8Array }} limits */
    constructor({ most, eosIds, stop, bytesOf }) {
      this.left = most;
      this.eosIds = eosIds;
      this.bytesOf = bytesOf;
      const latin = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
      this.latin = latin; // bytes as letters, so that stop strings are found in them
      this.stops = stop.map((text) => latin(new TextEncoder().encode(text)));
      this.written = "";
      this.surplus = 0; // bytes of the last token beyond the end of the stop string
      /** @type {"eos" | "stop" | "length" | null} */
      this.reason = null;
    }

    /** Count one more token; why the text ends with it, or null. */
    commit(token) {
      this.left -= 1;
      const tail = Math.max(0, this.written.length - Math.max(0, ...this.stops.map((stop) => stop.length - 1)));
      this.written += this.latin(this.bytesOf(token));
      const ends = this.stops.flatMap((stop) => {
        const at = this.written.indexOf(stop, tail);
        return at < 0 ? [] : [at + stop.length];
      });
      if (this.eosIds.includes(token)) this.reason = "eos";
      else if (ends.length) {
        this.reason = "stop";
        this.surplus = this.written.length - Math.min(...ends);
      } else if (this.left <= 0) this.reason = "length";
      return this.reason;
    }

    /** The output as text, cut after the stop string. */
    get text() {
      const letters = this.written.slice(0, this.written.length - this.surplus);
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
        Uint8Array.from(letters, (letter) => letter.charCodeAt(0)),
      );
    }
  }

  const clock = () => performance.now() / 1000;

  class Session {
    /** `opens`: the target proposes the first level of the next draft, so that a round may leave its last token open.
        @param {{ target: InstanceType<Names["Llama"]>, drafter: any, rule: string, ruleOptions: Record<string, number>,
        sampling: Sampling, randomness: RandomSource, promptIds: number[], opens?: boolean,
        ending: InstanceType<typeof Ending> }} asked */
    constructor(asked) {
      Object.assign(this, asked);
      this.target = asked.target;
      this.drafter = asked.drafter;
      this.sampling = asked.sampling;
      this.rule = asked.rule;
      this.ruleOptions = asked.ruleOptions;
      this.ending = asked.ending;
      this.tokens = [...asked.promptIds];
      this.randomness = asked.randomness;
      this.cache = this.target.newCache();
      this.target.watched = Boolean(asked.drafter.constructor.readsStates);
      this.rounds = 0;
      this.decodeSeconds = 0;
      this.opens = asked.opens ?? false;
      /** @type {TargetProposal | null} */
      this.targetProposal = null;
      const { context } = this.target.shape;
      if (this.tokens.length >= context)
        throw new Error(
          `the prompt has ${this.tokens.length} tokens, but the context of ${this.target.card.name} holds ` +
            `${context}, the answer included; shorten the prompt.`,
        );
    }

    get finished() {
      return this.ending.reason ?? (this.tokens.length >= this.target.shape.context ? "length" : null);
    }

    /** Cache the prompt in the target and let the drafter read it; seconds of both. */
    begin() {
      const began = clock();
      const known = this.tokens.slice(0, -1);
      if (known.length) {
        const logits = this.target.forward(known, this.cache, null, !this.drafter.readsPrompt);
        this.target.keep(this.cache, [...known.keys()]);
        if (this.drafter.readsPrompt) this.drafter.readPrompt(known, logits);
        if (this.target.watched) this.drafter.readStates(known, this.target.seen);
      }
      this.drafter.begin(this.tokens);
      return clock() - began;
    }

    /** One round: draft, score, judge, commit.
        @returns {RoundRecord} */
    round() {
      const baseLength = this.tokens.length;
      const marks = [clock()];
      const mark = () => marks.push(clock());
      const proposal = this.propose();
      mark();
      const { tree } = proposal;
      const before = this.cache.length;
      const rows = tree.rows();
      const logits = this.score(tree, rows);
      const { seen } = this.target;
      mark();
      const scored = new S.ScoredTree(tree, logits, this.sampling);
      const { randomness, rule, ruleOptions: options } = this;
      const verdict = S.judgeTree({ tree, target: scored, randomness, position: baseLength, options, rule });
      mark();
      const commitment = this.commit(tree, rows, verdict, before);
      const isOpen = commitment.trimmed === "open";
      this.targetProposal = isOpen ? { token: verdict.token, logits: logits[verdict.path.at(-1)] } : null;
      mark();
      const states = this.target.watched ? rows.map((row) => seen[row]) : [];
      const learned = this.drafter.observe?.({ tree, logits, path: verdict.path, tokens: this.tokens, states }) ?? [];
      mark();
      const [draft, target, judge, commit, observed] = marks.slice(1).map((now, at) => now - marks[at]);
      const times = { draft: draft + observed, target, judge, commit }; // what it learns is for its next drafts
      const [index, start] = [this.rounds, this.decodeSeconds];
      this.rounds += 1;
      this.decodeSeconds += times.draft + times.target + times.judge + times.commit;
      const targetRows = 1 + Math.max(...rows);
      return { index, baseLength, start, proposal, scored, verdict, commitment, times, learned, targetRows };
    }

    /** Tokens that may still be committed. */
    get left() {
      return Math.min(this.ending.left, this.target.shape.context - this.tokens.length);
    }

    /** The token that the target would write after a text that goes on from the committed one, by a pass whose rows are
        dropped again.
        @param {number[]} tokens */
    targetSays(tokens) {
      const [logits] = this.target.forward(tokens.slice(this.cache.length), this.cache, null, true);
      this.target.keep(this.cache, []);
      return S.sampling.argmax(logits);
    }

    propose() {
      const { tokens, sampling, randomness, targetProposal } = this;
      const maxDepth = this.left - 1;
      return this.drafter.propose({ tokens, round: this.rounds, maxDepth, sampling, randomness, targetProposal });
    }

    /** Whether the last token waits for the next round: where that can draft, and this one does not stand still. */
    leavesOpen(accepted) {
      return this.opens && accepted > 0 && this.left >= accepted + 2;
    }

    /** One target pass over the root and all candidates; logits per node. */
    score(tree, rows) {
      const start = this.cache.length;
      const nodes = [...Array(1 + Math.max(...rows)).keys()].map((row) => rows.indexOf(row));
      const tokens = nodes.map((node) => tree.tokens[node]);
      const parents = nodes.map((node) => (node === 0 ? start - 1 : start + rows[tree.parents[node]]));
      const logits = this.target.forward(tokens, this.cache, parents);
      return rows.map((row) => logits[row]);
    }

    /** Append what was verified until something ends the text; keep the rows of it but the last token's.
        @param {Verdict} verdict @returns {Commitment} */
    commit(tree, rows, verdict, before) {
      /** @type {trace.CommittedToken[]} */
      const verified = verdict.path.map((node) => ({ token: tree.tokens[node], origin: "draft", node }));
      verified.push({ token: verdict.token, origin: verdict.origin, node: null });
      const final = verified.length - Number(this.leavesOpen(verdict.path.length));
      let [kept, reason] = [0, null];
      while (reason === null && kept < final) {
        this.tokens.push(verified[kept].token);
        reason = this.ending.commit(verified[kept].token);
        kept += 1;
      }
      const computed = this.cache.length;
      const path = verdict.path.slice(0, kept - 1).map((node) => before + rows[node]);
      this.target.keep(this.cache, [before, ...path]);
      const trimmed = verified.length - kept;
      return {
        tokens: verified.slice(0, kept),
        trimmed: trimmed ? (reason ?? "open") : null,
        trimmed_tokens: trimmed,
        cache_before: before,
        cache_kept: this.cache.length,
        cache_dropped: computed - this.cache.length,
      };
    }
  }

  return { Ending, Session };
})(SpecViz);
Object.assign(SpecViz, session);
