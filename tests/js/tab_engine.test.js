// The engine of the visitor's own tab: in which order it is asked, who hears the answers, and what they say.
const test = require("node:test");
const assert = require("node:assert");
const { S } = require("./load.js");

const asked = []; // by the page
/** The worker that the page made, which a test lets speak. */
let made = null;
globalThis.document = /** @type {any} */ ({ baseURI: "https://here/page/" });
globalThis.Worker = /** @type {any} */ (
  class {
    constructor(address) {
      this.address = String(address);
      made = this;
    }
    postMessage(data) {
      asked.push(data);
    }
  }
);
const words = () => asked.splice(0).map(({ ask }) => ask);
let heard = [];
const hear = (said) => heard.push(said.say);
/** The worker answers what it was asked last, or something before that. */
const say = (said, id) => made.onmessage({ data: { id, ...said } });
const RUN = { ask: "run", request: { prompt: "a" } };

test("a page without models says so, and asks no worker", async () => {
  const said = await new Promise((tell) => void S.askTab(RUN, tell));
  assert.match(said.message, /^this page carries no models/);
  assert.equal(made, null);
});

test("the first run is checked, then the models are loaded, then it runs; the next is not loaded for", () => {
  S.offerTab(44);
  S.askTab(RUN, hear);
  const [{ id, base }] = asked;
  assert.deepEqual([made.address, base], ["https://here/page/engine.js", "https://here/page/engine/"]);
  assert.deepEqual(words(), ["check"]);
  say({ say: "fits" }, id);
  assert.deepEqual(words(), ["load"]);
  say({ say: "ready", seconds: 1, pass: 0.01 }, id);
  assert.deepEqual(words(), ["run"]);
  say({ say: "done" }, id);
  S.askTab(RUN, hear);
  const next = asked[0].id;
  assert.deepEqual(words(), ["check"]);
  say({ say: "fits" }, next);
  assert.deepEqual(words(), ["run"]);
  say({ say: "done" }, next);
  assert.deepEqual(heard, ["fits", "ready", "done", "fits", "done"]);
});

test("who asks takes the tab over: the one before is told, and hears nothing more", () => {
  heard = [];
  S.askTab(RUN, (said) => heard.push(said.message ?? said.say));
  const before = asked[0].id;
  S.askTab({ ask: "cheap" }, hear);
  const now = asked[1].id;
  say({ say: "step" }, before);
  say({ say: "done" }, before);
  say({ say: "costs" }, now);
  assert.deepEqual(heard, ["it was stopped, because this tab was asked for something else.", "costs"]);
  words();
});

test("what is stopped before it began says so, whatever the worker answers", () => {
  heard = [];
  const stop = S.askTab(RUN, (said) => heard.push(said.message));
  const { id } = asked[0];
  stop();
  assert.deepEqual(words(), ["check", "cancel"]);
  say({ say: "fits" }, id);
  assert.deepEqual(heard, ["you stopped it before it began."]);
  assert.deepEqual(words(), []);
  stop();
  assert.deepEqual(words(), [], "what is over is not stopped once more");
});

test("a slow tab is said before the run starts and while it runs, by what a pass took in it", () => {
  const slow = S.paceWords(0.05, 0.01);
  assert.equal(
    slow,
    " Expect it to be slower: a pass of the target takes 50 ms in this tab, measured just now, 5.00 times as long as " +
      "on the machine whose times are shipped; plain decoding writes about 20 tokens a second.",
  );
  assert.equal(S.paceWords(0.0149, 0.01), "");
  S.CLOCKS = [{ seconds: [0.01] }];
  assert.equal(S.tabWords({ say: "ready", seconds: 2, pass: 0.05 }), `The models are here after 2.0 s.${slow}`);
  const round = { say: "step", step: { kind: "round", event: { index: 2 } } };
  assert.equal(S.tabWords(round, 0.05), `Running in your browser: round 3.${slow}`);
  assert.equal(S.tabWords(round, 0.01), "Running in your browser: round 3.");
  delete S.CLOCKS;
});

test("a finished run says in which numbers its target computed, where these are not the usual", () => {
  const done = (dtype) => ({
    say: "done",
    trace: { started: { target: { dtype } }, finished: { output_ids: [1, 2], decode_s: 0.5 } },
  });
  assert.equal(S.tabWords(done("float32"), null), "Run in this browser: 2 tokens in 500 ms.");
  assert.match(S.tabWords(done("int8"), null), /in 500 ms. The target computed in int8: its text may differ/);
});
