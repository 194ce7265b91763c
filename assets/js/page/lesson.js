/* Lessons: their list, the open lesson, and how it drives the player.
   `SpecViz.mountLearn(element, {data, load, player, live, gather, button})` is all a page needs; with `button` false no
   button opens the list, and `SpecViz.showLessons(element)` draws it as cards: `data` the resolved lessons as
   JSON text, `load(file)` what shows a recorded run in the player, `player()` the player's element, `live` false where
   no run can be made, `gather(files)` what asks for runs as text (`keep` takes them). Others reach it as
   `SpecViz.lesson`: data, open(id, beat), state(), leave(), next(), back(), subscribe(fn), whole(); a beat is counted
   from 0, `state()` is {id, beat}, or null while no lesson is open. */
// needs: address, dom, lesson_panel, lesson_state, live_checks, numbers, own_run
const lesson = (function (S) {
  "use strict";

  const ASK_AGAIN_MS = 1500;
  const { h } = S;
  const CLEAR = { guess: false, hidden: [], lit: [] };

  function mountLearn(element, options) {
    const data = JSON.parse(options.data || '{"lessons": [], "missing": []}');
    const player = options.player || (() => document.querySelector("#sv-player .sv-player"));
    const progress = S.readProgress(S.memory.get("lessons", ""));
    const recorded = new Set(data.lessons.flatMap((lesson) => Object.values(lesson.runs).map((run) => run.run_id)));
    const watchers = new Set();
    const texts = new Map(Object.entries(options.texts || {})); // file → the run as text, for an exported lesson
    let open = null; // {lesson, place, chosen, checked, ended}
    let waiting = null; // the run_id that the player does not show yet
    let unsubscribe = null;
    const own = S.ownRuns();
    const asked = new Set(); // runs that lessons showed: they fill none of the page's controls

    const learn = h("button", { type: "button", class: "sv-learn", onclick: press }, "Learn");
    if (options.button !== false) element.replaceChildren(learn);
    const panel = S.lessonPanel({ next, back, leave, choose, link: follow });

    const filesOf = (lesson) => [...new Set(Object.values(lesson.runs).map((run) => run.file))];
    const handle = () => player()?.specviz;
    const beat = () => open.lesson.beats[open.place];

    function press() {
      if (open && !panel.box.getClientRects().length) return showPlayer("start");
      const dialog = (element.closest(".gradio-container") || document.body).appendChild(
        S.lessonList(data, progress, (id, place) => {
          dialog.close();
          start(id, place);
        }),
      );
      dialog.showModal();
    }

    /** Begin a lesson at a beat (from 0); false where there is no such lesson. */
    function start(id, place = 0) {
      const lesson = data.lessons.find((one) => one.id === id);
      if (!lesson || !handle()) return false;
      const files = filesOf(lesson).filter((file) => !texts.has(file));
      if (files.length && options.gather) options.gather(files);
      if (handle().trace && !asked.has(handle().trace.started.run_id)) own.fill(handle().trace.started);
      if (unsubscribe) unsubscribe();
      player().prepend(panel.box);
      unsubscribe = handle().subscribe(arrived);
      open = { lesson, fresh: true };
      show(Math.max(0, Math.min(Math.trunc(place) || 0, lesson.beats.length - 1)));
      showPlayer("start"); // at the window's top, so that play is in it
      panel.focus();
      return true;
    }

    function leave() {
      if (!open) return;
      open = null;
      waiting = null;
      unsubscribe();
      unsubscribe = null;
      panel.box.remove();
      handle()?.set(CLEAR);
      const left = learn.isConnected ? learn : document.querySelector("[role=tab][aria-selected=true]");
      left?.focus({ preventScroll: true });
      tell();
    }

    function show(place) {
      const fresh = { chosen: null, typed: "", checked: false, asking: false, ended: false, good: false, live: "" };
      Object.assign(open, { place, ...fresh });
      remember({ beat: place, done: !!progress[open.lesson.id]?.done });
      const now = beat();
      handle().set(now.live ? CLEAR : { guess: now.guess, hidden: now.hidden, lit: now.lit });
      if (now.live) {
        waiting = null;
        look();
      } else stand(now.at);
      draw();
    }

    /** Move the player to a place of the beat's run; load that run first where another is shown. */
    function stand(at) {
      const run = open.lesson.runs[beat().run];
      const trace = handle().trace;
      if (trace && trace.started.run_id === run.run_id) {
        waiting = null;
        handle().go(S.lessonCursor(trace, at), true, at.node);
      } else if (waiting !== run.run_id) {
        waiting = run.run_id;
        ask(run);
      }
    }

    /** Ask for a run until it is there: a page drops a request that comes while an earlier one is under way. */
    function ask(run) {
      asked.add(run.run_id);
      options.load(run.file);
      setTimeout(() => {
        if (open && waiting === run.run_id) ask(run);
      }, ASK_AGAIN_MS);
    }

    /** The player has drawn: perhaps the run that was waited for, perhaps one of the visitor's own. */
    function arrived() {
      if (!open || open.ended) return;
      const trace = handle().trace;
      if (waiting && trace && trace.started.run_id === waiting) {
        waiting = null;
        stand(beat().at);
        draw();
        if (open.fresh) requestAnimationFrame(() => showPlayer("start")); // what stands above has grown meanwhile
        open.fresh = false;
      } else if (beat().live) look();
    }

    function look() {
      const trace = handle().trace;
      const mine = trace && trace.finished && trace.rounds.length && !recorded.has(trace.started.run_id);
      const before = open.live;
      if (options.live === false) open.live = "This exercise needs the page with its engine; skip it here.";
      else if (!mine) open.live = "Waiting for a run of yours.";
      else if (!own.changed(trace.started)) open.live = S.SAME_AS_BEFORE;
      else {
        const { done, said } = S.LIVE_CHECKS[beat().live.check](trace);
        open.good = open.good || done;
        open.live = `Your run: ${said} ${done ? "Done." : "Not yet: try other settings."}`;
        if (done) right();
      }
      if (open.live !== before) draw();
    }

    /** Go on. `gives`: where nobody has answered, show the answer; else only say that one is wanted. Hands that a class
        has shown are counted first. */
    function next(gives = true) {
      if (handle()?.guessCounted) return handle().run("guessOn");
      if (open.ended) {
        const following = followingLesson();
        return following ? start(following.id, 0) : leave();
      }
      if (beat().question && !open.checked) {
        open.asking = true;
        return gives || open.chosen !== null ? check() : draw();
      }
      if (open.place + 1 < open.lesson.beats.length) return turn(open.place + 1);
      remember({ beat: 0, done: true });
      open.ended = true;
      handle().set(CLEAR);
      draw();
      panel.focus();
    }

    function back() {
      if (open.ended) return turn(open.lesson.beats.length - 1);
      if (open.place > 0) turn(open.place - 1);
    }

    function turn(place) {
      const inside = panel.box.contains(document.activeElement) && document.activeElement.matches("input");
      show(place);
      if (inside) panel.focus();
      panel.box.scrollIntoView({ block: "nearest" });
    }

    function choose(place) {
      if (!beat().question || open.checked || open.ended || place >= beat().question.choices.length) return;
      open.chosen = place;
      draw();
    }

    function type(key) {
      if (open.checked || open.ended) return;
      const { place, typed } = S.chosenBy(beat().question.choices, open.typed, key);
      open.typed = typed;
      if (place !== null) choose(place);
    }

    function check() {
      const now = beat();
      open.checked = true;
      open.good = open.chosen !== null && now.question.choices[open.chosen].right;
      if (open.good) right();
      if (now.guess) {
        handle().set({ guess: false });
        if (!waiting) stand(S.revealed(now.at));
      }
      draw();
    }

    function right() {
      const known = progress[open.lesson.id].right;
      remember({ right: known.includes(open.place) ? known : [...known, open.place] });
    }

    function remember(changes) {
      progress[open.lesson.id] = { beat: 0, done: false, right: [], ...progress[open.lesson.id], ...changes };
      S.memory.set("lessons", JSON.stringify(progress));
    }

    const followingLesson = () => data.lessons[data.lessons.indexOf(open.lesson) + 1];

    function draw() {
      if (open.ended) {
        const all = S.exercises(open.lesson);
        const solved = all.filter((place) => progress[open.lesson.id].right.includes(place)).length;
        open.score = `${open.lesson.goal} You solved ${solved} of ${S.count(all.length, "exercise")}.`;
      }
      const tabs = !!document.querySelector("[role=tab]"); // a page that stands alone has none
      panel.draw({ ...open, beat: beat(), waiting, tabs, following: followingLesson() });
      tell();
    }

    function tell() {
      S.setText(learn, open ? "Lesson" : "Learn");
      for (const watcher of watchers) watcher(state());
    }

    const state = () => (open ? { id: open.lesson.id, beat: open.place } : null);

    function follow() {
      S.openTab(beat().link.tab);
    }

    function showPlayer(block = "nearest") {
      if (player().getClientRects().length) return panel.box.scrollIntoView({ block });
      S.openTab("Watch");
      requestAnimationFrame(() => {
        panel.box.scrollIntoView({ block });
        panel.focus(); // which only what is shown can take
      });
    }

    /** The lessons as cards in `place`, kept up with what the visitor has done. */
    function cards(place) {
      const draw = () => place.replaceChildren(...S.lessonRows(data, progress, start));
      watchers.add(draw);
      draw();
    }

    document.addEventListener(
      "keydown",
      (event) => {
        if (!open || event.defaultPrevented || !panel.box.getClientRects().length) return;
        if (document.querySelector("dialog[open]")) return;
        const command = S.lessonCommand(event, event.target instanceof Element ? event.target : null);
        const asks = beat().question && !open.checked && !open.ended;
        if (!command || (command.does === "choose" && !asks)) return;
        event.preventDefault();
        event.stopPropagation(); // or the player would step, too
        if (command.does === "next") next(command.gives);
        else if (command.does === "back") back();
        else type(command.typed);
      },
      true,
    );

    /** Texts of runs arrived: {"texts": {file: text}}. */
    function keep(value) {
      for (const [file, text] of Object.entries(JSON.parse(value || "{}").texts || {})) texts.set(file, text);
    }

    S.lesson = {
      data,
      keep,
      cards,
      /** The open lesson with all its runs, for a file that plays it alone; null without one or before they came. */
      whole() {
        const files = open ? filesOf(open.lesson) : [];
        if (!open || files.some((file) => !texts.has(file))) return null;
        return {
          data: { lessons: [open.lesson], missing: [] },
          texts: Object.fromEntries(files.map((file) => [file, texts.get(file)])),
          ...state(),
        };
      },
      open: start,
      leave,
      next: () => open && next(),
      back: () => open && back(),
      state,
      subscribe(watcher) {
        watchers.add(watcher);
        return () => watchers.delete(watcher);
      },
    };
    if (waitingPlace) cards(waitingPlace);
    return S.lesson;
  }

  let waitingPlace = null;

  /** Draw the lessons as cards in `place`, as soon as they are mounted. */
  function showLessons(place) {
    if (S.lesson) S.lesson.cards(place);
    else waitingPlace = place;
  }

  /** In a page that stands alone: play a lesson that `whole()` gave, or `lesson_file` of specviz/lessons. */
  function playLesson(player, lesson) {
    const root = document.querySelector(".sv-player");
    const place = root.parentElement.insertBefore(h("div", { class: "sv-learn-box" }), root);
    S.mountLearn(place, {
      data: JSON.stringify(lesson.data),
      texts: lesson.texts,
      load: (file) => player.load(lesson.texts[file]),
      player: () => root,
      live: false,
    });
    S.lesson.open(lesson.id, lesson.beat);
  }

  return { mountLearn, showLessons, playLesson };
})(SpecViz);
Object.assign(SpecViz, lesson);
