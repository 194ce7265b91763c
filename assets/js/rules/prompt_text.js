/* The prompt as the text strip shows it: its end; of a chat the message alone, with the template around it folded away;
   all of it on request; a part of it cited. Pure. */
// needs: bytes
const promptText = (function (S) {
  "use strict";

  const LINES = 3;
  const MOST = 400; // characters of a folded prompt

  /** The last lines, and whether there is more. */
  function tail(text) {
    const short = text.split("\n").slice(-LINES).join("\n").slice(-MOST);
    return { short, more: short.length < text.length };
  }

  /** [from, to) of a chat's message in what the target read; null where the run is no chat, or the template changed the
      message. The template's own words may hold the message too: it stands where a special token ends it, and the
      last of those that one ends is the visitor's.
      @param {trace.Trace} trace */
  function messageIn(trace, text) {
    const { chat_message: written, tokenizer } = trace.started;
    const message = (written || "").trim();
    if (!message) return null;
    const special = tokenizer.special_ids.map((id) => trace.vocab[String(id)]?.text).filter(Boolean);
    const starts = [];
    for (let at = text.indexOf(message); at >= 0; at = text.indexOf(message, at + 1)) starts.push(at);
    const ended = (at) => {
      const rest = text.slice(at + message.length).trimStart();
      return special.some((sign) => rest.startsWith(sign));
    };
    const from = starts.findLast(ended) ?? starts.at(-1);
    return from === undefined ? null : [from, from + message.length];
  }

  /** The text cut where the message or what is cited begins or ends: [{text, template, cited}]. */
  function cut(text, message, cited) {
    const cuts = [0, ...message, ...cited, text.length].sort((one, other) => one - other);
    const parts = cuts
      .slice(1)
      .map((to, index) => ({
        text: text.slice(cuts[index], to),
        template: cuts[index] < message[0] || to > message[1],
        cited: cuts[index] >= cited[0] && to <= cited[1],
      }));
    return parts.filter((part) => part.text);
  }

  /** What stands before the tokens of a run. `open`: all of it was asked for; `tokens`: [from, to) of the prompt's
      tokens that are cited, or null. Answers the parts, whether it is a chat, and whether there is more to ask for.
      @param {trace.Trace} trace */
  function promptShown(trace, open, tokens) {
    const { prompt_text: read, prompt_ids: ids } = trace.started;
    const texts = tokens ? S.pieces(trace, ids).texts : [];
    const text = tokens ? texts.join("") : read;
    const span = messageIn(trace, text);
    const message = span ?? [0, text.length];
    const cited = (tokens ?? [0, 0]).map((token) => texts.slice(0, token).join("").length);
    const parts = cut(text, message, cited);
    const end = tail(text.slice(...message));
    const more = span !== null || end.more;
    const outside = parts.some((part) => part.cited && part.template);
    const whole = open || (tokens && (!span || outside));
    if (whole) return { parts, chat: span !== null, more };
    if (tokens) return { parts: parts.filter((part) => !part.template), chat: true, more };
    const folded = { text: (end.more ? "…" : "") + end.short, template: false, cited: false };
    return { parts: [folded], chat: span !== null, more };
  }

  /** What the visitor wrote: of a chat its message, without the template around it.
      @param {trace.Trace} trace */
  function writtenPrompt(trace) {
    const text = trace.started.prompt_text;
    return text.slice(...(messageIn(trace, text) ?? []));
  }

  return { promptShown, writtenPrompt };
})(SpecViz);
Object.assign(SpecViz, promptText);
