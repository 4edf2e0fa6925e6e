// Controls for what a scenario sets. They change its text, and follow it.

const limitsOf = ({ least, most, unit, optional }) => {
  const [from, to] = [least, most].map((limit) => (/^\d+$/.test(limit) ? grouped(Number(limit)) : limit));
  const range = from !== null && to !== null ? `${from} to ${to}`
    : from !== null ? `${from} or more` : to !== null ? `at most ${to}` : "";
  return [[range, unit].filter(Boolean).join(" "), optional ? "may be left empty" : ""].filter(Boolean).join("; ");
};

/** `change(path, value)` answers nothing, or what is wrong in words. */
const settingsIn = (place, change) => {
  const shown = new Map();
  let shape = "";

  const inputOf = (control) => {
    if (control.kind === "choice") {
      const choices = control.optional ? [{ value: "", label: "not set" }, ...control.choices] : control.choices;
      return make("select", {}, ...choices.map(({ value, label }) => make("option", { value, textContent: label })));
    }
    if (control.kind !== "number") return make("input", { type: "text", autocomplete: "off", spellcheck: false });
    return make("input", { type: "number", step: "any", min: control.least ?? "", max: control.most ?? "" });
  };

  const settingOf = (control, position) => {
    const { path, label, about, optional } = control;
    const id = (part) => `setting-${position}${part}`;
    const input = inputOf(control);
    const problem = make("p", { id: id("-problem"), className: "problem-words", hidden: true });
    problem.setAttribute("role", "alert");
    const say = (words) => {
      problem.textContent = words ?? "";
      problem.hidden = !words;
      if (words) input.setAttribute("aria-invalid", "true"); else input.removeAttribute("aria-invalid");
    };
    input.id = id("");
    input.dataset.setting = path;
    input.setAttribute("aria-describedby", [id("-limits"), id("-about"), id("-problem")].join(" "));
    input.addEventListener("change", async () => {
      if (input.validity.badInput) { say("this is not a number"); return; }
      if (!input.validity.valid) { say(`allowed: ${limitsOf(control)}`); return; }
      if (!input.value && !optional) { say("a value is needed here"); return; }
      say(await change(path, input.value || null));
    });
    shown.set(path, { input, say, value: null });
    const limits = make("span", { id: id("-limits"), className: "limits", textContent: limitsOf(control) });
    const name = make("label", { htmlFor: id(""), textContent: label });
    return make("div", { className: "setting" }, name, make("div", { className: "measure" }, input, limits),
      make("p", { id: id("-about"), className: "note", textContent: about }), problem);
  };

  const build = (controls) => {
    const focused = place.contains(document.activeElement) ? document.activeElement.dataset.setting : undefined;
    const isOpen = new Map([...place.children].map((group) => [group.dataset.of, group.open]));
    const groups = new Map();
    shown.clear();
    controls.forEach((control, position) => {
      if (!groups.has(control.of)) groups.set(control.of, []);
      groups.get(control.of).push(settingOf(control, position));
    });
    place.replaceChildren(...[...groups].map(([of, settings], position) => {
      const title = make("summary", { id: `settings-${position}`, textContent: of });
      const fields = make("fieldset", {}, ...settings);
      fields.setAttribute("aria-labelledby", title.id);
      const group = make("details", { open: isOpen.get(of) ?? (position === 0 && isWide()) }, title, fields);
      group.dataset.of = of;
      return group;
    }));
    if (focused !== undefined) shown.get(focused)?.input.focus({ preventScroll: true });
  };

  return {
    show: (controls) => {
      const wanted = JSON.stringify(controls.map(({ value, ...rest }) => rest));
      if (wanted !== shape) { shape = wanted; build(controls); }
      for (const { path, value } of controls) {
        const setting = shown.get(path);
        const { input } = setting;
        // What is being typed is not overwritten.
        if (input === document.activeElement && input.value !== (setting.value ?? "") && setting.value === value) continue;
        setting.value = value;
        setting.say(null);
        input.value = value ?? "";
      }
    },
  };
};
