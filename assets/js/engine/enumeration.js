/* Proof instead of sampling, in the browser: a run on toy models is played with every sequence of outcomes of its two
   random verbs, and the law of its texts is compared with the target's own; the twin of specviz/proof/exhaustive.py. */
// needs: drafters, randomness, sampling, session, tree_cache
/** @typedef {{ rule: string, drafter: (model: any) => any, options?: Record<string, number>, length?: number,
      vocab?: number }} Walked `drafter`: from its model; `length`: tokens of a text
    @typedef {{ branches: number, texts: number, distance: number }} Proved `distance`: half of what the two laws differ
      by, added up over texts */

const enumeration = (function (S) {
  "use strict";

  const { sampling } = S;
  const WARM = { temperature: 0.8, top_k: 0, top_p: 1 };
  const ROOM = 64; // tokens of context
  const [TARGET_SEED, DRAFTER_SEED] = [1, 2];
  const SPREAD = 4; // between the largest and the smallest possible logit

  /** What follows a text is looked up by the whole text; the calls of a model. */
  class TableModel {
    constructor(vocab, seed) {
      this.vocab = vocab;
      this.seed = seed;
      this.shape = { context: ROOM };
      this.card = { read_per_pass: 0 };
      this.watched = false;
      this.seen = [];
      /** @type {Map<string, Float32Array>} */
      this.known = new Map();
    }

    newCache() {
      return new S.TreeCache();
    }

    /** Logits [V] of what follows a text. */
    row(text) {
      const key = text.join();
      if (!this.known.has(key)) {
        const number = text.reduce((sum, token) => sum * (this.vocab + 1) + token + 1, 0);
        const logit = (_, token) => SPREAD * sampling.uniform(this.seed, ["table", number, token]);
        this.known.set(key, Float32Array.from({ length: this.vocab }, logit));
      }
      return this.known.get(key);
    }

    forward(tokens, cache, parents = null, lastOnly = false) {
      const seen = cache.add(tokens, parents, this.shape.context);
      const logits = seen.map((rows) => this.row(rows.map((row) => cache.tokens[row])));
      return lastOnly ? logits.slice(-1) : logits;
    }

    keep(cache, rows) {
      cache.keep(rows, () => {});
    }
  }

  /** The target's own law of texts of so many tokens after a prompt: text → probability. */
  function lawOfTarget(model, prompt, length) {
    let law = new Map([["", 1]]);
    for (let depth = 0; depth < length; depth++) {
      const longer = new Map();
      for (const [text, weight] of law) {
        const before = text ? text.split(",").map(Number) : [];
        const probs = sampling.transform(model.row([...prompt, ...before]), WARM);
        for (const [token, p] of probs.entries()) longer.set([...before, token].join(), weight * p);
      }
      law = longer;
    }
    return law;
  }

  /** The law of the texts that sessions write, over every branch.
      @param {Walked} walked */
  function lawOfRuns({ rule, drafter, options = {}, length, vocab }, prompt) {
    const target = new TableModel(vocab, TARGET_SEED);
    const law = new Map();
    let branches = 0;
    const waiting = [[]];
    while (waiting.length) {
      const random = new S.WalkingRandom(waiting.pop());
      const ending = new S.Ending({ most: length, eosIds: [], stop: [], bytesOf: () => new Uint8Array() });
      const session = new S.Session({
        target: /** @type {any} */ (target),
        drafter: drafter(new TableModel(vocab, DRAFTER_SEED)),
        rule,
        ruleOptions: options,
        sampling: WARM,
        randomness: random,
        promptIds: prompt,
        ending,
      });
      session.begin();
      while (session.finished === null) session.round();
      const text = session.tokens.slice(prompt.length).join();
      law.set(text, (law.get(text) ?? 0) + random.weight);
      waiting.push(...random.others);
      branches += 1;
    }
    return { law, branches };
  }

  /** Walk every branch of a drafter under a rule.
      @param {Walked} walked @returns {Proved} */
  function enumerate({ length = 3, vocab = 3, ...walked }) {
    const prompt = [0, 1];
    const due = lawOfTarget(new TableModel(vocab, TARGET_SEED), prompt, length);
    const { law, branches } = lawOfRuns({ ...walked, length, vocab }, prompt);
    const texts = new Set([...due.keys(), ...law.keys()]);
    const apart = [...texts].reduce((sum, text) => sum + Math.abs((due.get(text) ?? 0) - (law.get(text) ?? 0)), 0);
    return { branches, texts: due.size, distance: apart / 2 };
  }

  /** The rule that every course begins with: a model drafts a chain of two, judged token by token. */
  const chainRule = () =>
    enumerate({
      rule: "sequential",
      drafter: (model) => new S.ModelDrafter({ gamma: 2, draw: "auto" }, { model, target: model, network: null }),
    });

  return { enumerate, chainRule };
})(SpecViz);
Object.assign(SpecViz, enumeration);
