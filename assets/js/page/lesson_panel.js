/* The panel of an open lesson: one beat's text, its question or exercise, back and next. Draws; decides nothing.
   `shown` is what lesson.js knows of the open lesson; `act` are {next, back, leave, choose, link, solved}. */
// needs: cheap_panel, clocks, dom, exercises, lesson_state, numbers, own_run, rule_editor, touch, wording
const lessonPanel = (function (S) {
  "use strict";

  const { h } = S;
  const HINT = "Space or PageDown goes on, PageUp back";
  const ANSWER_FIRST = "Choose an answer by its letter or with a click, or press “Show the answer”.";

  /** A title, question or choice of a lesson or of one of its beats, in the words that were chosen. */
  const labelOf = ({ plain_words: words }, text) => (S.isPlain() ? (words[text] ?? text) : text);

  /** A lesson's title and goal, in the words that were chosen. */
  const inPlace = (lesson) => ({ title: labelOf(lesson, lesson.title), goal: labelOf(lesson, lesson.goal) });

  function nextWords(shown) {
    if (shown.ended) return shown.following ? `Next lesson: ${inPlace(shown.following).title}` : "Leave";
    if (shown.beat.question && !shown.checked) return shown.chosen === null ? "Show the answer" : "Check";
    if ((shown.beat.live || shown.beat.write?.task) && !shown.good) return "Skip";
    return shown.place + 1 === shown.lesson.beats.length ? "Finish" : "Next";
  }

  function verdictOf(shown) {
    const { beat, checked, chosen } = shown;
    if (shown.waiting) return "Loading the run of this beat …";
    if (beat.live) return shown.live;
    if (beat.question && !checked && chosen === null && shown.asking) return ANSWER_FIRST;
    if (!beat.question || !checked) return "";
    const start = chosen === null ? "" : beat.question.choices[chosen].right ? "Right. " : "Not quite. ";
    const why = S.isPlain() ? beat.question.plain : beat.question.why;
    return start + why.replace(/[\u2068\u2069]/g, "");
  }

  /** A question as a field of choices; `choose(index)` takes one. */
  function question(beat, choose) {
    const asks = beat.question;
    const choices = asks.choices.map((choice, index) =>
      h(
        "label",
        { class: "svl-choice" },
        h("input", { type: "radio", name: "svl-answer", value: index, onchange: () => choose(index) }),
        h("span", { class: "svl-number", "aria-hidden": "true" }, S.LETTERS_OF_ANSWERS[index]),
        h("span", { class: "svl-words" }, ...S.sentence(labelOf(beat, choice.text))),
        h("span", { class: "svl-mark", role: "img" }),
      ),
    );
    const short = asks.choices.every((choice) => choice.text.length < 8);
    const box = h("div", { class: short ? "svl-choices is-short" : "svl-choices" }, choices);
    return [h("fieldset", { class: "svl-question" }, h("legend", {}, ...S.sentence(labelOf(beat, asks.ask))), box)];
  }

  /** Shows in `asked` which choice was taken and, once it is checked, which is right. */
  function mark(asked, asks, shown) {
    [...asked.querySelectorAll(".svl-choice")].forEach((label, index) => {
      const input = label.querySelector("input");
      input.checked = shown.chosen === index;
      input.disabled = shown.checked;
      const right = asks.choices[index].right;
      const state = !shown.checked ? "" : right ? " is-right" : index === shown.chosen ? " is-wrong" : "";
      S.set(label, "class", `svl-choice${state}`);
      const [sign, words] = { " is-right": ["✓", "right"], " is-wrong": ["✗", "not right"] }[state] || ["", ""];
      S.setText(label.querySelector(".svl-mark"), sign);
      S.set(label.querySelector(".svl-mark"), "aria-label", words);
    });
  }

  /** What an exercise asks for, with the prompt and Run. */
  function live(beat) {
    return [h("p", { class: "svl-live" }, labelOf(beat, beat.live.ask)), ...S.ownRunBox()];
  }

  /** The editor of rules, one for all beats; `begin(write)` gives its element, begun anew. */
  function lessonEditor(act) {
    const place = h("div", { class: "sv-rule" });
    let editor = null;
    return {
      begin(write) {
        editor = editor || S.mountRule(place, act.solved);
        editor.begin(write);
        return place;
      },
    };
  }

  const EXHIBITS = {
    overlap: () => S.touchPanel().box,
    clocks: () => S.clocksPanel().box,
    cheap: () => S.cheapPanel().box,
  };

  /** What stands beside a beat's text: its question, its exercise, what can be touched. */
  const beside = (beat, act, editor) => [
    ...(beat.question ? question(beat, act.choose) : beat.live ? live(beat) : []),
    ...(beat.touch ? [EXHIBITS[beat.touch]()] : []),
    ...(beat.write ? [editor.begin(beat.write)] : []),
  ];

  function lessonPanel(act) {
    const button = (words, does, extra = {}) =>
      h("button", { type: "button", class: "svl-btn", onclick: does, ...extra }, words);
    const where = h("span", { class: "svl-where" });
    const done = h("i");
    const bar = h("span", { class: "svl-progress", "aria-hidden": "true" }, done);
    const title = h("h3", { class: "svl-title", tabindex: "-1" });
    const text = h("p", { class: "svl-text" });
    const said = h("div", { class: "svl-said", "aria-live": "polite" }, title, text);
    const asked = h("div", { class: "svl-asked" });
    const verdict = h("p", { class: "svl-verdict", role: "status" });
    const next = button("Next", act.next, { class: "svl-btn is-next", title: HINT });
    const back = button("Back", act.back);
    const link = h("button", { type: "button", class: "svl-link", onclick: act.link });
    const homework = button("Homework of this lesson", () => S.openExercises(`homework-${homework.value}`));
    const leave = button("Leave the lesson", act.leave, { class: "svl-link is-leave" });
    const foot = h("div", { class: "svl-foot" }, back, next, homework, link, h("span", { class: "svl-hint" }, HINT));
    const body = h("div", { class: "svl-body" }, said, h("div", { class: "svl-side" }, asked, verdict), foot);
    const head = h("div", { class: "svl-head" }, where, bar, leave);
    const box = h("section", { class: "svl", "aria-label": "lesson" }, head, body);
    const editor = lessonEditor(act);
    let drawn = null;
    let read = ""; // the words of the text
    let headed = ""; // those of the title

    /** In a presentation the panel has one height: what does not fit is set smaller, as far as a room can read it. */
    function fit() {
      box.classList.remove("is-tight");
      box.classList.toggle("is-tight", body.scrollHeight > body.clientHeight + 1);
    }

    function draw(shown) {
      const { lesson, place, beat, ended } = shown;
      const whole = lesson.beats.length;
      const { title: name } = inPlace(lesson);
      S.setText(where, ended ? `${name}: finished` : `${name} · ${place + 1} of ${whole}`);
      done.style.width = `${(100 * (ended ? whole : place + 1)) / whole}%`;
      S.set(box, "aria-busy", shown.waiting ? "true" : "false");
      const reworded = !ended && (beat.question || beat.live) ? S.isPlain() : ""; // what is under the hands stays
      const now = `${lesson.id} ${ended ? "end" : place} ${reworded}`;
      if (drawn !== now) {
        drawn = now;
        body.scrollTop = 0;
        asked.replaceChildren(...(ended ? [] : beside(beat, act, editor)));
      }
      const heading = ended ? "That was the lesson" : labelOf(beat, beat.title);
      if (headed !== heading) title.replaceChildren(...S.sentence(heading));
      headed = heading;
      const words = ended ? shown.score : S.isPlain() ? beat.plain : beat.text;
      if (read !== words) text.replaceChildren(...S.sentence(words));
      read = words;
      if (!ended && beat.question) mark(asked, beat.question, shown);
      const before = verdict.textContent;
      S.setText(verdict, ended ? "" : verdictOf(shown));
      S.set(verdict, "class", `svl-verdict${shown.good ? " is-right" : ""}`);
      link.hidden = ended || !beat.link || !shown.tabs;
      if (!link.hidden) S.setText(link, beat.link.label);
      homework.hidden = !ended || !S.EXERCISES?.some(({ id }) => id === `homework-${lesson.id}`);
      homework.value = lesson.id;
      back.disabled = place === 0 && !ended;
      S.setText(next, nextWords(shown));
      fit();
      if (verdict.textContent !== before) body.scrollTop = body.scrollHeight; // it stands last
    }

    return { box, draw, fit, focus: () => title.focus({ preventScroll: true }) };
  }

  /** All lessons in order, as [a line on them, their list, what is for a class]; `progress` by id; `open(id, beat)`
      begins or goes on, `leave()` is called before something for a class is opened. */
  function lessonRows(data, progress, open, leave) {
    const rows = data.lessons.map((lesson, place) => {
      const one = progress[lesson.id];
      const words = !one ? "Start" : one.done ? "Again" : "Go on";
      const does = () => open(lesson.id, one && !one.done ? one.beat : 0);
      return h(
        "li",
        { class: "svl-row" },
        h("h3", {}, `${place + 1}. ${inPlace(lesson).title}`),
        h("p", {}, inPlace(lesson).goal),
        h("p", { class: "svl-how" }, S.progressText(lesson, one)),
        h(
          "button",
          { type: "button", class: "svl-btn", "aria-label": `${words}: ${lesson.title}`, onclick: does },
          words,
        ),
      );
    });
    const missing = data.missing.map((one) =>
      h("li", { class: "svl-row is-missing" }, h("h3", {}, one.title), h("p", {}, `Not playable here: ${one.why}`)),
    );
    const minutes = data.lessons.reduce((sum, lesson) => sum + lesson.minutes, 0);
    return [
      h("p", {}, `${S.count(data.lessons.length, "lesson")}, about ${minutes} minutes. Nothing leaves this page.`),
      h("ol", {}, rows, missing),
      h("h2", {}, "For a class"),
      ...S.classRows(leave),
    ];
  }

  /** The same as a dialog. */
  function lessonList(data, progress, open) {
    const dialog = h(
      "dialog",
      { class: "svl-list", "aria-label": "lessons" },
      h("h2", {}, "Learn speculative decoding"),
      ...lessonRows(data, progress, open, () => dialog.close()),
      h("form", { method: "dialog" }, h("button", { class: "svl-btn" }, "Close")),
    );
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    dialog.addEventListener("close", () => dialog.remove());
    return dialog;
  }

  return { lessonPanel, lessonRows, lessonList, lessonLabel: labelOf };
})(SpecViz);
Object.assign(SpecViz, lessonPanel);
