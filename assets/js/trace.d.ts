/* The trace as its schema has it. Written by `make generate`. */
declare namespace trace {
  /** Target p against draft q for the token after a node, worked out on whole distributions while recording. */
  interface Agreement {
    /** entropy of p in bits */
    target_bits: number;
    /** entropy of q in bits; None: no distribution of the drafter is there to compare, such as below a point mass */
    draft_bits?: number | null;
    /** KL(p‖q) = sum of p log2(p/q), the direction that distillation of drafters minimises (DistillSpec, 2310.08461); None beside a `draft_bits`: infinite, q gives nothing to a token that p can say */
    kl_bits?: number | null;
    /** sum of min(p, q): the acceptance probability of one candidate drawn from q (Leviathan et al., 2211.17192, Theorem 3.5), and 1 minus the total variation distance */
    overlap?: number | null;
  }
  /** This run continues another one from the start of one of its rounds (branching in time). */
  interface Branch {
    run_id: string;
    round: number;
    forced_token: number | null;
  }
  /** What became final. */
  interface Committed {
    tokens: CommittedToken[];
    /** why the verifier's result was cut, if it was; `open`: nothing ended, but the last token is left to the next round, whose candidates for that place come from the same distribution of the target, itself the first of them */
    trimmed: "eos" | "stop" | "length" | "open" | null;
    /** how many verified tokens were cut off */
    trimmed_tokens: number;
    /** target cache rows before the round */
    cache_before: number;
    /** target cache rows after the round: prefix and accepted path */
    cache_kept: number;
    /** rows written by this round's target pass and dropped again */
    cache_dropped: number;
    seconds: number;
  }
  interface CommittedToken {
    token: number;
    origin: "draft" | "correction" | "bonus" | "target" | "forced";
    /** the node it was in the tree; None for the round's last token */
    node: number | null;
  }
  /** The text that a drafter retrieved from; the run can be repeated with the same one alone. */
  interface DatastoreCard {
    name: string;
    /** ids, one end per document included */
    tokens: number;
    documents: number;
    size_bytes: number;
    /** of the ids */
    sha256: string;
  }
  /** The drafter proposed a tree. */
  interface Drafted {
    passes: Pass[];
    seconds: number;
    /** what the drafter knew, e.g. n-gram match length and source position */
    note?: Record<string, number | boolean | string | number[] | null>;
    /** the same where it takes more than a number: what the draft was made from */
    knew?: Exhibit[];
    /** what the target's answer to this round changed in the drafter's memory */
    learned?: Exhibit[];
    /** nodes that ride along in the target's pass for the sake of its answers there, such as lookahead's window: work, and counted as no drafts. The verifier may accept them all the same; all nodes below one ride along too */
    riding?: number[];
    /** what a drafter that works beside the target's passes did since the round before was reported, in the order of time; empty for drafters that take turns with the target, and before format 1.2 */
    lanes?: LaneSpan[];
  }
  /** One thing that the drafter knew or learnt in a round. */
  interface Exhibit {
    title: string;
    rows: ExhibitRow[];
    /** what a mark means, such as `drafted` or `frozen`; empty where nothing is marked */
    marked?: string;
  }
  /** One line of an exhibit: some tokens, and where they come from. */
  interface ExhibitRow {
    /** what the line is, in a few plain words: `matched`, `iteration 3`, `after “the”` */
    label: string;
    tokens: number[];
    /** indices into `tokens` that stand out; the exhibit's `marked` says why */
    marks?: number[];
    /** nodes of this round's tree that were made from this line */
    nodes?: number[];
    /** where `tokens` begin in the text (prompt and output together), if they were taken from there */
    position?: number | null;
    /** one number per token where there is one (a frequency, a probability); empty: none */
    scores?: number[];
  }
  interface Finished {
    reason: "eos" | "stop" | "length" | "cancelled" | "failed";
    message: string | null;
    output_ids: number[];
    text: string;
    /** the target's pass over the prompt, and what the drafter did to read it */
    prefill_s: number;
    /** sum of the rounds' engine time */
    decode_s: number;
    /** time spent writing this trace, not part of decode_s; nor is it forming nodes and vocabulary that nobody has looked at by then */
    record_s: number;
    /** what the run is compared with; None: nothing was timed beside it */
    plain?: PlainDecoding | null;
  }
  /** The verdicts of one round. */
  interface Judged {
    /** name of the verifier */
    rule: string;
    trials: Trial[];
    /** accepted nodes from depth 1 on */
    path: number[];
    /** the node whose distribution the last token was drawn from: end of the path, or the root */
    final_node: number;
    /** the distribution the correction was drawn from; None where it is the target's own (bonus, naive, greedy) */
    residual: TopK | null;
    /** mass of `residual` before normalising: sum of max(0, p - q) of the last rejected candidate, or what the rule subtracts in its place; None: nothing rejected, or nothing subtracted */
    residual_mass: number | null;
    /** the token that ends the round */
    token: number;
    /** correction (something was rejected), bonus (a whole path was accepted), target (nothing was drafted) */
    origin: "draft" | "correction" | "bonus" | "target" | "forced";
    /** the uniform draw that picked `token`; None at temperature 0 */
    u: number | null;
    seconds: number;
    /** how the trials go through the tree: `top_down` walks from the root along accepted candidates; `bottom_up` tries whole paths, leaves first in post-order, and the first accepted one ends it; `longest` tries every candidate whose parent was accepted and keeps the longest path */
    order?: "top_down" | "bottom_up" | "longest";
  }
  /** A lane busy with one thing. Between two spans of a lane it waits. */
  interface LaneSpan {
    /** `drafter`: a process of its own; `drafter, in turn`: the target's process, between its passes */
    lane: string;
    /** `roll back` takes no time: what was drafted is no continuation of the text any more */
    what: "draft" | "roll back";
    /** on the clock of `Round.start_s`, and so mostly inside the target's pass, or before the round began */
    start_s: number;
    end_s: number;
    /** drafted, or thrown away */
    tokens: number;
  }
  interface Machine {
    device: string;
    dtype: string;
    threads: number;
    cores: number;
    processor: string;
    python: string;
    torch: string;
    transformers: string;
    system: string;
  }
  /** What the drafter remembered from before this run; the run can be repeated with the same memory alone. */
  interface MemoryCard {
    /** `earlier runs` of the same process, or the name of a file without its folder */
    origin: string;
    /** how many runs it was learnt from */
    runs: number;
    size_bytes: number;
    sha256: string;
  }
  /** A drafter, a verifier, a tree or a stop policy with every option it ran with. */
  interface MethodCard {
    name: string;
    options: Record<string, number | boolean | string | number[] | null>;
    lossless: boolean;
    /** the drafter's own language model, if it has one */
    model?: ModelCard | null;
    /** False: it asked the target beforehand (an oracle); the run is a bound, and its times say nothing about speed */
    deployable?: boolean;
    /** language models that draft beside `model`, in the order of their drafts */
    further_models?: ModelCard[];
    /** of a drafter: which weights `read` of its passes counts, in words; empty where they count none */
    pass_reads?: string;
    /** of a drafter: hash of the target's weights that its own learnt from, where the run's target is the same model in other numbers; empty where they are the same, or it learnt nothing */
    learnt_from?: string;
  }
  /** Which weights were really used. */
  interface ModelCard {
    name: string;
    /** transformers class name or adapter name, e.g. `LlamaForCausalLM` */
    architecture: string;
    /** which code ran the forward passes: `lean-llama`, `transformers`, `table` */
    adapter: string;
    parameters: number;
    layers: number;
    hidden_size: number;
    vocab_size: number;
    context_length: number;
    dtype: string;
    /** hash over the weight files, or over the tensors where there is no file */
    weights_sha256: string;
    /** weights that one pass reads: all but an input embedding that is no head too, of which it gathers a few rows, and of a trimmed head the kept rows; 0 where nobody counted them */
    read_per_pass?: number;
    /** tokens that its narrowest (sliding) attention sees, where that is less than its positions: `context_length` is this, because only texts that fit are run. 0: the context is that of its positions */
    window?: number;
    /** why `auto` took this dtype, in words; empty where another one was asked for. Weights are the same with or without it */
    dtype_why?: string;
  }
  /** One node of the draft tree. Node 0 is the root: the last committed token, not yet in the cache. */
  interface Node {
    id: number;
    /** -1 for the root; always smaller than `id` */
    parent: number;
    depth: number;
    token: number;
    /** how this candidate was drawn; decides how it may be judged */
    kind: "root" | "iid" | "without_replacement" | "point_mass";
    fate: "root" | "accepted" | "rejected" | "unreached";
    /** which drafter (or part of one) proposed it; `root` for the root */
    source: string;
    /** q(token) in the proposal distribution before siblings were removed; 1.0 for a point mass; None: root */
    draft_prob: number | null;
    /** p(token) in the target's distribution at the parent, before siblings were removed; None: root */
    target_prob: number | null;
    /** the proposal distribution for this node's children; None: none was computed */
    draft: TopK | null;
    /** the target's distribution after this node (after the sampling transform) */
    target: TopK;
    /** layout: tidy-tree column, equals depth */
    x?: number;
    /** layout: tidy-tree row, leaves are 0, 1, 2, … */
    y?: number;
    /** what the drafter's model itself believes: softmax of its logits at temperature 1, nothing cut off; None where `draft` says it already, or there is no model */
    draft_raw?: TopK | null;
    /** the same of the target; at temperature 0 this is all there is to see behind a point mass */
    target_raw?: TopK | null;
    /** place of `token` among the target's logits at the parent, 1 for the largest, of equal ones the lowest id first; temperature does not change it; None: root, and not recorded before format 1.1 */
    rank?: number | null;
    /** `target` against `draft` after this node, on the whole distributions; None at temperature 0, where they are point masses, and before format 1.1 */
    agreement?: Agreement | null;
    /** the same of what both models believe themselves; None where `agreement` says it already */
    agreement_raw?: Agreement | null;
  }
  /** One forward pass of a model. */
  interface Pass {
    /** new tokens computed */
    rows: number;
    /** rows already in its cache */
    cached_rows: number;
    seconds: number;
    /** drafter passes: depth of the nodes this pass made possible; None: catching up / target */
    depth?: number | null;
    /** drafter passes: bytes of weights that it reads; None: nobody counted them / target, whose card says it */
    read?: number | null;
  }
  /** Plain decoding, timed in the same run of the program as the trace: same prompt, target, sampling and seed. */
  interface PlainDecoding {
    output_tokens: number;
    /** engine time without the pass over the prompt; of several runs the one with the median time per token */
    decode_s: number;
    /** how often it ran, each time beside one run of the traced kind; the trace is the median of those */
    runs: number;
    /** whether it wrote the same tokens: at temperature 0 a lossless run must, but for ties of rounding */
    same_text: boolean;
    /** tokens per second of the traced kind of run over those of plain decoding, one for each turn in which both ran one after the other; empty: their spread was not kept */
    ratios?: number[];
  }
  interface Round {
    index: number;
    /** committed tokens (prompt included) when the round began; the root is the last of them */
    base_length: number;
    /** since the run's first round began */
    start_s: number;
    nodes: Node[];
    drafted: Drafted;
    scored: Scored;
    judged: Judged;
    committed: Committed;
  }
  /** The transform applied to target logits before anything is judged (Leviathan §2.2). */
  interface SamplingCard {
    temperature: number;
    /** 0: off */
    top_k: number;
    /** 1.0: off */
    top_p: number;
  }
  /** What the picture shows, and how the run's tokens hang together with it. */
  interface SceneCard {
    /** a later one is painted over an earlier one */
    shapes: ShapeCard[];
    /** the first ids of the prompt: where the target reads the picture instead of a word */
    places: number[];
    /** ids of words that the picture decides (sizes, colours, shapes, numbers, places, relations), ascending; all others are grammar */
    grounded: number[];
  }
  /** One target pass over the root and all nodes. */
  interface Scored {
    target_pass: Pass;
    seconds: number;
  }
  /** One shape of a picture. */
  interface ShapeCard {
    size: string;
    colour: string;
    shape: string;
    /** pixels from the left edge to the centre */
    x: number;
    /** pixels from the top */
    y: number;
  }
  /** Everything needed to run it again. */
  interface Started {
    run_id: string;
    /** UTC, ISO 8601, to the second */
    created: string;
    /** `specviz 0.1.0` */
    producer: string;
    source: "live" | "recorded" | "simulated";
    target: ModelCard;
    drafter: MethodCard;
    verifier: MethodCard;
    sampling: SamplingCard;
    tokenizer: TokenizerCard;
    machine: Machine;
    seed: number;
    max_new_tokens: number;
    eos_ids: number[];
    stop: string[];
    prompt_text: string;
    prompt_ids: number[];
    /** id in the prompt set, if it came from there */
    prompt_name?: string | null;
    step_times?: StepTime[];
    /** time of one drafter pass over one new token, if the drafter has a model: mean of four passes behind a target pass, as in a round; median over rounds */
    draft_step_s?: number | null;
    branch?: Branch | null;
    /** how the drafter's trees grow, where that was chosen apart from the drafter's own options */
    tree_policy?: MethodCard | null;
    /** when a draft ends, where it may end early */
    stop_policy?: MethodCard | null;
    /** what the drafter brought along from earlier runs; None: it began with nothing */
    memory?: MemoryCard | null;
    /** what the drafter retrieves from; None: nothing */
    datastore?: DatastoreCard | null;
    /** what the user wrote, where `prompt_text` is the target's chat template around it */
    chat_message?: string | null;
    /** the picture that the target saw; None: it read text alone */
    scene?: SceneCard | null;
  }
  /** Measured time of one target pass over `rows` new tokens, at a cache of `cached_rows`. */
  interface StepTime {
    rows: number;
    cached_rows: number;
    median_s: number;
    low_s: number;
    high_s: number;
  }
  /** vLLM's per-request acceptance fields, plus the three numbers they leave out. */
  interface Summary {
    /** rounds in which something was drafted */
    num_spec_steps: number;
    /** candidate nodes drafted */
    num_draft_tokens: number;
    num_accepted_draft_tokens: number;
    /** accepted / drafted (drafts only, no bonus); None when nothing was drafted */
    draft_acceptance_rate: number | null;
    /** 1 + accepted / spec steps (the round's last token included); None when nothing was drafted */
    mean_acceptance_length: number | null;
    /** [j]: spec steps that accepted exactly j tokens */
    acceptance_histogram: number[];
    /** [d-1] = [rounds that drafted to depth d, rounds that accepted depth d] */
    acceptance_by_depth: number[][];
    num_target_passes: number;
    num_output_tokens: number;
    /** output tokens / decode_s; None for simulated runs and for methods that are not deployable */
    tokens_per_second: number | null;
  }
  interface TokenizerCard {
    name: string;
    vocab_size: number;
    sha256: string;
    special_ids: number[];
  }
  /** The head of a distribution and how much mass lies outside it. */
  interface TopK {
    tokens: number[];
    /** decreasing; same length as `tokens` */
    probs: number[];
    /** 1 - sum(probs), at least 0 */
    rest: number;
  }
  /** One accept-or-reject decision, in the order they were made. */
  interface Trial {
    node: number;
    /** p of this trial: after the residuals of earlier rejected siblings */
    target_prob: number;
    /** Q of this trial: after earlier siblings were removed, where drawn without replacement; 1 for a point mass */
    draft_prob: number;
    /** accept exactly when u < threshold; min(1, target_prob / draft_prob) for the sequential rule */
    threshold: number;
    /** the uniform draw; None where the rule needs none (greedy, naive) */
    u: number | null;
    accepted: boolean;
    /** named quantities the threshold was worked out from, where p and Q alone do not say it; per rule, see docs/trace_format.md */
    terms?: Record<string, number>;
  }
  interface VocabEntry {
    /** base64 of the token's exact bytes (a token may end inside a UTF-8 character) */
    bytes: string;
    /** for display alone: undecodable bytes as U+FFFD */
    text: string;
  }
  /** specviz-trace 1.3: what the player shows. */
  interface Trace {
    /** tells a trace from other JSON */
    format: "specviz-trace";
    /** major.minor of the format */
    version: string;
    started: Started;
    /** token id in decimal → the token; every id that occurs in the trace */
    vocab: Record<string, VocabEntry>;
    rounds: Round[];
    finished: Finished;
    summary: Summary;
  }
}
