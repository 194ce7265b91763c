/* When drafter and target computed, on one clock: the spans of two lanes, what they share, where they are idle, and
   what was thrown away. Pure. Seconds since the first round began, on the engine's clock.

   A drafter that takes turns with the target computes in the first phase of its round. One that works beside it says in
   `drafted.lanes` when it did; that first phase is then the target waiting for it. */
// needs: numbers
const timeline = (function (S) {
  "use strict";

  const SHOWN = 12; // rounds in one picture
  const IN_TURN = "drafter, in turn"; // the lane of a drafter that works beside the target and here was made to wait

  /** @param {trace.Round} round */
  const lanesOf = (round) => round.drafted.lanes || []; // before format 1.2 there are none
  /** @param {trace.Round[]} rounds */
  const hasLanes = (rounds) => rounds.some((round) => lanesOf(round).length > 0);

  /** Whether the drafter of these rounds worked while the target did, so that the target's waiting is no drafting.
      @param {trace.Round[]} rounds */
  const isBeside = (rounds) => rounds.some((round) => lanesOf(round).some((span) => span.lane !== IN_TURN));

  /** What a round's target did, one thing after the other from `start` on.
      @param {trace.Round} round */
  function ofTarget(round, index, start) {
    const from = start + round.drafted.seconds;
    const scored = from + round.scored.seconds;
    const judged = scored + round.judged.seconds;
    const rejects = round.judged.origin === "correction";
    return [
      { lane: "target", what: "target pass", round: index, start: from, end: scored, rejects },
      { lane: "target", what: "verdicts", round: index, start: scored, end: judged },
      { lane: "target", what: "commit", round: index, start: judged, end: judged + round.committed.seconds },
    ];
  }

  /** What its drafter did, where it takes turns: all of it before the pass, and what is not accepted is thrown away.
      @param {trace.Round} round */
  function ofDrafter(round, index, start, judged) {
    const made = S.drafts(round).length;
    const discarded = made - S.acceptedDrafts(round);
    const span = { lane: "drafter", round: index };
    const drafted = { ...span, what: "draft", start, end: start + round.drafted.seconds, tokens: made };
    return discarded > 0
      ? [drafted, { ...span, what: "roll back", start: judged, end: judged, tokens: discarded }]
      : [drafted];
  }

  /** @param {trace.Round} round */
  const ofLanes = (round, index) =>
    lanesOf(round).map(({ what, start_s: start, end_s: end, tokens, lane }) => ({
      lane: "drafter",
      name: lane,
      what,
      round: index,
      start,
      end,
      tokens,
    }));

  /** {rounds: [{start, end}], spans: [{lane, what, round, start, end, tokens?, rejects?}], end}. Rounds stand end to
      end, or where the drafter has a lane of its own at the times that they say, which are on its clock.
      @param {trace.Round[]} rounds */
  function timeline(rounds) {
    const apart = hasLanes(rounds);
    const spans = [];
    let now = 0;
    const times = rounds.map((round, index) => {
      const start = apart ? round.start_s : now;
      const target = ofTarget(round, index, start);
      now = target.at(-1).end;
      const drafter = apart ? ofLanes(round, index) : ofDrafter(round, index, start, target.at(-1).start);
      spans.push(...[...drafter, ...target].filter((span) => span.end > span.start || span.what === "roll back"));
      return { start, end: now };
    });
    return { rounds: times, spans, end: now };
  }

  /** Spans as stretches that do not overlap, in order; between `from` and `to` only. */
  function merged(spans, from, to) {
    const found = [];
    const clipped = spans
      .map((span) => [Math.max(from, span.start), Math.min(to, span.end)])
      .filter(([start, end]) => end > start)
      .sort((a, b) => a[0] - b[0]);
    for (const [start, end] of clipped) {
      const last = found.at(-1);
      if (last && start <= last[1]) last[1] = Math.max(last[1], end);
      else found.push([start, end]);
    }
    return found;
  }

  const length = (stretches) => stretches.reduce((sum, [start, end]) => sum + end - start, 0);

  /** Seconds that two lists of stretches share. */
  function shared(one, other) {
    let sum = 0;
    for (let a = 0, b = 0; a < one.length && b < other.length;) {
      sum += Math.max(0, Math.min(one[a][1], other[b][1]) - Math.max(one[a][0], other[b][0]));
      if (one[a][1] < other[b][1]) a += 1;
      else b += 1;
    }
    return sum;
  }

  /** Between two moments, in seconds: how long drafter and target computed, how long both did, and how long each lane
      was empty (`idle`). Verdicts and commits (`rest`) fill the target's lane. */
  function shares(spans, from, to) {
    const of = (...kinds) =>
      merged(
        spans.filter((span) => kinds.includes(span.what)),
        from,
        to,
      );
    const [draft, pass, rest] = [of("draft"), of("target pass"), of("verdicts", "commit")];
    const [drafter, target] = [length(draft), length(pass)];
    const busy = length(of("target pass", "verdicts", "commit"));
    return {
      seconds: to - from,
      drafter,
      target,
      rest: length(rest),
      both: shared(draft, pass),
      idle: { drafter: to - from - drafter, target: to - from - busy },
    };
  }

  const tokensOf = (spans, what) =>
    spans.filter((span) => span.what === what).reduce((sum, span) => sum + span.tokens, 0);

  /** A whole run in numbers: its shares, and how many tokens were drafted and thrown away again. */
  function timelineNumbers({ spans, end }) {
    return { ...shares(spans, 0, end), drafted: tokensOf(spans, "draft"), discarded: tokensOf(spans, "roll back") };
  }

  /** One round of it; what the drafter did is what it did between the round's start and end. */
  function roundNumbers({ rounds, spans }, index) {
    const { start, end } = rounds[index];
    const near = spans.filter((span) => span.end >= start && span.start <= end);
    const own = near.filter((span) => span.round === index);
    return { start, ...shares(near, start, end), discarded: tokensOf(own, "roll back") };
  }

  const idleFor = (seconds) => S.seconds(seconds < 1e-9 ? 0 : seconds); // what is left of rounding is nothing

  /** The run's sentence, on request in plain words; `clock` is `measured` or `modelled`. */
  function timelineWords(numbers, clock, finished = true, plain = false) {
    const { seconds, drafter, target, both, idle, drafted, discarded } = numbers;
    const head = `the run${finished ? "" : " so far"}, ${clock}: `;
    if (!(seconds > 0)) return `${head}no times are recorded`;
    const guesses = plain ? S.count(drafted, "guess", "guesses") : S.count(drafted, "drafted token");
    if (!drafted)
      return (
        `${head}${S.seconds(seconds)}. Nothing was ${plain ? "guessed" : "drafted"}; ` +
        `${plain ? "the big model" : "the target"} computed for ${S.seconds(target)}.`
      );
    const together = both > 0 ? `${S.seconds(both)} of that at the same time` : "never at the same time";
    const times = plain
      ? `Guessing took ${S.seconds(drafter)}, checking ${S.seconds(target)}, ${together}. `
      : `The drafter computed for ${S.seconds(drafter)}, the target for ` +
        `${S.seconds(target)}, ${together}; the drafter was idle for ${idleFor(idle.drafter)}, the target for ` +
        `${idleFor(idle.target)}. `;
    return (
      `${head}${S.seconds(seconds)}. ${times}` +
      `${discarded ? discarded.toLocaleString("en") : "None"} of ${guesses} ` +
      `${discarded === 1 || !discarded ? "was" : "were"} thrown away.`
    );
  }

  /** The first and the last round of the picture that holds round `current`: pages that share a round with the next one
      on either side, so that the picture stands still while one steps through it. */
  function timelineWindow(count, current) {
    const last = Math.max(0, count - SHOWN);
    const from = Math.min(last, Math.max(0, Math.floor(current / (SHOWN - 2)) * (SHOWN - 2) - 1));
    return { from, to: Math.min(count - 1, from + SHOWN - 1) };
  }

  return { hasLanes, isBeside, timeline, timelineNumbers, roundNumbers, timelineWords, timelineWindow };
})(SpecViz);
Object.assign(SpecViz, timeline);
