/* The line that a student hands in: which task, whose, the answer, and a check that it was copied whole. Pure.

   specviz|1|TASK|NAME|ANSWER|CHECK

   TASK: letters, digits, - and _. NAME: at most 40 characters, none of them | or unseen. ANSWER: what was answered,
   without blanks or |; of choices a letter each and - for none. CHECK: CRC-32 of everything before it, as 8 hex digits:
   it tells a line that was cut or mistyped, not one that was made up. No score stands in it; whoever reads it works
   that out. */
// needs: bytes
const handIn = (function (S) {
  "use strict";

  const HEAD = "specviz|1";
  const MOST_NAME = 40;
  const MOST_LINE = 8000;
  const TASK = /^[\w-]{1,60}$/;
  const ANSWER = /^[\x21-\x7b\x7d\x7e]+$/;
  const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

  /** A name as a line holds it; what nobody could see, and |, is taken out. */
  const handInName = (text) =>
    Array.from(String(text).replace(UNSEEN, " ").replaceAll("|", " ").trim().replace(/ +/g, " "))
      .slice(0, MOST_NAME)
      .join("")
      .trim();

  /** The line. */
  function handInLine({ task, name, answer }) {
    const body = [HEAD, task, handInName(name), answer].join("|");
    return `${body}|${S.textHash(body)}`;
  }

  /** {task, name, answer}, or {problem}: a sentence that says what is wrong with the line. */
  function readHandIn(line) {
    const text = line.trim();
    if (!text.startsWith("specviz|"))
      return { problem: "this is not a line of SpecViz; they all begin with specviz|1|." };
    if (!text.startsWith(`${HEAD}|`))
      return { problem: "this line is of another version of SpecViz; ask for a new one." };
    const parts = text.split("|");
    if (parts.length !== 6 || text.length > MOST_LINE)
      return { problem: "this line was not copied whole; ask for it again." };
    const [task, name, answer, check] = parts.slice(2);
    if (check !== S.textHash(parts.slice(0, -1).join("|")))
      return { problem: "this line was changed or cut on its way; ask for it again." };
    if (!TASK.test(task) || !ANSWER.test(answer) || !name || name !== handInName(name))
      return { problem: "this line has no task, name or answer that SpecViz writes; ask for a new one." };
    return { task, name, answer };
  }

  return { handInName, handInLine, readHandIn };
})(SpecViz);
Object.assign(SpecViz, handIn);
