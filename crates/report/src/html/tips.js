"use strict";
// What a chart says of a figure: by pointing at it, or with the arrow keys.
const tips = (() => {
  const tip = document.getElementById("tip");
  const say = (words, x, y) => {
    tip.textContent = words;
    tip.hidden = false;
    const width = tip.offsetWidth;
    const right = document.documentElement.clientWidth;
    tip.style.left = `${scrollX + Math.max(4, Math.min(x + 14, right - width - 8))}px`;
    tip.style.top = `${scrollY + y + 16}px`;
  };
  const hush = () => { tip.hidden = true; };

  const attach = (figure) => {
    const svg = figure.querySelector("svg");
    const title = svg.querySelector(":scope > title");
    // A title of the whole would show over every figure in it.
    if (title) { svg.setAttribute("aria-label", title.textContent); title.remove(); }
    const marks = [...svg.querySelectorAll(".values circle")].map((circle) => {
      const words = circle.querySelector("title");
      const mark = { circle, words: words.textContent, x: +circle.getAttribute("cx"), y: +circle.getAttribute("cy") };
      words.remove();
      return mark;
    });
    if (!marks.length) return;
    figure.tabIndex = 0;
    let here = -1;
    const show = (position) => {
      if (here >= 0) marks[here].circle.classList.remove("here");
      here = position;
      if (here < 0) { hush(); return; }
      marks[here].circle.classList.add("here");
      const box = marks[here].circle.getBoundingClientRect();
      say(marks[here].words, box.left + box.width / 2, box.top + box.height / 2);
    };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const unit = svg.viewBox.baseVal.width / box.width;
      const [x, y] = [(event.clientX - box.left) * unit, (event.clientY - box.top) * unit];
      let [near, least] = [-1, (32 * unit) ** 2];
      marks.forEach((mark, position) => {
        // Bars and rows of the map are pointed at by their height alone.
        const across = figure.dataset.rows ? 0 : mark.x - x;
        const far = across ** 2 + (mark.y - y) ** 2;
        if (far < least) { near = position; least = far; }
      });
      show(near);
    });
    svg.addEventListener("pointerleave", () => show(-1));
    figure.addEventListener("blur", () => show(-1));
    figure.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") show(-1);
      if (!step) return;
      event.preventDefault();
      show((Math.max(here, step > 0 ? -1 : 0) + step + marks.length) % marks.length);
    });
  };
  document.querySelectorAll("figure.chart").forEach(attach);
  return { say, hush, attach };
})();
