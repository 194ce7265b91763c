/* What is no script's: what the page puts into `SpecViz` beside the scripts' names, and what its elements are. */
declare namespace page {
  interface Slots {
    /** assets/rules.json: what the verifiers declare */
    DECLARED: Record<string, Rule>;
    /** assets/glossary.json */
    GLOSSARY: Term[];
    /** what a pass takes on two machines, the small one first */
    CLOCKS?: Clock[];
    /** the tests and the homework */
    EXERCISES?: ExerciseSet[];
    /** assets/written_rules.json: mistakes, tasks and built-in rules of the editor */
    WRITTEN: Written;
    /** the frame of a page that stands alone */
    FRAME: string;
    /** the recorded runs' names by run id, where the page can open them */
    RECORDED?: Record<string, string>;
    /** true until these names are known */
    AWAITS_NAMES?: boolean;
    /** the lessons, once they are mounted */
    lesson?: Lessons;
    glossaryStarted?: boolean;
  }
  /** The lessons as others reach them; a beat is counted from 0. */
  interface Lessons {
    data: { lessons: object[]; missing: object[] };
    /** texts of runs arrived: {"texts": {file: text}} */
    keep(value: string): void;
    /** draw the lessons as cards, kept up with what the visitor has done */
    cards(place: Element): void;
    /** the open lesson with all its runs, for a file that plays it alone; null without one or before they came */
    whole(): { data: { lessons: object[]; missing: object[] }; texts: Record<string, string> } | null;
    /** false where there is no such lesson */
    open(id: string, beat?: number): boolean | void;
    leave(): void;
    next(): void;
    back(): void;
    /** null while no lesson is open */
    state(): { id: string; beat: number } | null;
    /** returns what ends it */
    subscribe(watcher: (state: { id: string; beat: number } | null) => void): () => void;
  }
  /** see specviz/theory/two_clocks.py */
  interface Clock {
    machine: string;
    model: string;
    times_are: "measured" | "modelled";
    source: string;
    /** of a pass over 1, 2 … rows */
    seconds: number[];
  }
  /** see specviz/lessons/exercises.py */
  interface ExerciseSet {
    id: string;
    title: string;
    goal: string;
    exercises: { about: string; ask: string; why: string; choices: { text: string; right: boolean }[] }[];
  }
  interface Written {
    probes: { p: number[]; q: number[] }[];
    situations: { p: number[]; q: number[] }[];
    later_siblings: Record<"p" | "q" | "r" | "Q", number[]>[];
    later_draws: Record<"p" | "q" | "r" | "Q", number[]>[];
    mistakes: RuleMistake[];
    tasks: RuleTask[];
    /** check → the sentence for where it does not hold */
    missing: Record<string, { words: string; plain: string }>;
    built_in: Record<string, string>;
    broken: Record<string, { draw: string; rule: string }>;
  }
  interface Term {
    term: string;
    written: string[];
    meaning: string;
    others: string;
  }
  /** a number, the name of one, or an operation and what it works on */
  type Expression = number | string | [string, ...Expression[]];
  interface Rule {
    threshold: Expression;
    equation?: string;
    words: string;
    order: trace.Judged["order"];
    numbers: "plain" | "residual" | "scaled";
    subtracts: boolean;
    compares: boolean;
    draws: boolean;
    survivors: string;
    one_by_one: boolean;
    judges: trace.Node["kind"][];
    greedy: boolean;
    chains: boolean;
    terms: Record<string, string>;
    formula: string[];
    code: string[];
    rest?: string;
    rest_formula?: string;
  }
}

/** what a number can be at least and at most */
type Interval = [low: number, high: number];

// Selectors of scripts find elements of HTML; where one finds a drawing, the script says so.
interface ParentNode {
  querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  querySelector(selectors: string): HTMLElement | null;
  querySelectorAll(selectors: string): NodeListOf<HTMLElement>;
}
interface Element {
  closest(selectors: string): HTMLElement | null;
  /** the handle of the player that is mounted here */
  specviz?: ReturnType<Names["mount"]>;
}
