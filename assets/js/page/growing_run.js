/* A run of the visitor's own engine while it is made: steps go in, and the text of the run so far comes out, as the
   server streams it (`finished` is null), at most twenty times a second. Each step is encoded once. */
// needs: nothing
const growingRun = (function () {
  "use strict";

  const FRAME_MS = 50; // shortest time between two pictures; rounds in between are shown together

  /** Takes steps one by one; `show` is given the text where a picture is due. Answers whether there is something new to
      say: a picture was due, or a run has begun. */
  function grower(show, now = () => performance.now()) {
    let head = "";
    let rounds = [];
    let vocab = {};
    let shown = 0;
    return (step) => {
      if (step.kind === "started") {
        head = `"format":"${step.format}","version":"${step.version}","started":${JSON.stringify(step.event)}`;
        [rounds, vocab, shown] = [[], {}, -Infinity];
      }
      Object.assign(vocab, step.vocab);
      if (step.kind !== "round") return step.kind === "started";
      rounds.push(JSON.stringify(step.event));
      if (now() - shown < FRAME_MS) return false;
      shown = now();
      show(`{${head},"vocab":${JSON.stringify(vocab)},"rounds":[${rounds.join()}],"finished":null,"summary":null}`);
      return true;
    };
  }

  return { growingRun: grower };
})();
Object.assign(SpecViz, growingRun);
