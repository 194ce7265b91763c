/* A race against oneself: a way of drafting against plain decoding in the same tab, over a fixed course of texts, in
   turns so that a busy moment hits both.

   course ─► turn: every text plain, every text drafted ─► seconds of both a turn, tokens, target passes */
// needs: nothing
/** @typedef {{ prompts: string[], tokens: number, turns: number }} Course `tokens`: at most so many of each text
    @typedef {{ seconds: number, tokens: number, passes: number, text: string }} Timed one decoded text
    @typedef {{ tokens: number, passes: number, plain: number[], drafted: number[], texts: string[] }} Duel `plain`,
      `drafted`: seconds of every turn; tokens, target passes and texts of a drafted turn */

const duel = (function () {
  "use strict";

  /** What everybody runs: another one has another number, so that no two are compared. */
  const COURSE = {
    prompts: ["Once upon a time there was a boy who", "One day Leo was in the garden."],
    tokens: 48, // of each text
    turns: 3,
  };
  const WARM_UP = 8; // tokens before anything counts

  /** Decode greedily; times are of the rounds alone.
      @param {InstanceType<Names["BrowserEngine"]>} engine @param {Partial<BrowserRequest>} asked
      @returns {Promise<Timed>} */
  async function timed(engine, asked) {
    const shape = { temperature: 0, top_k: 0, top_p: 1, seed: 0 };
    const { session, started } = await engine.begin(/** @type {BrowserRequest} */ ({ ...shape, ...asked }));
    session.begin();
    while (session.finished === null) session.round();
    const tokens = session.tokens.length - started.prompt_ids.length;
    return { seconds: session.decodeSeconds, tokens, passes: session.rounds, text: session.ending.text };
  }

  /** Both over the course. `draft`: who drafts and in which format the target computes; `tell` hears how many of the
      turns are over.
      @param {InstanceType<Names["BrowserEngine"]>} engine @param {Partial<BrowserRequest>} draft
      @param {(over: number, of: number) => Promise<void>} tell @returns {Promise<Duel>} */
  async function duel(engine, draft, tell, { prompts, tokens, turns } = COURSE) {
    const plain = { drafter: "none", dtype: draft.dtype };
    const result = { tokens: 0, passes: 0, plain: [], drafted: [], texts: [] };
    for (let turn = 0; turn <= turns; turn++) {
      const took = { plain: 0, drafted: 0 };
      Object.assign(result, { tokens: 0, passes: 0, texts: [] });
      for (const prompt of prompts) {
        const asked = { prompt, max_new_tokens: turn ? tokens : WARM_UP };
        const [bare, run] = [await timed(engine, { ...asked, ...plain }), await timed(engine, { ...asked, ...draft })];
        took.plain += bare.seconds;
        took.drafted += run.seconds;
        result.tokens += run.tokens;
        result.passes += run.passes;
        result.texts.push(run.text);
      }
      if (turn) for (const side of ["plain", "drafted"]) result[side].push(took[side]);
      await tell(turn, turns);
    }
    return result;
  }

  return { COURSE, timed, duel };
})();
Object.assign(SpecViz, duel);
