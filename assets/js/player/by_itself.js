/* What moves without being asked: on opening, one round that pays and then the whole run at its own speed; and that run
   again when it is asked for. Any key, press or touch takes over at once. */
// needs: address, caption, keys, own_speed, pace, state
const byItself = (function (S) {
  "use strict";

  const TICK_MS = 40;

  /** Pure: whether a player may begin to move: the first of a page that was opened as it is, not embedded, not at a
      moment that somebody chose, and for nobody who wants less motion. */
  const mayBegin = ({ first, embedded, reduced, search, hash }) =>
    first && !embedded && !reduced && !Object.keys(S.readAddress(search, hash)).length;

  /** Pure: the first of the rounds that add the most tokens; null where none adds more than plain decoding would.
      @param {trace.Trace} trace */
  function winningRound(trace) {
    const added = trace.rounds.map((round) => round.committed.tokens.length);
    const most = Math.max(...added);
    return most > 1 ? added.indexOf(most) : null;
  }

  /** Play and Space pause it themselves (`run`); everything else ends it before it does what it always does. */
  function pauses(event) {
    if (event.key) return event.key === " " && !S.taken(event);
    return event.target instanceof Element && !!event.target.closest(".svp-btn.is-play");
  }

  /** Plays the round that the player stands in, to its last beat; then `ended`. */
  const roundPacer = ({ own, caption, go }, ended) =>
    S.pacer({
      caption,
      captions: () => S.sentences(own.trace, own.cursor.round),
      speed: () => 1,
      next: () => {
        if (own.cursor.beat >= S.lastBeat(own.trace.rounds[own.cursor.round])) return null;
        go({ ...own.cursor, beat: own.cursor.beat + 1 });
        return true;
      },
      ended,
    });

  /** Does it once, as soon as the element is in sight; the observer that waits for that. */
  function onceInSight(element, does) {
    const watching = new IntersectionObserver(([seen]) => {
      if (!seen.isIntersecting) return;
      watching.disconnect();
      does();
    });
    watching.observe(element);
    return watching;
  }

  /** `player`: {root, own, caption(), go(cursor), draw(), race(draws the bars alone)}. `own.alone` is set from its
      beginning until somebody takes over, `own.playing` while it moves; `data-alone` of the root says what it is at. */
  function byItself(player) {
    const { own } = player;
    let timer = 0;
    let watching = null;

    const pace = roundPacer(player, () => race() || park());

    const at = (what) => (player.root.dataset.alone = what);

    function begin() {
      own.alone = own.playing = true;
      document.addEventListener("keydown", takeOver, true);
      document.addEventListener("pointerdown", takeOver, true);
    }

    /** On opening: the round that pays, once the player is in sight. */
    function open() {
      const round = own.trace && own.trace.finished ? winningRound(own.trace) : null;
      if (round === null || !globalThis.IntersectionObserver) return;
      begin();
      player.go({ round, beat: 0 });
      watching = onceInSight(player.root, () => {
        at("round");
        pace.start();
      });
    }

    /** The whole run at its own speed; false where no plain decoding was timed beside it. */
    function race() {
      const speed = S.ownSpeed(own.trace);
      if (!speed) return false;
      const start = Date.now();
      if (!own.alone) begin();
      at("run");
      own.race = { speed, seconds: 0 };
      player.go({ round: 0, beat: 0 });
      tick(speed, start, -1);
      return true;
    }

    /** Show what is there by now; `shown` is the round that was shown last. */
    function tick(speed, start, shown) {
      own.race.seconds = (Date.now() - start) / 1000 / speed.slow;
      const far = S.farAt(speed, own.race.seconds);
      if (far.round > shown) player.go({ round: far.round, beat: Infinity });
      player.race();
      if (far.over) park();
      else timer = setTimeout(() => tick(speed, start, Math.max(shown, far.round)), TICK_MS);
    }

    function park() {
      at("rest");
      own.playing = false;
      player.draw();
    }

    /** Ends it; whether it moved until now. */
    function stop() {
      if (!own.alone) return false;
      const moved = own.playing;
      clearTimeout(timer);
      pace.stop();
      if (watching) watching.disconnect();
      document.removeEventListener("keydown", takeOver, true);
      document.removeEventListener("pointerdown", takeOver, true);
      at("");
      own.alone = own.playing = false;
      own.race = null;
      return moved;
    }

    function takeOver(event) {
      if (own.playing && pauses(event)) return;
      stop();
      player.draw();
    }

    return { open, race, stop };
  }

  return { mayBegin, winningRound, byItself };
})(SpecViz);
Object.assign(SpecViz, byItself);
