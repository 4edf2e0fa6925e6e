(() => {
  const problems = [];
  addEventListener("error", (event) => problems.push(event.message));
  const byId = (id) => document.getElementById(id);
  const sweep = JSON.parse(byId("sweep-data").textContent);

  // ---- Tables are sorted by a header. ----

  const collator = new Intl.Collator("en", { numeric: true });
  const sortBy = (table, column, header) => {
    const descending = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.cells[column];
      return cell.dataset.value === undefined ? cell.textContent : +cell.dataset.value;
    };
    const compare = (one, other) => {
      // Empty cells come last, in either direction.
      if (one === "" || other === "") return (one === "") - (other === "");
      const numbers = typeof one === "number" && typeof other === "number";
      const order = numbers ? one - other : collator.compare(one, other);
      return descending ? -order : order;
    };
    const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
    rows.sort((one, other) => compare(one[0], other[0]));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };
  for (const table of document.querySelectorAll("table.sorted")) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = header.textContent;
      button.addEventListener("click", () => sortBy(table, column, header));
      header.replaceChildren(button);
    });
  }

  // ---- A chart whose axes the reader chooses. ----

  const form = byId("choices");
  if (!form) return;
  const explorer = byId("explorer");
  const { digits, element } = pictures;
  const ANY = "any", NONE = "none";
  const COLOURS = 7, MOST_SERIES = 14, MOST_PANELS = 12;

  const unique = (values) => [...new Set(values)];
  const quantities = unique(sweep.figures.map((figure) => figure.quantity));
  const listed = (words) => words.filter(Boolean).join(", ");
  /** Whether ascending numbers are spaced by factors rather than by differences. */
  const byFactors = (numbers) => {
    const last = numbers.length - 1;
    if (last < 2 || numbers[0] <= 0 || numbers[last] < 10 * numbers[0]) return false;
    const smallest = (of) =>
      Math.min(...numbers.slice(1).map((number, at) => of(number) - of(numbers[at]))) / (of(numbers[last]) - of(numbers[0]));
    return smallest(Math.log) > smallest((number) => number);
  };

  /** What the rows of a quantity differ by: axes, the array, the segment. Each has values, and the value of a row. */
  const dimensionsOf = (quantity) => {
    const rows = sweep.rows.filter((row) => sweep.figures[row[1]].quantity === quantity);
    const all = [];
    const add = (name, keys, labels, numbers, log, key) => {
      if (keys.length > 1) all.push({ name, keys, labels, numbers, log, key });
    };
    sweep.axes.forEach((axis, number) => {
      const keys = unique(sweep.at.map((at) => at[number])).sort((one, other) =>
        axis.numbers ? axis.numbers[one] - axis.numbers[other] : one - other);
      const numbers = axis.numbers && keys.map((key) => axis.numbers[key]);
      const log = numbers && numbers[0] > 0 && (axis.log || byFactors(numbers));
      add(axis.name, keys, keys.map((key) => axis.labels[key]), numbers, log, (row) => sweep.at[row[0]][number]);
    });
    const arrays = unique(rows.map((row) => sweep.figures[row[1]].array));
    add("array", arrays, arrays, null, false, (row) => sweep.figures[row[1]].array);
    const segments = unique(rows.map((row) => row[2])).filter((segment) => segment !== null).sort((a, b) => a - b);
    add("segment", segments, segments.map(String), segments, false, (row) => row[2]);
    return { rows, all };
  };

  const state = { quantity: quantities[0], x: NONE, lines: NONE, panels: NONE, kind: "auto", fixed: {} };
  const PLACES = ["x", "lines", "panels"];
  let now = dimensionsOf(state.quantity);
  const dimension = (place) => now.all[state[place]] ?? null;

  /** Whether each combination of values of the axes was run. If not, fixing an axis would leave hardly a point. */
  const isGrid = () => now.all.filter((of) => of.name !== "array" && of.name !== "segment")
    .reduce((count, of) => count * of.keys.length, 1) === sweep.at.length;

  const choosePlaces = () => {
    now = dimensionsOf(state.quantity);
    const order = now.all.map((_, number) => number);
    const rank = (number) => {
      const of = now.all[number];
      return (of.name === "segment" ? 2e6 : of.name === "array" ? -1 : of.numbers ? 1e6 : 0) + of.keys.length;
    };
    const x = [...order].sort((one, other) => rank(other) - rank(one))[0];
    const rest = order.filter((number) => number !== x).sort((one, other) => rank(other) - rank(one));
    const few = rest.filter((number) => now.all[number].keys.length <= COLOURS);
    state.x = x ?? NONE;
    state.lines = isGrid() ? few[0] ?? NONE : few.find((number) => now.all[number].name === "array") ?? NONE;
    state.panels = isGrid() ? few[1] ?? NONE : NONE;
    state.fixed = {};
    now.all.forEach((of, number) => { state.fixed[number] = isGrid() ? of.keys[0] : ANY; });
  };

  const kind = () => {
    const [x, lines] = [dimension("x"), dimension("lines")];
    if (state.kind === "map") return x && lines ? "map" : "dots";
    if (state.kind !== "auto") return x ? state.kind : "dots";
    const isLong = (of) => of && of.numbers && of.name !== "segment" && of.keys.length >= 4;
    if (isLong(x) && isLong(lines)) return "map";
    return x && x.numbers ? "lines" : "dots";
  };

  // ---- Choices. ----

  const select = (name, label, options, chosen, change) => {
    const box = document.createElement("select");
    box.name = name;
    for (const [value, words] of options) {
      const option = new Option(words, value);
      option.selected = String(value) === String(chosen);
      box.append(option);
    }
    box.addEventListener("change", () => {
      change(box.value);
      update();
      // The choices were made again.
      form.elements[name]?.focus();
    });
    const words = document.createElement("label");
    words.append(label, box);
    return words;
  };

  const numberOr = (value) => (value === NONE ? NONE : +value);
  const place = (which, value) => {
    const before = state[which];
    const other = PLACES.find((it) => it !== which && value !== NONE && state[it] === value);
    // Two places trade what they show.
    if (other) state[other] = before;
    state[which] = value;
  };
  const drawChoices = () => {
    const boxes = [];
    if (quantities.length > 1) {
      boxes.push(select("quantity", "Figure", quantities.map((name) => [name, name]), state.quantity, (value) => {
        state.quantity = value;
        choosePlaces();
      }));
    }
    const options = now.all.map((of, number) => [number, of.name]);
    const labels = { x: "Along x", lines: kind() === "map" ? "Along y" : "Lines", panels: "Panels" };
    if (options.length) {
      for (const which of PLACES) {
        const all = which === "x" ? options : [[NONE, "none"], ...options];
        boxes.push(select(which, labels[which], all, state[which], (value) => place(which, numberOr(value))));
      }
    }
    boxes.push(select("kind", "Kind", [["auto", "by the axes"], ["lines", "lines"], ["dots", "dots"], ["map", "heat map"]],
      state.kind, (value) => { state.kind = value; }));
    now.all.forEach((of, number) => {
      if (PLACES.some((which) => state[which] === number)) return;
      const values = [[ANY, "any"], ...of.keys.map((key, at) => [key, of.labels[at]])];
      boxes.push(select(`fixed-${number}`, of.name, values, state.fixed[number], (value) => {
        state.fixed[number] = value === ANY ? ANY : of.keys.find((key) => String(key) === value);
      }));
    });
    form.replaceChildren(...boxes);
  };
  form.addEventListener("submit", (event) => event.preventDefault());

  // ---- What is drawn. ----

  const collect = () => {
    const [x, lines, panels] = PLACES.map(dimension);
    const fixed = now.all.map((of, number) => [of, number])
      .filter(([, number]) => !PLACES.some((which) => state[which] === number));
    const rows = now.rows.filter((row) =>
      fixed.every(([of, number]) => state.fixed[number] === ANY || of.key(row) === state.fixed[number]));
    const count = (of, most) => Math.min(of ? of.keys.length : 1, most);
    const isMap = kind() === "map";
    const content = {
      x, lines, panels, isMap, kind: kind(),
      unit: sweep.figures.find((figure) => figure.quantity === state.quantity).unit,
      share: sweep.figures.find((figure) => figure.quantity === state.quantity).share,
      // Several figures at one place are no line.
      joined: fixed.every(([, number]) => state.fixed[number] !== ANY),
      series: isMap ? lines.keys.length : count(lines, MOST_SERIES),
      shownPanels: count(panels, MOST_PANELS),
    };
    content.boxes = Array.from({ length: content.shownPanels }, (_, panel) => ({
      heading: panels ? `${panels.name}: ${panels.labels[panel]}` : "",
      series: Array.from({ length: content.series }, () => []),
    }));
    const at = (of, row) => (of ? of.keys.indexOf(of.key(row)) : 0);
    content.points = [];
    for (const row of rows) {
      const series = content.boxes[at(panels, row)]?.series[at(lines, row)];
      if (!series) continue;
      const point = { place: at(x, row), mean: row[3], low: row[4], high: row[5] };
      const range = row[4] === null ? "" : ` (${digits(row[4])} to ${digits(row[5])})`;
      const where = [panels && `${panels.name} ${panels.labels[at(panels, row)]}`,
        lines && `${lines.name} ${lines.labels[at(lines, row)]}`, x && `${x.name} ${x.labels[point.place]}`];
      point.words = `${listed(where)}: ${digits(row[3])} ${content.unit}${range}`.replace(/^: /, "");
      series.push(point);
      content.points.push(point);
    }
    for (const box of content.boxes) for (const series of box.series) series.sort((one, other) => one.place - other.place);
    return content;
  };

  // ---- The drawing. ----

  const draw = () => {
    const content = collect();
    const width = Math.max(280, Math.floor(explorer.clientWidth) || 960);
    const words = byId("explore-words");
    if (!content.points.length) {
      explorer.replaceChildren();
      words.textContent = "No combination has these values: choose others, or \u201cany\u201d.";
      return content;
    }
    const svg = element("svg", { role: "img" });
    const { height, note } = pictures[content.kind](svg, content, width);
    svg.setAttribute("viewBox", `0 0 ${width} ${Math.ceil(height)}`);
    const unit = content.unit && !state.quantity.includes(content.unit) ? ` (${content.unit})` : "";
    const notes = [`${state.quantity}${unit}: ${content.points.length} figures.`, note];
    if (!content.isMap && content.lines && content.series < content.lines.keys.length) notes.push(`The first ${content.series} values of ${content.lines.name} are shown.`);
    if (content.panels && content.shownPanels < content.panels.keys.length) notes.push(`The first ${content.shownPanels} values of ${content.panels.name} are shown.`);
    words.textContent = notes.filter(Boolean).join(" ");
    svg.setAttribute("aria-label", words.textContent);
    const figure = document.createElement("figure");
    figure.append(svg);
    explorer.replaceChildren(figure);
    tips.attach(figure);
    return content;
  };
  const update = () => { drawChoices(); return draw(); };
  choosePlaces();
  update();
  let drawnWidth = explorer.clientWidth;
  addEventListener("resize", () => {
    if (explorer.clientWidth !== drawnWidth) { drawnWidth = explorer.clientWidth; draw(); }
  });

  // ---- A check of itself, for tests: report.html#check draws every choice, and leaves the outcome in the document. ----

  const check = () => {
    const wrong = [...problems];
    let drawn = 0;
    const look = () => {
      const content = update();
      const what = `${state.quantity}, ${PLACES.map((which) => dimension(which)?.name ?? NONE).join(" / ")}, ${kind()}`;
      const html = explorer.innerHTML;
      if (/NaN|undefined|Infinity/.test(html)) wrong.push(`${what}: ${html.match(/.{60}(NaN|undefined|Infinity)/)?.[0]}`);
      const circles = explorer.querySelectorAll(".values circle").length;
      if (circles !== Math.min(4000, content.points.length)) wrong.push(`${what}: ${circles} marks of ${content.points.length} figures`);
      if (PLACES.every((which) => !dimension(which)) && now.all.length) wrong.push(`${what}: nothing is shown`);
      const box = explorer.querySelector("svg")?.getBoundingClientRect();
      if (box && box.width > explorer.clientWidth + 1) wrong.push(`${what}: wider than the page`);
      drawn += 1;
    };
    for (const quantity of quantities) {
      state.quantity = quantity;
      for (let x = 0; x < Math.max(1, dimensionsOf(quantity).all.length); x += 1) {
        for (const kindOf of ["auto", "lines", "dots", "map"]) {
          choosePlaces();
          state.kind = kindOf;
          if (now.all.length) place("x", x);
          look();
          now.all.forEach((_, number) => { state.fixed[number] = ANY; });
          place("lines", NONE);
          look();
        }
      }
    }
    for (const table of document.querySelectorAll("table.sorted")) {
      for (const button of table.querySelectorAll("thead button")) {
        const rows = table.tBodies[0].rows.length;
        button.click();
        if (table.tBodies[0].rows.length !== rows) wrong.push(`${table.id}: rows are lost in sorting`);
      }
    }
    state.quantity = quantities[0];
    state.kind = "auto";
    choosePlaces();
    update();
    document.documentElement.dataset.drawn = drawn;
    document.documentElement.dataset.check = wrong.length ? `wrong: ${wrong.join("; ")}` : "ok";
  };
  if (location.hash === "#check") check();
})();
