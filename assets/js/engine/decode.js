/* The browser's engine as a whole: models that are loaded once, and runs on them as a stream of events, ready for a
   trace.

   files ─► BrowserEngine.load ─► run(request): Started ─► Round ─► … ─► Finished ─► traceOf */
// needs: arena, beam_trees, cheap_target, checkpoint, header, llama, methods, randomness, recorder, session
// needs: sha256, step_times, stop_policies, tokenizer, trained_stops
/** @typedef {{ config: any, weights: Uint8Array<ArrayBuffer> }} ModelFiles
    @typedef {{ kernels: BufferSource[], tokenizer: Uint8Array<ArrayBuffer>, eosIds: number[], version: string,
      catalog: BrowserCatalog, vectors: MeasuredVectors, stops: Record<string, StopWeights>,
      models: Record<string, ModelFiles>, modules: Record<string, { card: any, weights: Uint8Array<ArrayBuffer> }> }}
      EngineFiles `kernels`: the fastest first; the first model is the target, on which the modules were trained;
      `stops`: weights by stop policy
    @typedef {{ kind: "started", format: "specviz-trace", version: string, event: trace.Started,
      vocab: Record<string, trace.VocabEntry> }
      | { kind: "round", event: trace.Round, vocab: Record<string, trace.VocabEntry> }
      | { kind: "finished", event: trace.Finished, vocab: Record<string, trace.VocabEntry> }} BrowserStep */

const decode = (function (S) {
  "use strict";

  /** @type {"specviz-trace"} */
  const FORMAT = "specviz-trace";
  const VERSION = "1.3";
  const WHOLE = "float32"; // the numbers of the weights as they stand in memory
  const TOP = 10; // tokens of a distribution that a trace holds

  class BrowserEngine {
    /** See `load`.
        @param {EngineFiles} files @param {InstanceType<Names["Tokenizer"]>} tokenizer
        @param {InstanceType<Names["Arena"]>} arena @param {Map<string, InstanceType<Names["Llama"]>>} models
        @param {Map<string, any>} networks by drafter */
    constructor(files, tokenizer, tokenizerHash, arena, models, networks) {
      this.catalog = files.catalog;
      this.version = files.version;
      this.eosIds = files.eosIds;
      this.tokenizer = tokenizer;
      this.tokenizerHash = tokenizerHash;
      this.compiled = arena.compiled;
      this.models = models;
      this.target = [...models.values()][0];
      this.networks = networks;
      this.vectors = files.vectors;
      this.stops = files.stops;
      /** @type {EightBits | null} the target's weights in eight bits, once they were asked for */
      this.eights = null;
      this.dtype = WHOLE;
      /** @type {Map<string, trace.StepTime[]>} by the target's number format */
      this.stepTimes = new Map();
      /** @type {Map<string, number>} by that and the drafter's model */
      this.draftSteps = new Map();
    }

    /** From now on the target computes in this number format: float32, or int8 for its weights and what they multiply.
        @param {"float32" | "int8"} dtype */
    compute(dtype) {
      if (dtype === "int8") this.eights ??= S.eightBits(this.target);
      this.target.eights = dtype === "int8" ? this.eights : null;
      this.dtype = dtype;
    }

    /** Read the files into memory. Throws in a sentence where they are damaged or of another kind.
        @param {EngineFiles} files */
    static async load(files) {
      const names = Object.keys(files.models);
      const tokenizer = new S.Tokenizer(JSON.parse(new TextDecoder().decode(files.tokenizer)), names[0]);
      const shapes = names.map((name) => S.llamaShape(files.models[name].config, name));
      const modules = Object.entries(files.modules).map(([name, { card, weights }]) => {
        return { name, module: { card, tensors: S.readSafetensors(weights) } };
      });
      const numbers = shapes.reduce((sum, shape) => sum + S.arenaNumbers(shape), 0);
      const learned = modules.reduce((sum, { name, module }) => sum + S.LEARNED[name].numbers(module, shapes[0]), 0);
      const arena = new S.Arena(files.kernels, numbers + learned + S.eightNumbers(shapes[0]));
      const models = new Map();
      for (const [at, name] of names.entries()) {
        const { weights } = files.models[name];
        const tensors = S.readSafetensors(weights);
        const card = cardOf(name, shapes[at], tensors, tokenizer.size, await S.weightsHash(weights));
        models.set(name, new S.Llama(arena, shapes[at], tensors, card));
        // @ts-ignore: newer than the checker's library
        weights.buffer.transfer?.(0); // handed back now, not when somebody collects: the arena has them in float32
      }
      const networks = new Map();
      for (const { name, module } of modules)
        networks.set(name, new S.LEARNED[name].network(models.get(names[0]), module));
      return new BrowserEngine(files, tokenizer, await S.sha256(files.tokenizer), arena, models, networks);
    }

    /** Bare passes, timed once per number format and model.
        @param {InstanceType<Names["Llama"]> | null} drafter
        @returns {{ step_times: trace.StepTime[], draft_step_s: number | null }} */
    measured(drafter) {
      const { dtype, stepTimes, draftSteps } = this;
      if (!stepTimes.has(dtype)) stepTimes.set(dtype, S.stepTimes(this.target));
      const key = drafter && `${dtype} ${drafter.card.name}`;
      if (drafter && !draftSteps.has(key)) draftSteps.set(key, S.draftStep(drafter, this.target));
      return { step_times: stepTimes.get(dtype), draft_step_s: draftSteps.get(key) ?? null };
    }

    /** Seconds of a pass of the target over one row, from a few: what to expect of this tab. */
    pace() {
      this.compute(WHOLE);
      return S.stepTimes(this.target, [1])[0].median_s;
    }

    /** A request as a header, a session and a recorder. Throws in a sentence where it cannot be run.
        @param {BrowserRequest} request */
    async begin(request) {
      const {
        drafter,
        rule,
        options,
        ruleOptions,
        tree,
        stop: ends,
      } = S.planOf(request, this.catalog, [...this.models.keys()]);
      const name = request.drafter === "model" ? (request.drafter_model ?? "drafter") : null;
      const model = name === null ? null : this.models.get(name);
      const { temperature, top_k: topK, top_p: topP } = request;
      const promptIds = this.tokenizer.encode(request.prompt);
      this.compute(request.dtype === "int8" ? "int8" : WHOLE);
      const times = this.measured(model);
      tree?.policy.prepare(this.pairOf(model, temperature));
      const policies = { tree: tree && tree.policy, stop: await this.stopPolicy(ends, model) };
      const network = this.networks.get(drafter.name);
      const Drafting = S.DRAFTERS_HERE[drafter.name];
      const drafting = new Drafting(options, { model, target: this.target, network, policies });
      const special = new Set(this.tokenizer.specialIds);
      const bytesOf = (token) => (special.has(token) ? new Uint8Array() : this.tokenizer.tokenBytes(token));
      const stop = request.stop ?? [];
      const ending = new S.Ending({ most: request.max_new_tokens, eosIds: this.eosIds, stop, bytesOf });
      const session = new S.Session({
        target: this.target,
        drafter: drafting,
        rule: rule.name,
        ruleOptions,
        sampling: { temperature, top_k: topK, top_p: topP },
        randomness: new S.SeededRandom(request.seed),
        promptIds,
        opens: tree !== null && S.TREE_POLICIES[tree.method.name].opens,
        ending,
      });
      policies.stop.consult((tokens) => session.targetSays(tokens));
      const started = await S.sealed({
        run_id: "",
        created: new Date().toISOString().replace(/\.\d+Z/, "Z"),
        producer: `specviz ${this.version}`,
        source: "live",
        target: { ...this.target.card, dtype: this.dtype },
        drafter: S.methodCard(drafter, drafting.options, model && model.card, Drafting.passReads),
        verifier: S.methodCard(rule, ruleOptions),
        sampling: { temperature, top_k: topK, top_p: topP },
        tokenizer: {
          name: this.target.card.name,
          vocab_size: this.tokenizer.size,
          sha256: this.tokenizerHash,
          special_ids: this.tokenizer.specialIds,
        },
        machine: S.machineHere(this.compiled, this.dtype),
        seed: request.seed,
        max_new_tokens: request.max_new_tokens,
        eos_ids: this.eosIds,
        stop,
        prompt_text: request.prompt,
        prompt_ids: promptIds,
        prompt_name: request.prompt_name ?? null,
        ...times,
        branch: null,
        tree_policy: tree && S.methodCard(tree.method, tree.policy.options),
        stop_policy: ends && S.methodCard(ends.method, ends.options),
        memory: null,
        datastore: null,
        chat_message: null,
        scene: null,
      });
      return {
        started,
        session,
        recorder: new S.Recorder(this.tokenizer, request.top ?? TOP, rule.name, request.record),
      };
    }

    /** Whose draft is judged by whom, for a tree policy.
        @param {InstanceType<Names["Llama"]> | null} model @returns {PolicyPair} */
    pairOf(model, temperature) {
      const drafter = model && model.card.weights_sha256;
      const { step_times: steps, draft_step_s: draftStep } = this.measured(model);
      const target = this.target.card.weights_sha256;
      return { target, drafter, temperature, vectors: this.vectors, steps, draftStep };
    }

    /** A stop policy with its weights. Throws in a sentence where these were not trained for this drafter's states.
        @param {Chosen | null} chosen @param {InstanceType<Names["Llama"]> | null} model */
    async stopPolicy(chosen, model) {
      if (chosen === null) return new S.StopPolicy({ longest: 0 });
      const { name } = chosen.method;
      const weights = this.stops[name];
      const trained = weights && { weights, digest: (await S.pythonDigest(weights)).slice(0, 12) };
      const policy = new S.STOP_POLICIES[name](chosen.options, trained);
      if (policy.needsHidden && weights.drafter_sha256 !== model.card.weights_sha256)
        throw new Error(
          `the stop policy '${name}' cannot work with the drafter's model ${model.card.name}, because its weights ` +
            "were trained on the hidden states of other drafter weights; choose another stop policy.",
        );
      return policy;
    }

    /** Started, each round as soon as it is computed, then Finished. `cancelled` is asked before every round.
        @param {BrowserRequest} request @returns {AsyncGenerator<BrowserStep>} */
    async *run(request, cancelled = () => false) {
      const { started, session, recorder } = await this.begin(request);
      const first = { format: FORMAT, version: VERSION, event: started, vocab: recorder.entries(started.prompt_ids) };
      yield { kind: "started", ...first };
      const prefill = session.begin();
      /** @type {trace.Finished["reason"]} */
      let reason = null;
      while (reason === null) {
        reason = session.finished ?? (cancelled() ? "cancelled" : null);
        if (reason === null) yield /** @type {BrowserStep} */ (recorder.round(session.round()));
      }
      const output = session.tokens.slice(started.prompt_ids.length);
      /** @type {trace.Finished} */
      const finished = {
        reason,
        message: null,
        output_ids: output,
        text: session.ending.text,
        prefill_s: prefill,
        decode_s: session.decodeSeconds,
        record_s: recorder.seconds,
        plain: null,
      };
      yield { kind: "finished", event: finished, vocab: recorder.entries(output) };
    }
  }

  /** @returns {trace.ModelCard} */
  function cardOf(name, shape, tensors, tokens, hash) {
    const sizes = [...tensors.values()].map((tensor) => tensor.shape.reduce((product, side) => product * side, 1));
    const parameters = sizes.reduce((sum, size) => sum + size, 0);
    return {
      name,
      architecture: "LlamaForCausalLM",
      adapter: "lean-llama-js",
      parameters,
      layers: shape.layers,
      hidden_size: shape.hidden,
      vocab_size: Math.min(shape.vocab, tokens),
      context_length: shape.context,
      dtype: WHOLE,
      weights_sha256: hash,
      read_per_pass: parameters,
      window: 0,
    };
  }

  /** The trace of a whole run's steps.
      @param {BrowserStep[]} steps @returns {trace.Trace} */
  function traceOf(steps) {
    const started = /** @type {trace.Started} */ (steps[0].event);
    const finished = /** @type {trace.Finished} */ (steps.at(-1).event);
    const rounds = steps.slice(1, -1).map((step) => /** @type {trace.Round} */ (step.event));
    const vocab = Object.assign({}, ...steps.map((step) => step.vocab));
    const summary = S.summaryOf(started, rounds, finished);
    return { format: FORMAT, version: VERSION, started, vocab, rounds, finished, summary };
  }

  return { BrowserEngine, traceOf };
})(SpecViz);
Object.assign(SpecViz, decode);
