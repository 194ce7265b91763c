/* The worker's side: a page asks by messages, and is answered by messages. What is asked ends what
   is going on.

   {ask: "check", base, request} ─► fits             {ask: "run", request} ─► step … ─► done
   {ask: "load", base} ─► progress … ─► ready        failed: a sentence, whatever was asked
   {ask: "series", requests} ─► ran … ─► series
   {ask: "prove"} ─► proved                          {ask: "cheap"} ─► timing … ─► costs, after "load"
   {ask: "duel", draft} ─► timing … ─► dueled, too  {ask: "cancel"} asks for nothing more */
// needs: cheap_target, decode, download, duel, enumeration, methods, series
/** @typedef {{ ask: "check", base: string, request?: BrowserRequest, requests?: BrowserRequest[] }
      | { ask: "load", base: string } | { ask: "run", request: BrowserRequest }
      | { ask: "series", requests: BrowserRequest[] } | { ask: "prove" } | { ask: "cheap" }
      | { ask: "duel", draft: Partial<BrowserRequest>, course?: Course } | { ask: "cancel" }} Asked
    @typedef {{ say: "progress", bytes: number, of: number, file: string } | { say: "ready", seconds: number,
      pass: number }
      | { say: "fits" } | { say: "step", step: BrowserStep } | { say: "done", trace: trace.Trace }
      | { say: "proved", proved: Proved, seconds: number }
      | { say: "timing", turn: number, turns: number } | { say: "costs", costs: Cost[] }
      | ({ say: "ran" } & SeriesRun) | { say: "series", refusals: string[] }
      | { say: "dueled", duel: Duel } | { say: "failed", message: string }} Said
    @typedef {{ onmessage: ((message: { data: Asked & { id?: number } }) => void) | null,
      postMessage: (said: Said & { id?: number }) => void }} Port `pass`: seconds of one of the target over one row */

const engineWorker = (function (S) {
  "use strict";

  const NOT_LOADED = "the engine's files are not loaded yet.";
  const STOPPED = "you stopped it before it was over.";
  /** Lets messages in: a promise alone would go on before they are read. */
  const breath = () => new Promise((done) => setTimeout(done, 0));

  /** Answer what is asked through a port; every answer carries the `id` of what it answers.
      @param {Port} port @param {Network} network */
  function serveEngine(port, network) {
    /** @type {InstanceType<Names["BrowserEngine"]> | null} */
    let engine = null;
    let stop = new AbortController();
    let going = Promise.resolve(); // what is asked later waits: runs share the models' caches

    /** The engine, once it is loaded. */
    function loaded() {
      if (!engine) throw new Error(NOT_LOADED);
      return engine;
    }

    /** Whether a request can be run here, before anything large is fetched for it. */
    async function check({ base, request, requests }, signal, say) {
      const { catalog, models } = await S.choicesOf(base, network, signal);
      if (requests) S.refusalsOf(requests, catalog, models);
      else S.planOf(request, catalog, models);
      say({ say: "fits" });
    }

    async function load({ base }, signal, say) {
      const began = performance.now();
      const files = await S.engineFiles(base, network, signal, (at) => say({ say: "progress", ...at }));
      engine = await S.BrowserEngine.load(files);
      const seconds = (performance.now() - began) / 1000;
      say({ say: "ready", seconds, pass: engine.pace() });
    }

    async function run({ request }, signal, say) {
      const steps = [];
      for await (const step of loaded().run(request, () => signal.aborted)) {
        steps.push(step);
        say({ say: "step", step });
        await breath();
      }
      say({ say: "done", trace: S.traceOf(steps) });
    }

    /** Several runs, each told of as soon as it is whole. */
    async function series({ requests }, signal, say) {
      say({ say: "series", refusals: await S.runSeries(loaded(), requests, signal, breath, say) });
    }

    /** Walk every branch of the chain rule on toy models. */
    async function prove(_, signal, say) {
      const began = performance.now();
      const proved = S.chainRule();
      say({ say: "proved", proved, seconds: (performance.now() - began) / 1000 });
    }

    /** Says how many turns are over, and stops between two of them. */
    const teller = (signal, say) => async (turn, turns) => {
      say({ say: "timing", turn, turns });
      await breath();
      if (signal.aborted) throw new Error(STOPPED);
    };

    /** Time the target in float32 and in int8. */
    async function cheap(_, signal, say) {
      say({ say: "costs", costs: await S.costsOfTargets(loaded(), teller(signal, say)) });
    }

    /** Race a way of drafting against plain decoding, over the course of all races or another one. */
    async function duel({ draft, course }, signal, say) {
      say({ say: "dueled", duel: await S.duel(loaded(), draft, teller(signal, say), course) });
    }

    /** @type {Record<string, (asked: any, signal: AbortSignal, say: (said: Said) => void) => Promise<void>>} */
    const answers = { check, load, run, series, prove, cheap, duel };
    port.onmessage = ({ data }) => {
      stop.abort();
      if (data.ask === "cancel") return;
      stop = new AbortController();
      const { signal } = stop;
      const say = (said) => port.postMessage({ ...said, id: data.id });
      going = going
        .then(() => answers[data.ask](data, signal, say))
        .catch((error) => say({ say: "failed", message: error.message }));
    };
  }

  return { serveEngine };
})(SpecViz);
Object.assign(SpecViz, engineWorker);
