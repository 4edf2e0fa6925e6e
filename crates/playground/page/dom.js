const byId = (id) => document.getElementById(id);

/** Creates an element. Texts come in as properties and children: never as markup. */
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

/** Shows `words` in a paragraph that is hidden while there are none. */
const sayIn = (id, words) => {
  byId(id).textContent = words ?? "";
  byId(id).hidden = !words;
};

/** What is wrong, and the remedy. Of several problems the first: the others often follow from it. */
const failureWords = (answer) => {
  const { message, help } = answer.problems?.[0] ?? answer;
  return help ? `${message}; help: ${help}` : message;
};

const grouped = (number) => number.toLocaleString("en-US");
const plural = (number, word) => `${grouped(number)} ${word}${number === 1 ? "" : "s"}`;
const scaleWords = (scale) => (scale === 1 ? "full scale" : `1/${scale}`);

/** Whether controls and results stand side by side; playground.css has the same width. */
const isWide = () => matchMedia("(min-width: 64.01rem)").matches;
