// The text of the scenario: line numbers, undo, problems as a compiler shows them.

const editorOf = (onChange) => {
  const [area, numbers, undo, redo] = ["text", "numbers", "undo", "redo"].map(byId);
  const [past, future] = [[], []];
  const MOST_STEPS = 100;
  /** A longer text is no scenario: its numbers are one text, without marks. */
  const MOST_MARKED_LINES = 5000;
  /** Half a character cannot be sent to the module. */
  const wellFormed = (text) => text.toWellFormed?.() ?? text;
  let current = { text: "", files: {}, from: { id: "", at: [] } };
  // Whatever is typed without a pause is one step back.
  let isTyping = false;
  let numbersShown = "";

  const showNumbers = (badLines = []) => {
    const lines = current.text.split("\n").length;
    const wanted = `${lines}: ${badLines}`;
    if (wanted === numbersShown) return;
    numbersShown = wanted;
    numbers.classList.toggle("many", lines > MOST_MARKED_LINES);
    if (lines > MOST_MARKED_LINES) {
      numbers.textContent = Array.from({ length: lines }, (_, index) => index + 1).join("\n");
    } else numbers.replaceChildren(...Array.from({ length: lines }, (_, index) =>
      make("span", { className: badLines.includes(index + 1) ? "bad" : "", textContent: `${index + 1}\n` })));
    numbers.scrollTop = area.scrollTop;
  };
  const showButtons = () => {
    undo.disabled = !past.length;
    redo.disabled = !future.length;
  };
  const remember = () => {
    past.push(current);
    if (past.length > MOST_STEPS) past.shift();
    future.length = 0;
  };
  const put = (draft) => {
    const { selectionStart, scrollTop } = area;
    const text = wellFormed(draft.text);
    // A draft that comes back is the same one.
    current = text === draft.text ? draft : { ...draft, text };
    isTyping = false;
    if (area.value !== text) {
      area.value = text;
      area.setSelectionRange(selectionStart, selectionStart);
      area.scrollTop = scrollTop;
    }
    showNumbers();
    showButtons();
    onChange(true);
  };
  const step = (from, to) => {
    if (!from.length) return;
    to.push(current);
    put(from.pop());
  };

  area.addEventListener("input", () => {
    if (!isTyping) remember();
    isTyping = true;
    current = { ...current, text: wellFormed(area.value) };
    showNumbers();
    showButtons();
    onChange(false);
  });
  area.addEventListener("scroll", () => { numbers.scrollTop = area.scrollTop; });
  // The browser's own undo does not know of changes by controls.
  area.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    if (key === "z" && !event.shiftKey) step(past, future); else step(future, past);
  });
  undo.addEventListener("click", () => step(past, future));
  redo.addEventListener("click", () => step(future, past));

  /** Selects what a problem is about. Columns count characters, a textarea counts UTF-16 units. */
  const goTo = ({ line, column, end_line, end_column }) => {
    const lines = current.text.split("\n");
    const offset = (row, characters) => lines.slice(0, row - 1).reduce((sum, text) => sum + text.length + 1, 0)
      + [...(lines[row - 1] ?? "")].slice(0, characters - 1).join("").length;
    byId("source").open = true;
    area.focus();
    area.setSelectionRange(offset(line, column), offset(end_line ?? line, end_column ?? column));
    const height = parseFloat(getComputedStyle(area).lineHeight);
    area.scrollTop = (line - 1) * height - area.clientHeight / 3;
    area.scrollLeft = 0;
  };

  const problemButton = (problem) => {
    const { line, column, end_line, end_column, message, label, help, lines = [] } = problem;
    const words = (className, text) => make("span", { className, textContent: text });
    if (!line) return make("li", { className: "problem-words", textContent: help ? `${message}; help: ${help}` : message });
    const margin = " ".repeat(String(line).length);
    const text = (lines[0] ?? "").replaceAll("\t", " ");
    const end = end_line > line ? [...text].length + 1 : end_column;
    const code = make("code", {}, `${margin} |\n${line} | ${text}\n${margin} | ${" ".repeat(column - 1)}`,
      words("marks", `${"^".repeat(Math.max(1, end - column))} ${label ?? ""}`));
    const button = make("button", { type: "button" }, words("words", `scenario.toml:${line}:${column}: ${message}`), code);
    if (help) button.append(words("words", `help: ${help}`));
    button.addEventListener("click", () => goTo(problem));
    return make("li", {}, button);
  };

  return {
    get current() { return current; },
    /** Changes the text from outside, as one step. */
    replace: (draft) => {
      const { text, files, from } = current;
      if (draft.text !== text || draft.files !== files || draft.from !== from) remember();
      put(draft);
    },
    /** Changes nothing that can be taken back: the first text. */
    open: put,
    endStep: () => { isTyping = false; },
    showProblems: (problems) => {
      showNumbers(problems.map(({ line }) => line));
      byId("problems").replaceChildren(...problems.map(problemButton));
    },
  };
};
