/* The player: one cursor and one selection over a trace, and panels that draw them.
   `SpecViz.mount(element, props, watch, branch)` is all a page needs; `props.value` is the trace as JSON text, whole or
   still growing (`finished` null, every round so far). Nothing here asks a server to step. Whoever drives a player
   (a lesson, a link, an embedding page) finds its handle as `element.querySelector(".sv-player").specviz`. */
// needs: address, by_itself, caption, card, columns, counters, dom, exhibits, found, guess, headline, keys, lanes
// needs: light, moment, own_speed, pace, pass_rows, picture, present, rejudge, rejudging, run_cache, share, state
// needs: text, timeline_panel, transport, tree, words
const specviz = (function (S) {
  "use strict";

  const { h, END } = S;
  const MOTION_MS = 600;
  let players = 0;
  let active = null; // the player that the keys belong to

  function mount(element, props, watch, branch) {
    const root = element.querySelector(".sv-player") || element.appendChild(h("div", { class: "sv-player" }));
    const own = {
      id: (players += 1),
      trace: null,
      cursor: { round: 0, beat: 0 },
      selected: 0,
      cited: null,
      following: false,
      playing: false,
      speed: 1,
      source: "",
      labels: null,
      moved: null,
      guess: false, // whether verdicts are kept back until they are guessed
      hidden: [], // areas that are not shown, by name: "card", "counters", …
      lit: [], // areas that are pointed at
      found: null, // rounds to step through: {words, rounds}
      view: "", // "present" while the player fills the window
      alone: false, // while it moves without being asked, or stands where that has ended
      race: null, // the whole run at its own speed: {speed, seconds}
    };
    const watchers = new Set(); // called after each drawing
    const panels = [];
    const stage = h("div", { class: "svp" });
    const empty = h("p", { class: "svp-empty" }, "No run to show yet.");
    const help = S.helpDialog();
    root.append(empty, stage, help);

    const area = (name, attributes = {}) => stage.appendChild(h("section", { class: `svp-${name}`, ...attributes }));
    const now = () => S.moment(own);
    const act = {
      now,
      go,
      select,
      visit,
      run,
      speed,
      draw,
      cite,
      rejudge,
      set,
      say: (text) => told.announce(text),
      name: (nodes) => tree.name(nodes),
      branch: branch ? (token) => branch({ round: own.cursor.round, node: own.selected, token }) : null,
    };
    const badge = props.badge ? area("badge", { "aria-label": "where this run comes from" }) : null;
    const strip = area("text", { "aria-label": "text" });
    const text = S.textPanel(strip, act);
    // in the order of the eye, which is that of Tab: what happens, play, the tree, the card
    const caption = area("caption", { "aria-label": "what happens" });
    const told = S.captionPanel(caption);
    const transport = area("transport", { "aria-label": "transport" });
    const tree = S.treePanel(area("draft", { "aria-label": "draft tree" }), act);
    const card = area("card", { "aria-label": "selected node" });
    panels.push(
      tree.draw,
      text,
      S.picturePanel(strip),
      S.cardPanel(card, act),
      S.columnsPanel(card, act),
      S.rejudgePanel(card, act),
    );
    const bars = S.ownSpeedPanel(transport, root);
    panels.push(S.transportPanel(transport, act), S.foundPanel(transport, act), bars);
    panels.push(S.exhibitsPanel(area("exhibits", { "aria-label": "what the drafter knew" }), act));
    const costs = area("costs", { "aria-label": "what it cost" });
    const cell = (name) => costs.appendChild(h("div", { class: `svp-${name}` }));
    panels.push(S.cachePanel(cell("cache"), act), S.timePanel(cell("timing")), S.timelinePanel(cell("timeline"), act));
    const more = cell("more");
    panels.push(S.passPanel(more, act), S.runCachePanel(more, act));
    panels.push(S.countersPanel(area("counters", { "aria-label": "counters of the run" }), act));
    const note = h("span", { class: "svp-small" });
    area("tools").append(
      S.shareMenu({ now, source: () => own.source, root, say }),
      h("button", { type: "button", class: "svp-link", onclick: () => run("help") }, "keys"),
      note,
    );

    panels.push(S.guessPanel(stage, act));

    function draw() {
      const there = !!own.trace && own.trace.rounds.length > 0;
      empty.hidden = there;
      stage.hidden = !there;
      if (there) {
        const moment = now();
        root.dataset.phase = moment.at.phase;
        root.dataset.round = own.cursor.round;
        // Caption and tree read their width before anything is written, what scrolls does so last: one layout per step.
        const wide = caption.clientWidth;
        const scrolls = panels.map((panel) => panel(moment));
        const rounds = own.trace.rounds.length;
        const sentence = own.race
          ? S.ownWords(own.race.speed)
          : S.guessCaption(own) || S.caption(own.trace, moment.round, moment.labels, moment.at);
        const head = `Round ${own.cursor.round + 1} of ${rounds}${own.trace.finished ? "" : " so far"}`;
        told.draw(own.trace, head, sentence, wide, own.alone); // nobody is told what nobody asked for
        for (const scroll of scrolls) if (scroll) scroll();
      }
      root.dataset.ready = "1";
      for (const watcher of watchers) watcher(handle);
    }

    let resting = 0;
    function move() {
      root.dataset.motion = "1";
      clearTimeout(resting);
      resting = setTimeout(() => delete root.dataset.motion, MOTION_MS);
    }

    /** Go to a moment; the selection follows what happens there. `motion` is false while scrubbing. */
    function go(cursor, motion = true, node = null) {
      if (!own.trace || !own.trace.rounds.length) return;
      own.cited = null;
      own.cursor = S.clamp(own.trace, { round: cursor.round, beat: cursor.beat === Infinity ? 1e6 : cursor.beat });
      const round = own.trace.rounds[own.cursor.round];
      own.selected = node ?? S.subject(round, S.view(round, own.cursor.beat));
      own.following = !own.trace.finished && own.cursor.round === own.trace.rounds.length - 1;
      if (motion) move();
      draw();
    }

    /** Choose a node; where it was `tapped`, its card comes into view. */
    function select(id, tapped = false) {
      own.selected = id;
      draw();
      if (tapped && own.view !== "present") card.scrollIntoView({ block: "nearest" });
    }

    /** Show a place of the text that something was taken from: {position, count} in tokens. */
    function cite(place) {
      own.cited = place;
      draw();
    }

    /** Judge rounds again under other settings; the recorded ones are none. */
    function rejudge(settings) {
      own.moved = settings && !S.sameSettings(settings, S.recorded(own.trace)) ? settings : null;
      draw();
    }

    /** From a token in the text to the verdict that put it there. */
    function visit(index, node) {
      const round = own.trace.rounds[index];
      if (index === own.cursor.round) return select(node);
      const beats = S.beats(round);
      const tried = beats.findIndex(
        (beat) => beat.trial !== undefined && round.judged.trials[beat.trial].node === node,
      );
      // A rule that judges whole paths tries no node inside one: what put those there is the end of the round.
      const at = tried >= 0 ? tried : beats.findIndex((beat) => beat.drawn);
      go({ round: index, beat: at }, true, node);
    }

    const pace = S.pacer({
      caption: () => caption.lastChild.textContent,
      captions: () => S.sentences(own.trace, own.cursor.round),
      speed: () => own.speed,
      next: () => {
        const next = S.step(own.trace, own.cursor, 1);
        if (next === own.cursor) return own.trace.finished ? null : false;
        go(next);
        return true;
      },
      ended: () => {
        play(false);
        draw();
      },
    });

    const alone = S.byItself({
      root,
      own,
      caption: () => caption.lastChild.textContent,
      go,
      draw,
      race: () => bars({ race: own.race }),
    });

    function play(on) {
      own.playing = on;
      if (on) pace.start();
      else pace.stop();
    }

    function speed() {
      own.speed = S.SPEEDS[(S.SPEEDS.indexOf(own.speed) + 1) % S.SPEEDS.length];
      if (own.playing) play(true);
      draw();
    }

    function run(name) {
      active = own;
      if (name === "help") return help.open ? help.close() : help.showModal();
      if (!own.trace || !own.trace.rounds.length) return;
      if (alone.stop() && name === "play") return draw(); // a pause
      if (name === "ownSpeed") return ownSpeed();
      if (name === "fit") return tree.fit();
      if (name === "present") return set({ view: own.view === "present" ? "" : "present" });
      if (S.guessRun(own, name, act)) return;
      if (name === "play") {
        if (!own.playing && S.step(own.trace, own.cursor, 1) === own.cursor) go({ round: 0, beat: 0 });
        play(!own.playing);
        return draw();
      }
      play(false);
      const found = S.jump(own.trace, own.cursor, name);
      if (found) go(found);
      else say(`no ${name.startsWith("next") ? "later" : "earlier"} ${name.endsWith("Bonus") ? "bonus" : "rejection"}`);
    }

    function ownSpeed() {
      play(false);
      if (own.guess || !alone.race()) say("no plain decoding was timed beside this run");
    }

    function say(text) {
      S.setText(note, text);
      told.announce(text);
      setTimeout(() => {
        if (note.textContent === text) S.setText(note, "");
      }, 3000);
    }

    /** What a screen around the player may change of how it shows: any of {guess, hidden, lit, found, view}. */
    function set(changes) {
      Object.assign(own, changes);
      if (own.guess) play(false);
      root.dataset.guess = own.guess ? "1" : "";
      root.dataset.hidden = own.hidden.join(" ");
      root.dataset.lit = own.lit.join(" ");
      present.set(own.view === "present");
      draw();
    }

    /** Calls `watcher(handle)` after each drawing; returns what ends that. */
    function subscribe(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    }

    /** A new text arrived: another run, or the same one grown. */
    function load(source = props.value || "") {
      if (source === own.source) return;
      alone.stop();
      const before = own.trace;
      own.source = source;
      own.trace = source ? JSON.parse(source) : null;
      own.labels = null;
      if (!own.trace || !own.trace.rounds.length) {
        play(false);
        return draw();
      }
      if (badge) badge.replaceChildren(...S.provenanceRow(own.trace.started), S.lightButton());
      const same =
        before &&
        before.rounds.length &&
        before.started.run_id === own.trace.started.run_id &&
        before.rounds.length <= own.trace.rounds.length;
      const asked = S.momentOf(own.trace, !before);
      if (!asked && same && !own.following) return go(own.cursor, false, own.selected);
      const start =
        asked ||
        (own.trace.finished && !same
          ? { round: 0, beat: 0, node: null }
          : { round: own.trace.rounds.length - 1, beat: Infinity, node: null });
      if (!same) {
        play(false);
        own.moved = null;
        own.found = null;
      }
      const exists = start.node === END || own.trace.rounds[S.clamp(own.trace, start).round].nodes[start.node];
      go(start, false, exists ? start.node : null);
    }

    const present = S.presenter(root, () => own.trace && draw());
    own.run = run;
    own.visible = () => root.getClientRects().length > 0;
    root.addEventListener("pointerdown", () => {
      active = own;
    });
    document.addEventListener("keydown", (event) => {
      if (!root.isConnected || !own.visible() || event.defaultPrevented || S.taken(event)) return;
      if (active && active !== own && active.visible()) return;
      const name = S.guessKey(own, event) || S.command(event, own.view === "present");
      if (!name) return;
      event.preventDefault();
      run(name);
    });
    const asked =
      (does) =>
      (...given) => {
        alone.stop();
        return does(...given);
      };
    const handle = {
      root,
      go: asked(go),
      run,
      select: asked(select),
      set: asked(set),
      subscribe,
      load,
      get trace() {
        return own.trace;
      },
      get cursor() {
        return own.cursor;
      },
      get selected() {
        return own.selected;
      },
      get guessScore() {
        return S.guessScore(own);
      },
      get guessCounted() {
        return S.guessCounted(own);
      },
      get view() {
        return own.view;
      },
      get alone() {
        return own.alone;
      },
    };
    root.specviz = handle;
    if (watch) watch("value", () => load());
    const compact = props.compact || new URLSearchParams(location.search).has("embed");
    root.dataset.compact = compact ? "1" : "";
    load();
    set({ view: S.asksToPresent(location.search) ? "present" : "" });
    S.headline(root, handle);
    S.follow(handle);
    const { search, hash, href } = location;
    const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const embedded = compact || href === "about:srcdoc"; // a notebook's frame
    if (S.mayBegin({ first: own.id === 1, embedded, reduced, search, hash })) alone.open();
    return handle;
  }

  return { mount };
})(SpecViz);
Object.assign(SpecViz, specviz);
