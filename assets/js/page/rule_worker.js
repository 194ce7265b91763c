/* Rules are judged in a worker, which is ended where one takes too long. The worker is made of the page's own scripts,
   so that it also starts in a file that stands alone. */
// needs: rule_tasks, rule_verdict
const ruleWorker = (function (S) {
  "use strict";

  const LIMIT = 3000; // ms for one rule, once the worker is up
  const SLOW = "This rule took more than three seconds and was stopped; write it shorter, or take fewer tokens.";
  const NONE = "The browser started no worker for the rule; reload the page, or open it in another browser.";

  /** What is asked, worked out: {text, world} is judged, {text, task} checked. */
  function answerRule({ text, world, task }) {
    try {
      return { judged: task ? S.checkTask(S.taskOf(task), text) : S.judgeRule(text, world) };
    } catch (error) {
      if (error.line === undefined) throw error;
      return { fault: { message: error.message, line: error.line, column: error.column } };
    }
  }

  /** The worker's side. */
  function serveRules(port) {
    port.onmessage = ({ data }) => port.postMessage({ id: data.id, ...answerRule(data) });
    port.postMessage({ id: 0 });
  }

  function started() {
    const scripts = [...document.querySelectorAll("script[data-specviz]")].map((script) => script.textContent);
    const text = [...scripts, "SpecViz.serveRules(globalThis);"].join("\n");
    const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    return new Worker(url);
  }

  /** Asks one thing at a time and the last one asked next; `hear(kind, answer)` is given what came of it. What is asked
      anew under the same kind replaces what waits. */
  function ruleAsker(hear) {
    /** @type {Worker | null} */
    let worker = null;
    let ready = false;
    let going = null;
    let timer = 0;
    let count = 0;
    const waiting = new Map();

    function end(answer) {
      clearTimeout(timer);
      const { kind } = going;
      going = null;
      if (!waiting.has(kind)) hear(kind, answer);
      next();
    }
    function fail(message) {
      worker.terminate();
      worker = null;
      ready = false;
      if (going) end({ fault: { message, line: 0, column: 0 } });
    }
    function next() {
      if (going || !waiting.size) return;
      const [kind, asked] = waiting.entries().next().value;
      waiting.delete(kind);
      going = { kind, id: ++count, asked };
      if (!worker) {
        worker = started();
        worker.onmessage = ({ data }) => {
          if (data.id === 0) {
            ready = true;
            send();
          } else if (going && data.id === going.id) end(data);
        };
        worker.onerror = () => fail(NONE);
      } else if (ready) send();
    }
    function send() {
      if (!going) return;
      worker.postMessage({ id: going.id, ...going.asked });
      timer = setTimeout(() => fail(SLOW), LIMIT);
    }
    return {
      ask(kind, asked) {
        waiting.set(kind, asked);
        next();
      },
    };
  }

  return { answerRule, serveRules, ruleAsker };
})(SpecViz);
Object.assign(SpecViz, ruleWorker);
