/* Which methods the browser's engine has, with their options as the shipped catalogue describes them, and which of
   them belong together. Pure. */
// needs: beam_trees, declared, drafters, eagle, medusa, token_recycling, trained_stops, verifiers
/** @typedef {{ drafter: string, drafter_options?: Record<string, any>, drafter_model?: string, verifier?: string,
      verifier_options?: Record<string, number>, temperature: number, top_k: number, top_p: number, seed: number,
      max_new_tokens: number, stop?: string[], prompt: string, prompt_name?: string | null, top?: number,
      record?: boolean, tree_policy?: string, tree_policy_options?: Record<string, any>, stop_policy?: string,
      stop_policy_options?: Record<string, any>, dtype?: string,
      target?: string, memory?: string, chat?: boolean, scene?: string }} BrowserRequest
      what is asked for, under the names of a `RunRequest`; `dtype`: of the target, "int8" is the browser's alone; the
      last line is what the server alone has, unless it says what is usual
    @typedef {{ drafters: MethodDescription[], verifiers: MethodDescription[], tree_policies: MethodDescription[],
      stop_policies: MethodDescription[] }} BrowserCatalog
    @typedef {{ name: string, type: string, default: any, minimum: number | null, maximum: number | null,
      choices: string[], unless: string, needs: string, shape: boolean }} OptionDescription
    @typedef {{ name: string, lossless: boolean, temperatures: string, deployable: boolean,
      options: OptionDescription[] }} MethodDescription `temperatures`: "any" or "zero"
    @typedef {{ method: MethodDescription, options: Record<string, any> }} Chosen */

const methods = (function (S) {
  "use strict";

  const SHIPPED = "shipped"; // weights
  const [OWN_TREES, WHOLE_DRAFTS] = ["auto", "fixed"]; // the policies of a run that names none
  const READS_STATES = "specdecpp"; // the stop policy that looks at the drafter's states
  const [TAKES_THE_TARGETS, COUNTS_SIBLINGS] = ["longest_path", "kseq"]; // of the verifiers
  const FORMATS = ["auto", "float32", "int8"]; // of the target's numbers
  /** @type {Record<string, any>} */
  const DRAFTERS_HERE = {
    none: S.NoDrafter,
    model: S.ModelDrafter,
    ngram: S.NgramDrafter,
    token_recycling: S.TokenRecyclingDrafter,
    eagle: S.EagleDrafter,
    medusa: S.MedusaDrafter,
  };
  /** Those that a trained module belongs to: its network, and how many numbers that takes in an arena.
      @type {Record<string, { network: any, numbers: (module: LearnedModule, target: LlamaShape) => number }>} */
  const LEARNED = {
    eagle: { network: S.EagleNetwork, numbers: S.eagleNumbers },
    medusa: { network: S.MedusaNetwork, numbers: S.medusaNumbers },
  };

  /** Why the browser's engine cannot run something: it has none of what is asked for. */
  function absent(what, name = "") {
    const called = name && ` '${String(name).slice(0, 40)}'`;
    return new Error(`the browser's engine has no ${what}${called}; run it on the server.`);
  }

  /** A method of the catalogue by its name. Throws where the browser's engine has none. */
  function described(methods, what, name, isHere) {
    const method = methods.find((one) => one.name === name);
    if (!method || !isHere) throw absent(what, name);
    return method;
  }

  /** Throws where a request has a setting that the server alone can follow.
      @param {BrowserRequest} request @param {string[]} models the target first */
  function checkSettings(request, models) {
    const { target = models[0], drafter_model: drafting = "drafter", memory = "cold" } = request;
    if (target !== models[0]) throw absent("target", target);
    if (request.drafter === "model" && !models.includes(drafting)) throw absent("model", drafting);
    if (!FORMATS.includes(request.dtype ?? "auto")) throw absent("number format", request.dtype);
    if (memory !== "cold") throw absent("memory of earlier runs, and this request's is", memory);
    const { weights = SHIPPED } = request.drafter_options ?? {};
    if (weights !== SHIPPED) throw absent("weights", weights);
    if (request.chat) throw absent("chat template, and the prompt is marked as a message");
    if (request.scene) throw absent("target that sees a picture");
  }

  /** A method's options: the defaults and what is given; without those that do nothing, which another replaces, or
      needs, or of which a tree policy decides (`hasPolicy`).
      @param {MethodDescription} method */
  function optionsOf(method, given = {}, hasPolicy = false) {
    const wrong = Object.keys(given).find((name) => !method.options.some((one) => one.name === name));
    if (wrong) throw new Error(`'${method.name}' has no option '${wrong.slice(0, 40)}'.`);
    const values = Object.fromEntries(method.options.map((one) => [one.name, given[one.name] ?? one.default]));
    for (const { name, minimum, maximum, choices } of method.options)
      for (const value of [values[name]].flat()) {
        const isOutside = (minimum !== null && value < minimum) || (maximum !== null && value > maximum);
        if (isOutside || (choices.length && !choices.includes(value)))
          throw new Error(`${name} of '${method.name}' is ${String(value).slice(0, 40)}, which is not allowed.`);
      }
    const isSet = (name) => [values[name]].flat().length > 0 && Boolean(values[name]) && values[name] !== "none";
    const isIdle = ({ unless, needs, shape }) =>
      (hasPolicy && shape) || (unless && isSet(unless)) || (needs && !isSet(needs));
    const idle = method.options.filter(isIdle).map(({ name }) => name);
    for (const name of idle) delete values[name];
    return values;
  }

  /** The tree policy that a request names, or null. Throws where there is none, or where it is told a shape twice.
      @param {BrowserRequest} request @param {BrowserCatalog} catalog @param {MethodDescription} drafter
      @returns {Chosen | null} */
  function treeOf({ tree_policy: name = OWN_TREES, ...request }, catalog, drafter) {
    if (name === OWN_TREES) return null;
    const method = described(catalog.tree_policies, "tree policy", name, Object.hasOwn(S.TREE_POLICIES, name));
    const given = request.drafter_options ?? {};
    const isTold = ({ name: option, shape, default: usual }) =>
      shape && Object.hasOwn(given, option) && JSON.stringify(given[option]) !== JSON.stringify(usual);
    const told = drafter.options.find(isTold);
    if (told)
      throw new Error(
        `${told.name} of the drafter '${drafter.name}' is ${String(given[told.name]).slice(0, 40)}, but the tree ` +
          `policy '${name}' decides the shape of its drafts; leave ${told.name} out and use the policy's own options.`,
      );
    return { method, options: optionsOf(method, request.tree_policy_options) };
  }

  /** The stop policy that a request names; null for what does nothing.
      @param {BrowserRequest} request @param {BrowserCatalog} catalog @returns {Chosen | null} */
  function stopOf({ stop_policy: name = WHOLE_DRAFTS, stop_policy_options: given }, catalog) {
    const method = described(catalog.stop_policies, "stop policy", name, Object.hasOwn(S.STOP_POLICIES, name));
    const options = optionsOf(method, given);
    return name === WHOLE_DRAFTS && !options.longest ? null : { method, options };
  }

  /** Throws where a policy is asked of a drafter that has none, or cannot do its work with it or at this temperature.
      @param {MethodDescription} drafter @param {Chosen | null} tree @param {Chosen | null} stop */
  function checkPolicies(drafter, tree, stop, temperature) {
    const Drafting = DRAFTERS_HERE[drafter.name];
    if ((tree || stop) && !Drafting.treeOf) {
      const asked = [...(tree ? ["tree policy"] : []), ...(stop ? ["stop policy"] : [])];
      throw new Error(
        `the drafter '${drafter.name}' makes its drafts in its own way and has no ${asked.join(" and no ")}; leave ` +
          "tree policy and stop policy at their defaults or choose the drafter 'model'.",
      );
    }
    if (stop?.method.temperatures === "zero" && temperature !== 0)
      throw new Error(
        `the stop policy '${stop.method.name}' works at temperature 0 only, because above it what the target will ` +
          `accept is not settled beforehand, but the temperature is ${temperature}; set it to 0 or choose another ` +
          "stop policy.",
      );
    if (stop?.method.name === READS_STATES && !Drafting.givesHidden)
      throw new Error(
        `the stop policy '${READS_STATES}' looks at hidden states, but the drafter '${drafter.name}' gives none; ` +
          "choose the drafter 'model' or another stop policy.",
      );
  }

  /** What candidates a drafter makes: of which kind, and whether they may have siblings.
      @param {BrowserRequest} request @param {InstanceType<Names["TreePolicy"]> | null} policy
      @returns {{ kind: Kind, isTree: boolean }} */
  function shapeOf(request, options, policy) {
    const shape = policy ?? DRAFTERS_HERE[request.drafter].treeOf?.(options);
    if (shape) return { kind: shape.kind(request), isTree: shape.isTree };
    return { kind: "point_mass", isTree: request.drafter === "token_recycling" || (options.continuations ?? 1) > 1 };
  }

  /** Throws where a rule does not judge what a drafter makes with these policies.
      @param {BrowserRequest} request @param {string} name the rule's @param {{ kind: Kind, isTree: boolean }} shape
      @param {Chosen | null} tree */
  function checkRule(request, name, { kind, isTree }, tree) {
    const { judges, chains } = S.declared(name);
    const who = tree ? `the drafter with the tree policy '${tree.method.name}'` : "the drafter";
    if (!judges.includes(kind))
      throw new Error(`the verifier '${name}' does not judge candidates of the kind '${kind}'; choose another one.`);
    if (chains && isTree)
      throw new Error(
        `the verifier '${name}' judges a chain of candidates only, and ${who} gives them siblings with these ` +
          "options; draft a chain or choose another verifier.",
      );
    if (!tree) return;
    const { opens, settlesSiblings } = S.TREE_POLICIES[tree.method.name];
    if (opens && name !== TAKES_THE_TARGETS)
      throw new Error(
        `the tree policy '${tree.method.name}' lets the target propose the first level, about which the verifier ` +
          `'${name}' has nothing to decide; choose the verifier '${TAKES_THE_TARGETS}', which is lossy as well.`,
      );
    if (name === COUNTS_SIBLINGS && !settlesSiblings)
      throw new Error(
        `the verifier '${name}' reckons with the number of siblings, but the tree policy '${tree.method.name}' ` +
          "decides while drawing how many there are, which would bias the text; choose the tree policy 'levels' or " +
          "the verifier 'sequential'.",
      );
  }

  /** The verifier of a request: a name, or `auto`.
      @param {BrowserRequest} request */
  const ruleOf = ({ verifier, temperature }) =>
    verifier && verifier !== "auto" ? verifier : temperature === 0 ? "greedy" : "sequential";

  /** A request whose methods are there and belong together. Throws in a sentence where not.
      @param {BrowserRequest} request @param {BrowserCatalog} catalog @param {string[]} models the target first */
  function planOf(request, catalog, models) {
    checkSettings(request, models);
    const name = ruleOf(request);
    const drafter = described(
      catalog.drafters,
      "drafter",
      request.drafter,
      Object.hasOwn(DRAFTERS_HERE, request.drafter),
    );
    const rule = described(catalog.verifiers, "verifier", name, S.judgedHere(name));
    const [tree, stop] = [treeOf(request, catalog, drafter), stopOf(request, catalog)];
    const options = optionsOf(drafter, request.drafter_options, tree !== null);
    const ruleOptions = optionsOf(rule, request.verifier_options);
    checkPolicies(drafter, tree, stop, request.temperature);
    if (S.declared(name).greedy && request.temperature !== 0)
      throw new Error(
        `the verifier '${name}' works at temperature 0 only, but the temperature is ${request.temperature}.`,
      );
    const policy = tree && new S.TREE_POLICIES[tree.method.name](tree.options);
    if (request.drafter !== "none") checkRule(request, name, shapeOf(request, options, policy), tree);
    return { drafter, rule, options, ruleOptions, stop, tree: tree && { ...tree, policy } };
  }

  /** Why a request cannot be run here; empty where it can.
      @param {BrowserRequest} request @param {BrowserCatalog} catalog @param {string[]} models the target first */
  function refusalOf(request, catalog, models) {
    try {
      planOf(request, catalog, models);
      return "";
    } catch (error) {
      return error.message;
    }
  }

  return { planOf, refusalOf, DRAFTERS_HERE, LEARNED };
})(SpecViz);
Object.assign(SpecViz, methods);
