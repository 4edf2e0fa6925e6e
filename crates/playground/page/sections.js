// The report's sections, brought up to date in place while a run goes on.

/**
 * Makes `old` equal `fresh` and keeps the elements that stay. With them stay the focus, what is scrolled and what is
 * unfolded.
 */
const morph = (old, fresh) => {
  if (old.nodeName !== fresh.nodeName || old.id !== fresh.id) { replaceWith(old, fresh); return; }
  if (old.nodeType !== Node.ELEMENT_NODE) { if (old.data !== fresh.data) old.data = fresh.data; return; }
  // The script of charts and that of the map change these.
  if (old.matches("figure.chart")) { if (figureTexts.get(old) !== fresh.outerHTML) replaceWith(old, fresh); return; }
  if (old.matches("canvas, button")) return;
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const named = new Map([...old.children].filter(({ id }) => id).map((child) => [child.id, child]));
  let next = old.firstChild;
  const removeUpTo = (end) => {
    while (next !== end) {
      const gone = next;
      next = next.nextSibling;
      gone.remove();
    }
  };
  for (const node of [...fresh.childNodes]) {
    // What has a name stays itself, whatever comes before it.
    const same = node.id ? named.get(node.id) : next?.id ? null : next;
    if (same?.parentNode === old) {
      removeUpTo(same);
      next = same.nextSibling;
      morph(same, node);
    } else {
      old.insertBefore(node, next);
      attachTips(node);
    }
  }
  removeUpTo(null);
};

/** What a figure was before its tips were attached. */
const figureTexts = new WeakMap();

const attachTips = (node) => {
  if (node.nodeType !== Node.ELEMENT_NODE) return;
  for (const figure of [...(node.matches("figure.chart") ? [node] : []), ...node.querySelectorAll("figure.chart")]) {
    figureTexts.set(figure, figure.outerHTML);
    tips.attach(figure);
  }
};

const replaceWith = (old, fresh) => {
  const hadFocus = old === document.activeElement;
  if (hadFocus) tips.hush();
  old.replaceWith(fresh);
  attachTips(fresh);
  if (hadFocus) fresh.focus({ preventScroll: true });
};

/** The sections inside `place`, and the links to them inside `contents`. */
const sectionsIn = (place, contents) => {
  const texts = new Map();
  let map = null;
  let slider = null;
  let mapOf = null;
  // The map shows the newest segment until the reader chooses one.
  let follows = true;
  place.addEventListener("input", ({ target }) => {
    if (target === slider) follows = slider.value === slider.max;
  });
  place.addEventListener("click", ({ target }) => { if (target.id === "map-play") follows = false; });

  const showSection = ({ id, title, html }, position) => {
    const old = place.children[position];
    if (old?.id === id && texts.get(id) === html) return;
    texts.set(id, html);
    const fresh = make("section", { id }, make("h2", { id: `${id}-title`, textContent: title }));
    fresh.setAttribute("aria-labelledby", `${id}-title`);
    const template = make("template", { innerHTML: html });
    fresh.append(template.content);
    if (old?.id === id) { morph(old, fresh); return; }
    place.insertBefore(fresh, old ?? null);
    attachTips(fresh);
  };

  const showMap = (run, results, layoutMap) => {
    const now = document.getElementById("map-segment");
    if (mapOf !== run || slider !== now || !layoutMap) {
      map?.end();
      map = null;
      if (mapOf !== run) follows = true;
    }
    [slider, mapOf] = [now, run];
    if (!slider || !layoutMap) return;
    if (follows) slider.value = slider.max;
    if (map) map.show(results, layoutMap); else map = drawMap(results, layoutMap);
  };

  return {
    /** Shows the sections of `answer`; `run` tells one run from the next. */
    show: (run, { sections, results, map: layoutMap }) => {
      // Asked before anything changes: each answer after a change would lay out the page.
      const scrolled = [...place.querySelectorAll("figure.chart")].filter(({ scrollLeft }) => scrollLeft)
        .map(({ id, scrollLeft }) => ({ id, scrollLeft }));
      const ids = new Set(sections.map(({ id }) => id));
      [...place.children].filter(({ id }) => !ids.has(id)).forEach((section) => section.remove());
      sections.forEach(showSection);
      morph(contents, make("nav", { id: contents.id, ariaLabel: contents.ariaLabel }, ...sections.map(({ id, title }) =>
        make("a", { href: `#${id}`, textContent: title }))));
      for (const { id, scrollLeft } of scrolled) document.getElementById(id)?.scrollTo({ left: scrollLeft, behavior: "instant" });
      showMap(run, JSON.parse(results), JSON.parse(layoutMap || "null"));
    },
  };
};
