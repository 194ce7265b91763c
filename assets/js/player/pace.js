/* How long a beat stands while the run plays by itself: as long as its sentence takes to be read, hurried where a whole
   round would take too long. */
// needs: nothing
const pace = (function () {
  "use strict";

  const BEAT_MS = 700; // to see what has changed
  const WORD_MS = 240; // 250 words a minute
  const ROUND_MS = 10_000; // what a round takes at most at 1×; who wants to read all of it steps by keys
  const LIVE_MS = 300; // how often to look for a beat that is still being computed

  /** Pure: milliseconds for a beat with this caption at a speed, unhurried. */
  const dwell = (caption, speed) => (BEAT_MS + WORD_MS * String(caption).split(/\s+/).filter(Boolean).length) / speed;

  /** Pure: the share of its time that each beat of a round with these captions gets, 1 where the round is short. */
  const hurry = (captions) => Math.min(1, ROUND_MS / captions.reduce((sum, one) => sum + dwell(one, 1), 0));

  /** A clock that calls `next()` when the beat on the screen has stood long enough. `next` says whether it moved, and
      null where the run is over. `caption()` is the sentence on the screen, `captions()` all of its round, and
      `speed()` how fast to go. */
  function pacer({ next, caption, captions, speed, ended }) {
    let timer = 0;
    const wait = (moved) => {
      timer = setTimeout(
        () => {
          const result = next();
          if (result === null) ended();
          else wait(result);
        },
        moved ? dwell(caption(), speed()) * hurry(captions()) : LIVE_MS,
      );
    };
    return {
      start() {
        clearTimeout(timer);
        wait(true);
      },
      stop() {
        clearTimeout(timer);
        timer = 0;
      },
    };
  }

  return { dwell, hurry, pacer };
})();
Object.assign(SpecViz, pace);
