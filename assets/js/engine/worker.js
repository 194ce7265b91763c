/* The worker's side: a page asks by messages, and is answered by messages. What is asked ends what
   is going on.

   {ask: "check", base, request} ─► fits             {ask: "run", request} ─► step … ─► done
   {ask: "load", base} ─► progress … ─► ready        failed: a sentence, whatever was asked
   {ask: "prove"} ─► proved                          {ask: "cheap"} ─► costs, after "load"
                                                     {ask: "cancel"} asks for nothing more */
// needs: cheap_target, decode, download, enumeration, methods
/** @typedef {{ ask: "check", base: string, request: BrowserRequest } | { ask: "load", base: string }
      | { ask: "run", request: BrowserRequest } | { ask: "prove" } | { ask: "cheap" } | { ask: "cancel" }} Asked
    @typedef {{ say: "progress", bytes: number, of: number, file: string } | { say: "ready", seconds: number }
      | { say: "fits" } | { say: "step", step: BrowserStep } | { say: "done", trace: trace.Trace }
      | { say: "proved", proved: Proved, seconds: number }
      | { say: "costs", costs: Cost[] } | { say: "failed", message: string }}
      Said
    @typedef {{ onmessage: ((message: { data: Asked }) => void) | null, postMessage: (said: Said) => void }} Port */

const engineWorker = (function (S) {
  "use strict";

  const NOT_LOADED = "the engine's files are not loaded yet.";
  /** Lets messages in: a promise alone would go on before they are read. */
  const breath = () => new Promise((done) => setTimeout(done, 0));

  /** Answer what is asked through a port.
      @param {Port} port @param {Network} network */
  function serveEngine(port, network) {
    /** @type {InstanceType<Names["BrowserEngine"]> | null} */
    let engine = null;
    let stop = new AbortController();
    let going = Promise.resolve(); // what is asked later waits: runs share the models' caches

    /** Whether a request can be run here, before anything large is fetched for it. */
    async function check({ base, request }, signal) {
      const { catalog, models } = await S.choicesOf(base, network, signal);
      S.planOf(request, catalog, models);
      port.postMessage({ say: "fits" });
    }

    async function load({ base }, signal) {
      const began = performance.now();
      const files = await S.engineFiles(base, network, signal, (at) => port.postMessage({ say: "progress", ...at }));
      engine = await S.BrowserEngine.load(files);
      port.postMessage({ say: "ready", seconds: (performance.now() - began) / 1000 });
    }

    async function run({ request }, signal) {
      if (!engine) throw new Error(NOT_LOADED);
      const steps = [];
      for await (const step of engine.run(request, () => signal.aborted)) {
        steps.push(step);
        port.postMessage({ say: "step", step });
        await breath();
      }
      port.postMessage({ say: "done", trace: S.traceOf(steps) });
    }

    /** Walk every branch of the chain rule on toy models. */
    async function prove() {
      const began = performance.now();
      const proved = S.chainRule();
      port.postMessage({ say: "proved", proved, seconds: (performance.now() - began) / 1000 });
    }

    /** Time the target in float32 and in eight bits. */
    async function cheap() {
      if (!engine) throw new Error(NOT_LOADED);
      port.postMessage({ say: "costs", costs: await S.costsOfTargets(engine) });
    }

    /** @type {Record<string, (asked: any, signal: AbortSignal) => Promise<void>>} */
    const answers = { check, load, run, prove, cheap };
    port.onmessage = ({ data }) => {
      stop.abort();
      if (data.ask === "cancel") return;
      stop = new AbortController();
      const { signal } = stop;
      going = going
        .then(() => answers[data.ask](data, signal))
        .catch((error) => port.postMessage({ say: "failed", message: error.message }));
    };
  }

  return { serveEngine };
})(SpecViz);
Object.assign(SpecViz, engineWorker);
