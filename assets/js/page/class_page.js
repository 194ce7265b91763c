/* The board of a class: lines are pasted, and become a table of students and tasks, and what the lessons have taught.
   Names and lines are of strangers: they are shown as text. Nothing is kept and nothing is sent. */
// needs: class_board, dom, numbers, race_line, share, wording
const classPage = (function (S) {
  "use strict";

  const { h } = S;
  const SIGNS = { handed: "handed in", none: "–" };

  const table = (caption, head, rows) =>
    h(
      "div",
      { class: "svx-scroll", tabindex: "0", role: "group", "aria-label": caption },
      h(
        "table",
        { class: "svx-table" },
        h("caption", {}, caption),
        S.columnHeads(head),
        h(
          "tbody",
          {},
          rows.map(([name, ...cells]) =>
            h(
              "tr",
              {},
              h("th", { scope: "row", dir: "auto" }, name),
              cells.map((cell) => h("td", {}, cell)),
            ),
          ),
        ),
      ),
    );

  const cell = (handed, task) => {
    const score = handed.get(task);
    return score ? `${score.right} of ${score.of}` : handed.has(task) ? SIGNS.handed : SIGNS.none;
  };

  const RACED = [
    "student",
    "who drafted",
    "shape",
    "ratio",
    "tokens a pass",
    "numbers",
    "machine, as the browser says",
  ];
  /** A race as a row; its ratio is worked out from the line's times. */
  const raced = ({ name, drafter, shape, ratio, perPass, format, cpu }) => [
    name,
    S.RACERS[drafter].label,
    S.shapeWords(shape),
    `${S.ratio(ratio)}×`,
    perPass.toFixed(2),
    format,
    cpu,
  ];

  /** What the lessons taught, in a sentence. */
  function gainWords({ students, of, before, after, gain }) {
    const means =
      `${S.count(students, "student")} took both tests: ${S.ratio(before)} of ${of} right before the lessons on ` +
      `average, ${S.ratio(after)} after them.`;
    if (gain === null) return means;
    if (gain < 0) return `${means} Less was right after them than before.`;
    return `${means} Of what could be gained, ${Math.round(gain * 100)}% was (Hake's normalised gain).`;
  }

  /** The board's elements, in order. `titleOf(set)` names a column.
      @param {page.ExerciseSet[]} sets */
  function classPage(sets) {
    const field = h("textarea", {
      class: "svx-lines",
      rows: 6,
      spellcheck: "false",
      "aria-label": "the lines that were handed in, one below the other",
      placeholder: "specviz|1|before|Ada|BACCDA…",
      oninput: () => draw(),
    });
    const said = h("p", { role: "status" });
    const place = h("div", { class: "svx-board" });
    const save = h(
      "button",
      {
        type: "button",
        class: "svl-btn",
        disabled: true,
        onclick: () => S.saveFile(S.classCsv(S.readClass(field.value, sets)), "text/csv", "specviz-class.csv"),
      },
      "Save as CSV",
    );

    function draw() {
      const read = S.readClass(field.value, sets);
      const { tasks, students, races, problems } = read;
      const titles = new Map([
        ...sets.map((set) => /** @type {[string, string]} */ ([set.id, set.title])),
        ...S.WRITTEN.tasks.map((task) => /** @type {[string, string]} */ ([`rule-${task.id}`, S.inWords(task).title])),
      ]);
      save.disabled = !students.length && !races.length;
      S.setText(
        said,
        `${S.count(students.length, "student")}, ${S.count(tasks.length, "task")}` +
          (races.length ? `, ${S.count(races.length, "race")}` : "") +
          (problems.length ? `, ${S.count(problems.length, "line")} that cannot be read.` : "."),
      );
      const gained = S.gainOf(read, sets);
      place.replaceChildren(
        ...(problems.length
          ? [
              h(
                "ul",
                { class: "svx-problems" },
                problems.map(({ line, problem }) => h("li", {}, `Line ${line}: ${problem}`)),
              ),
            ]
          : []),
        ...(students.length
          ? [
              table(
                "students and tasks",
                ["student", ...tasks.map((task) => titles.get(task) || task)],
                students.map(({ name, handed }) => [name, ...tasks.map((task) => cell(handed, task))]),
              ),
            ]
          : []),
        ...(races.length ? [table("races, the fastest first", RACED, races.map(raced))] : []),
        ...(gained
          ? [
              h("p", {}, gainWords(gained)),
              table(
                `students who were right, of ${gained.students}`,
                ["subject", "before", "after"],
                gained.subjects.map(({ about, before, after }) => [about, String(before), String(after)]),
              ),
            ]
          : []),
      );
    }

    return [
      h("p", {}, "Paste the lines that your students handed in, one below the other. They stay in this page."),
      field,
      said,
      place,
      save,
    ];
  }

  return { classPage, gainWords };
})(SpecViz);
Object.assign(SpecViz, classPage);
