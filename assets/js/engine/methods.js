/* Which methods the browser's engine has, with their options as the shipped catalogue describes them, and which of
   them belong together. Pure. */
// needs: declared, drafters, eagle, medusa, token_recycling, verifiers
/** @typedef {{ drafter: string, drafter_options?: Record<string, any>, drafter_model?: string, verifier?: string,
      verifier_options?: Record<string, number>, temperature: number, top_k: number, top_p: number, seed: number,
      max_new_tokens: number, stop?: string[], prompt: string, prompt_name?: string | null, top?: number,
      target?: string, tree_policy?: string, stop_policy?: string, memory?: string, chat?: boolean, scene?: string }}
      BrowserRequest
      what is asked for, under the names of a `RunRequest`; the last line is what the server alone has, unless it says
      what is usual
    @typedef {{ drafters: MethodDescription[], verifiers: MethodDescription[] }} BrowserCatalog
    @typedef {{ name: string, type: string, default: any, minimum: number | null, maximum: number | null,
      choices: string[], unless: string }} OptionDescription
    @typedef {{ name: string, lossless: boolean, options: OptionDescription[] }} MethodDescription */

const methods = (function (S) {
  "use strict";

  const SHIPPED = "shipped"; // weights
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

  /** The kind of candidate that a drafter makes.
      @param {BrowserRequest} request @returns {Kind} */
  function kindOf(request, options) {
    const draws = ["model", "eagle"].includes(request.drafter) || (request.drafter === "medusa" && !options.nodes);
    return draws ? S.kindDrawn(options, request) : "point_mass";
  }

  /** Whether candidates may have siblings.
      @param {BrowserRequest} request */
  function isTree({ drafter }, { branching = [], nodes = 0, continuations = 1 }) {
    return drafter === "token_recycling" || Math.max(1, nodes, continuations, ...branching) > 1;
  }

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
    if ((request.tree_policy ?? "auto") !== "auto") throw absent("tree policy", request.tree_policy);
    if ((request.stop_policy ?? "fixed") !== "fixed") throw absent("stop policy", request.stop_policy);
    if (memory !== "cold") throw absent("memory of earlier runs, and this request's is", memory);
    const { weights = SHIPPED } = request.drafter_options ?? {};
    if (weights !== SHIPPED) throw absent("weights", weights);
    if (request.chat) throw absent("chat template, and the prompt is marked as a message");
    if (request.scene) throw absent("target that sees a picture");
  }

  /** A method's options: the defaults and what is given; without those that another replaces.
      @param {MethodDescription} method */
  function optionsOf(method, given = {}) {
    const wrong = Object.keys(given).find((name) => !method.options.some((one) => one.name === name));
    if (wrong) throw new Error(`'${method.name}' has no option '${wrong.slice(0, 40)}'.`);
    const values = Object.fromEntries(method.options.map((one) => [one.name, given[one.name] ?? one.default]));
    for (const { name, minimum, maximum, choices } of method.options)
      for (const value of [values[name]].flat()) {
        const isOutside = (minimum !== null && value < minimum) || (maximum !== null && value > maximum);
        if (isOutside || (choices.length && !choices.includes(value)))
          throw new Error(`${name} of '${method.name}' is ${String(value).slice(0, 40)}, which is not allowed.`);
      }
    const isSet = (name) => [values[name]].flat().length > 0 && Boolean(values[name]);
    for (const { name, unless } of method.options) if (unless && isSet(unless)) delete values[name];
    return values;
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
    const options = optionsOf(drafter, request.drafter_options);
    const ruleOptions = optionsOf(rule, request.verifier_options);
    const { judges, greedy, chains } = S.declared(name);
    if (greedy && request.temperature !== 0)
      throw new Error(
        `the verifier '${name}' works at temperature 0 only, but the temperature is ${request.temperature}.`,
      );
    const kind = kindOf(request, options);
    if (request.drafter !== "none" && !judges.includes(kind))
      throw new Error(`the verifier '${name}' does not judge candidates of the kind '${kind}'; choose another one.`);
    if (chains && isTree(request, options))
      throw new Error(
        `the verifier '${name}' judges a chain of candidates only, and the drafter gives them siblings with these ` +
          "options; draft a chain or choose another verifier.",
      );
    return { drafter, rule, options, ruleOptions };
  }

  return { planOf, DRAFTERS_HERE, LEARNED };
})(SpecViz);
Object.assign(SpecViz, methods);
