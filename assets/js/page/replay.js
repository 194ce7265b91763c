/* A recorded race as a function of engine time: who has written what, who has finished, where the next token falls.
   Pure. A race is what specviz/app/race/view.py makes of it: per runner `segments`
   [start, end, phase, round], `arrivals` [time, text, origin] and `finish_s`, all in seconds of the runner's
   engine clock; of a drafter that works beside the target `lanes`, [start, end, draft or roll back, round, tokens], and
   then no segment is drafting. */
// needs: numbers
const replay = (function (S) {
  "use strict";

  const PACES = [
    { rate: 1, name: "real time" },
    { rate: 1 / 4, name: "1/4" },
    { rate: 1 / 10, name: "1/10" },
    { rate: 1 / 50, name: "1/50" },
  ];
  const WORTH_WATCHING_S = 4;
  const DOING = { draft: "drafting", target: "target pass", judge: "verdicts", commit: "committing" };

  /** How many of a runner's tokens are there at engine time `t`. */
  function written(runner, t) {
    let low = 0;
    let high = runner.arrivals.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (runner.arrivals[middle][0] <= t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  const finished = (runner, t) => t >= runner.finish_s;

  const lanesOf = (runner) => runner.lanes || [];

  /** What a runner is doing at engine time `t`; null once it has finished. */
  function doing(runner, t) {
    if (finished(runner, t)) return null;
    const at = (spans) => spans.find(([start, end]) => start <= t && t < end);
    const busy = [at(lanesOf(runner)), at(runner.segments)].filter(Boolean);
    return busy.length ? busy.map(([, , phase]) => DOING[phase]).join(" and ") : "waiting";
  }

  /** Place in the order of finishing, from 1; equal times share a place. */
  const placeOf = (race, runner) => 1 + race.runners.filter((other) => other.finish_s < runner.finish_s).length;

  /** The moments worth stopping at: the start, every commit of anyone, the end. */
  function moments(race) {
    const times = race.runners.flatMap((runner) => runner.arrivals.map(([time]) => time));
    return [...new Set([0, ...times, race.longest_s])].sort((a, b) => a - b);
  }

  /** The next (by = 1) or previous (-1) moment; the ends hold. */
  function neighbour(times, t, by) {
    if (by > 0) return times.find((time) => time > t) ?? times[times.length - 1];
    return times.findLast((time) => time < t) ?? times[0];
  }

  /** The fastest pace at which the whole race lasts long enough to be seen. */
  const paceFor = (race) =>
    PACES.find((pace) => race.longest_s / pace.rate >= WORTH_WATCHING_S) || PACES[PACES.length - 1];

  /** The outlines of all spans of some phases as one path, `scale` pixels per second. */
  function lanePath(runner, phases, scale, top, height) {
    return [...runner.segments, ...lanesOf(runner)]
      .filter(([, , phase]) => phases.includes(phase))
      .map(
        ([start, end]) =>
          `M${(start * scale).toFixed(2)} ` +
          `${top}h${((end - start) * scale).toFixed(2)}v${height}h${((start - end) * scale).toFixed(2)}z`,
      )
      .join("");
  }

  /** Crosses of `size` pixels around `middle` where drafted tokens were thrown away. */
  function crossPath(runner, scale, middle, size) {
    const half = size / 2;
    return lanesOf(runner)
      .filter(([, , what]) => what === "roll back")
      .map(([at]) => {
        const left = (at * scale - half).toFixed(2);
        return `M${left} ${middle - half}l${size} ${size}m0 ${-size}l${-size} ${size}`;
      })
      .join("");
  }

  /** One sentence for engine time `t`: who has finished, in their order. */
  function standing(race, t) {
    const home = race.runners.filter((runner) => finished(runner, t)).sort((a, b) => a.finish_s - b.finish_s);
    if (!home.length) return "Nobody has finished yet.";
    const names = home.map((runner) => `${runner.label} at ${S.seconds(runner.finish_s)}`);
    return `${home.length === race.runners.length ? "All have finished" : "Finished"}: ${names.join(", ")}.`;
  }

  /** What a key does to a replay, if anything. */
  function raceCommand(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return null;
    const far = event.shiftKey;
    return (
      {
        " ": far ? null : "play",
        ArrowRight: far ? "leap" : "next",
        ArrowLeft: far ? "leapBack" : "previous",
        PageDown: "leap", // a presenter's remote
        PageUp: "leapBack",
        Home: "start",
        End: "end",
      }[event.key] ?? null
    );
  }

  return {
    PACES,
    written,
    raceFinished: finished,
    doing,
    placeOf,
    moments,
    neighbour,
    paceFor,
    lanePath,
    crossPath,
    standing,
    raceCommand,
  };
})(SpecViz);
Object.assign(SpecViz, replay);
