/* A whole run at its own speed beside plain decoding: when which token was there, on the engine's clock, and two bars
   that fill as those times say. What is shown is an animation of the times in the trace, slowed by a round factor. */
// needs: dom, gain, numbers, timeline
const ownSpeed = (function (S) {
  "use strict";

  const { h } = S;
  const LEAST_S = 4; // of animation for the longer of the two: below that nobody can follow
  const STEPS = [1, 2, 5, 10];

  /** Pure: the round factor (1, 2, 5, 10, 20 …) that makes so many seconds last 4 s or more, and under 10 s. */
  function slowdown(seconds) {
    const power = 10 ** Math.floor(Math.log10(LEAST_S / seconds));
    return STEPS.map((step) => step * power).find((factor) => factor * seconds >= LEAST_S);
  }

  const slowWords = (slow) =>
    slow === 1
      ? "as fast as recorded"
      : slow > 1
        ? `${slow.toLocaleString("en")} times slower`
        : `${Number((1 / slow).toPrecision(3)).toLocaleString("en")} times faster`;

  /** Pure: when the tokens of a finished run came, in seconds on the engine's clock, and those of plain decoding that
      was timed beside it: {commits: [{seconds, tokens so far}], tokens, seconds, plain: {tokens, each, seconds}, slow}.
      Of plain decoding only its whole time is recorded, so its tokens stand evenly. Null where none was timed.
      @param {trace.Trace} trace */
  function ownSpeed(trace) {
    if (!S.isTimed(trace)) return null;
    const { output_tokens: count } = trace.finished.plain;
    const { seconds: each } = S.plainToken(trace);
    let tokens = 0;
    const commits = S.timeline(trace.rounds).rounds.map(({ end }, index) => {
      tokens += trace.rounds[index].committed.tokens.length;
      return { seconds: end, tokens };
    });
    const { seconds } = commits.at(-1);
    const plain = { tokens: count, each, seconds: each * count };
    return { commits, tokens, seconds, plain, slow: slowdown(Math.max(seconds, plain.seconds)) };
  }

  /** Pure: how far both are at a moment of engine time; `round` is the last one committed, -1 before the first. */
  function farAt(speed, seconds) {
    const round = speed.commits.filter((one) => one.seconds <= seconds).length - 1;
    const plain = Math.min(speed.plain.tokens, Math.floor(seconds / speed.plain.each + 1e-9));
    const ends = Math.max(speed.seconds, speed.plain.seconds);
    return { round, tokens: round < 0 ? 0 : speed.commits[round].tokens, plain, over: seconds >= ends };
  }

  /** What the caption says meanwhile. */
  const ownWords = (speed) =>
    `The whole run at its own speed beside plain decoding, ${slowWords(speed.slow)}: ` +
    "an animation of the recorded times.";

  /** The two bars; they take the place of the beats and the rounds while `now.own.race` is {speed, seconds}. */
  function ownSpeedPanel(box, root) {
    const row = (kind, words) => {
      const bar = h("i", { class: `is-${kind}` });
      const told = h("span", { class: "svp-own-told" });
      return { bar, told, parts: [h("span", {}, words), h("span", { class: "svp-own-track" }, bar), told] };
    };
    const [run, plain] = [row("run", "this run"), row("plain", "plain decoding")];
    const clock = h("p", { class: "svp-small" });
    const rows = h("div", { class: "svp-own-rows" }, run.parts, plain.parts);
    const panel = box.appendChild(h("div", { class: "svp-own", hidden: true }, rows, clock));

    function fill({ bar, told }, tokens, of, seconds) {
      bar.style.width = `${(100 * tokens) / of}%`;
      S.setText(told, `${S.count(tokens, "token")}${seconds === null ? "" : ` in ${S.seconds(seconds)}`}`);
    }

    return function draw({ race }) {
      root.dataset.own = race ? "1" : "";
      panel.hidden = !race;
      if (!race) return;
      const { speed, seconds } = race;
      const far = farAt(speed, seconds);
      const most = Math.max(speed.tokens, speed.plain.tokens);
      const done = (whole, all) => (whole === all.tokens ? all.seconds : null);
      fill(run, far.tokens, most, done(far.tokens, speed));
      fill(plain, far.plain, most, done(far.plain, speed.plain));
      const at = Math.min(seconds, Math.max(speed.seconds, speed.plain.seconds));
      S.setText(clock, `${S.seconds(at)} of engine time, shown ${slowWords(speed.slow)}`);
    };
  }

  return { slowdown, ownSpeed, farAt, ownWords, ownSpeedPanel };
})(SpecViz);
Object.assign(SpecViz, ownSpeed);
