/* The header of a run in the browser, sealed by its id as the engine seals it (specviz/trace/seal.py), and the numbers
   that a trace states about itself (trace/summary.py). Pure but for the clock. */
// needs: numbers, sha256
const browserHeader = (function (S) {
  "use strict";

  /** Fields that came after format 1.0 count in the seal only where they say something: name → what says nothing. */
  const LATER = {
    read_per_pass: 0,
    window: 0,
    dtype_why: "",
    further_models: [],
    pass_reads: "",
    chat_message: null,
    scene: null,
  };
  /** The hash goes by the names that fields had before format 1.3.
      @param {trace.Started} started */
  const byFormerNames = ({ tree_policy: growth, stop_policy: stopping, ...others }) => ({
    ...others,
    growth,
    stopping,
  });
  /** Numbers that Python holds as floats, and so writes with a point. */
  const FLOATS = new Set(["temperature", "top_p", "median_s", "low_s", "high_s", "draft_step_s", "temperatures"]);

  const saysNothing = (key, value) => key in LATER && JSON.stringify(value) === JSON.stringify(LATER[key]);

  /** A number as Python's json writes it. */
  function pythonNumber(value, isFloat) {
    if (isFloat && Number.isInteger(value)) return value.toFixed(1);
    const text = value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential() : String(value);
    return text.replace(/e([+-])(\d)$/, "e$10$2");
  }

  /** As `json.dumps(value, sort_keys=True)` writes it, without what says nothing. */
  function pythonJson(value, key = "") {
    if (typeof value === "number") return pythonNumber(value, FLOATS.has(key));
    if (typeof value === "string")
      return JSON.stringify(value).replace(
        /[^ -~]/g,
        (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
    if (Array.isArray(value)) return `[${value.map((one) => pythonJson(one, key)).join(", ")}]`;
    if (value === null || typeof value !== "object") return String(value);
    const said = Object.keys(value).filter((name) => !saysNothing(name, value[name]));
    return `{${said
      .sort()
      .map((name) => `${pythonJson(name)}: ${pythonJson(value[name], name)}`)
      .join(", ")}}`;
  }

  /** The hash of data as Python writes them.
      @param {object} data */
  const pythonDigest = (data) => S.sha256(new TextEncoder().encode(pythonJson(data)));

  /** The header with its id: 16 digits of a hash over all the rest.
      @param {trace.Started} started @returns {Promise<trace.Started>} */
  async function sealed(started) {
    const digest = await pythonDigest({ ...byFormerNames(started), run_id: "", source: "live" });
    return { ...started, run_id: digest.slice(0, 16) };
  }

  /** A method with every option it runs with.
      @param {MethodDescription} method @param {trace.ModelCard | null} model @returns {trace.MethodCard} */
  const methodCard = (method, options, model = null, passReads = "") => ({
    name: method.name,
    options,
    lossless: method.lossless,
    model,
    deployable: method.deployable,
    further_models: [],
    pass_reads: passReads,
  });

  /** What this browser, or node, is, and in which numbers the target computes. The host is not named.
      @returns {trace.Machine} */
  function machineHere(compiled, dtype) {
    const none = "not installed";
    return {
      device: "cpu",
      dtype,
      threads: 1,
      cores: globalThis.navigator?.hardwareConcurrency || 1,
      processor: compiled ? "browser: WebAssembly SIMD" : "browser: JavaScript",
      python: none,
      torch: none,
      transformers: none,
      system: String(globalThis.navigator?.userAgent ?? "unknown").slice(0, 200),
    };
  }

  /** Drafts are counted as the verifier judged them, before any trimming at the end.
      @param {trace.Started} started @param {trace.Round[]} rounds @param {trace.Finished} finished
      @returns {trace.Summary} */
  function summaryOf(started, rounds, finished) {
    const asJudged = rounds.map((round) =>
      S.endsText(round) ? { ...round, committed: { ...round.committed, trimmed: null } } : round,
    );
    const { passes, spec, drafted, accepted, rate, length } = S.counters(asJudged);
    const drafting = asJudged.filter((round) => S.drafts(round).length);
    const depthOf = (round) => Math.max(0, ...S.drafts(round).map((node) => node.depth));
    const deepest = Math.max(0, ...asJudged.map(depthOf));
    const isTimed = finished.decode_s > 0 && started.stop_policy?.deployable !== false; // an oracle's time is no speed
    const lengths = asJudged.map(S.acceptedDrafts);
    const levels = Array.from({ length: deepest }, (_, level) => level + 1);
    return {
      num_spec_steps: spec,
      num_draft_tokens: drafted,
      num_accepted_draft_tokens: accepted,
      draft_acceptance_rate: rate,
      mean_acceptance_length: length,
      acceptance_histogram: drafting.length
        ? [0, ...levels].map((many) => drafting.filter((round) => S.acceptedDrafts(round) === many).length)
        : [],
      acceptance_by_depth: levels.map((depth) => [
        asJudged.filter((round) => depthOf(round) >= depth).length,
        lengths.filter((many) => many >= depth).length,
      ]),
      num_target_passes: passes,
      num_output_tokens: finished.output_ids.length,
      tokens_per_second: isTimed ? finished.output_ids.length / finished.decode_s : null,
    };
  }

  return { sealed, pythonDigest, methodCard, machineHere, summaryOf };
})(SpecViz);
Object.assign(SpecViz, browserHeader);
