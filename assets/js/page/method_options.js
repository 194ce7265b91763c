/* The options of the chosen method: a label, a control that fits type and range, and a sentence for each. The value is
   what differs from the defaults, as JSON text; a value that comes from outside fills what it names. */
// needs: dom, drawing
const methodOptions = (function (S) {
  "use strict";

  const { h } = S;
  const SLIDER_SPAN = 256; // wider ranges have a number alone
  let forms = 0;

  function parsed(text) {
    const { method = null, options = {} } = text ? JSON.parse(text) : {};
    return { method, options };
  }

  /** Pure: the value with another method chosen; the options of all others stay. */
  const withMethod = (text, method) => JSON.stringify({ ...parsed(text), method });

  /** Pure: what stands in a value after another came from outside, which fills what it names. */
  function filledWith(before, text) {
    const { method, options } = parsed(text);
    return { method: method ?? before.method, options: { ...before.options, ...options } };
  }

  /** Pure: [least, most, step] of a card whose range a slider can show; null: a number alone. */
  function sliderRange({ type, minimum, maximum }) {
    if (minimum === undefined || maximum === undefined || maximum - minimum > SLIDER_SPAN) return null;
    return [minimum, maximum, type === "int" ? 1 : 0.01];
  }

  const isNumber = (card) => card.type === "int" || card.type === "float";

  /** One option: its node, and how another value is shown in it. `typed(value)` hears what is entered. */
  function field(card, id, typed) {
    const common = { id, "aria-describedby": `${id}-help` };
    const label = h("label", { for: id, text: card.name.replaceAll("_", " ") });
    const help = h("span", { class: "svm-help", id: `${id}-help`, text: card.help });
    let control, show;
    const parts = [];
    if (card.choices) {
      const choices = card.choices.map((one) => h("option", { value: one, text: one }));
      control = h("select", { ...common, onchange: () => typed(control.value) }, choices);
    } else if (card.type === "bool") {
      control = h("input", { ...common, type: "checkbox", onchange: () => typed(control.checked) });
      show = (value) => (control.checked = !!value);
    } else if (isNumber(card)) {
      const whole = card.type === "int" ? 1 : "any";
      const bounds = { min: card.minimum, max: card.maximum };
      const range = sliderRange(card);
      const entered = () => typed(control.value === "" ? null : control.valueAsNumber);
      control = h("input", { ...common, type: "number", step: whole, ...bounds, oninput: () => enter(control) });
      const slider = range && h("input", { type: "range", ...bounds, step: range[2], oninput: () => enter(slider) });
      const enter = (from) => {
        for (const one of [control, slider]) if (one && one !== from) one.value = from.value;
        entered();
      };
      if (slider) parts.push(slider);
      if (slider) slider.setAttribute("aria-label", `${card.name.replaceAll("_", " ")}, slider`);
      show = (value) => {
        control.value = value ?? "";
        if (slider) slider.value = value ?? card.default ?? card.minimum;
      };
    } else {
      const example = card.type === "ints" ? "3,2,1" : null;
      control = h("input", { ...common, type: "text", placeholder: example, oninput: () => typed(control.value) });
    }
    const plain = (value) => (control.value = value ?? "");
    const node = h("div", { class: `svm-field is-${card.type}` }, label, control, ...parts, help);
    return card.drawn ? withDrawing(node, control, typed) : { node, show: show || plain };
  }

  /** A list of paths has its picture below; whoever changes one changes the other. */
  function withDrawing(node, control, typed) {
    const props = { value: "" };
    const redraws = [];
    const box = h("div", { id: "sv-drawing" }, h("div", { class: "sv-drawing" }));
    const watch = (_, redraw) => redraws.push(redraw);
    const take = (text) => {
      props.value = text;
      redraws.forEach((redraw) => redraw());
    };
    S.mountDrawing(box, props, watch, (text) => {
      props.value = control.value = text;
      typed(text);
    });
    control.addEventListener("input", () => take(control.value));
    node.classList.add("is-drawn");
    node.append(box);
    const show = (text) => {
      control.value = text ?? "";
      take(control.value);
    };
    return { node, show };
  }

  /** `props.cards`: method → its options, as JSON text; `changed(typed)` is told after the value has changed. */
  function mountMethodOptions(element, props, watch, changed) {
    const root = element.querySelector(".sv-method-options");
    const cards = JSON.parse(props.cards || "{}");
    const name = `svm-${(forms += 1)}`;
    const own = { held: { method: null, options: {} }, text: null, drawn: null, fields: new Map() };

    function keep(held, typed) {
      own.held = held;
      own.text = JSON.stringify(held);
      if (props.value !== own.text) props.value = own.text;
      changed(typed);
    }

    function build() {
      const { method } = own.held;
      if (own.drawn === method) return;
      own.drawn = method;
      own.fields.clear();
      for (const card of cards[method] || []) {
        const key = `${method}.${card.name}`;
        const typed = (value) => keep({ ...own.held, options: { ...own.held.options, [key]: value } }, true);
        own.fields.set(key, { ...field(card, `${name}-${card.name}`, typed), card });
      }
      root.replaceChildren(...[...own.fields.values()].map((one) => one.node));
      root.hidden = !own.fields.size;
    }

    function load() {
      if (props.value === own.text) return;
      const held = filledWith(own.held, props.value);
      own.held = held;
      build();
      for (const [key, { show, card }] of own.fields) show(held.options[key] ?? card.default);
      const first = own.text === null;
      own.text = JSON.stringify(held);
      if (props.value !== own.text) props.value = own.text;
      if (!first) changed(false);
    }

    if (watch) watch("value", load);
    load();
  }

  return { withMethod, filledWith, sliderRange, mountMethodOptions };
})(SpecViz);
Object.assign(SpecViz, methodOptions);
