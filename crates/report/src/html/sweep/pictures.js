"use strict";
// Pictures of figures that were chosen, as SVG: each function fills an element, and returns its height and a note.
const pictures = (() => {
  const LETTER = 6.7, COLOURS = 7;
  const digits = (value, most) => {
    const size = Math.abs(value);
    const decimals = most ?? (size >= 1000 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
    return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
      .replace("-", "\u2212");
  };

  const element = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const colour = (number) => `var(--chart-${(number % COLOURS) + 1})`;
  const dash = (number) => (number >= COLOURS ? "6 3" : "none");
  const cut = (words, room) => {
    const letters = Math.max(2, Math.floor(room / LETTER));
    return words.length > letters ? `${words.slice(0, letters - 1)}…` : words;
  };

  const ticksOf = (low, high, most) => {
    const span = high - low || 1;
    const power = 10 ** Math.floor(Math.log10(span / most));
    const step = [1, 2, 5, 10].map((leading) => leading * power).find((size) => span / size <= most);
    const ticks = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) ticks.push(+tick.toPrecision(12));
    return ticks;
  };
  const figureRange = (points) => {
    const means = points.map((point) => point.mean);
    let [low, high] = [Math.min(...means), Math.max(...means)];
    const span = Math.max(high - low, 0.02 * Math.abs(high)) || 1;
    const ends = points.filter((point) => point.low !== null);
    const [least, most] = [Math.min(low, ...ends.map((point) => point.low)), Math.max(high, ...ends.map((point) => point.high))];
    // One of two seeds may be 25 times as wide as these are apart, and would flatten all lines.
    const room = Math.max(span, 0.5 * Math.abs(high));
    const lowest = Math.max(least, low - room, low >= 0 ? 0 : -Infinity);
    const highest = Math.min(most, high + room);
    const fromZero = lowest >= 0 && low <= 0.7 * high;
    const notes = [];
    if (!fromZero && lowest > span * 0.06) notes.push("The axis does not begin at zero.");
    if (least < lowest || most > highest) notes.push("Intervals that leave the axis are cut.");
    return { low: fromZero ? 0 : lowest - span * 0.06, high: highest + span * 0.06, note: notes.join(" ") };
  };

  /** Places of values along x, and the labels that have room. */
  const across = (x, left, width) => {
    const count = x ? x.keys.length : 1;
    const numbers = x && x.numbers ? x.numbers.map((number) => (x.log ? Math.log(number) : number)) : null;
    const [low, high] = numbers ? [numbers[0], numbers[numbers.length - 1]] : [-0.5, count - 0.5];
    const room = numbers ? 0.04 * width : 0;
    const at = (place) => (numbers && high > low
      ? left + room + ((numbers[place] - low) / (high - low)) * (width - 2 * room)
      : left + ((place + 0.5) / count) * width);
    const labels = [];
    let end = -Infinity;
    const half = (place) => (x.labels[place].length * LETTER) / 2;
    if (x) {
      for (let place = 0; place < count; place += 1) {
        const isLast = place === count - 1;
        while (isLast && labels.length > 1 && at(labels.at(-1)) + half(labels.at(-1)) + 6 > at(place) - half(place)) labels.pop();
        if (isLast || at(place) - half(place) >= end + 6) { labels.push(place); end = at(place) + half(place); }
      }
    }
    return { at, labels };
  };

  const marksOf = (svg, marks) => {
    const group = element("g", { class: "values", fill: "none", "pointer-events": "all" });
    for (const { x, y, words } of marks.slice(0, 4000)) {
      const circle = element("circle", { cx: x, cy: y, r: 9 });
      circle.append(element("title", {}, words));
      group.append(circle);
    }
    svg.append(group);
  };
  const line = (svg, x1, y1, x2, y2, stroke, width = 1) =>
    svg.append(element("line", { x1, y1, x2, y2, stroke, "stroke-width": width }));
  const write = (svg, words, x, y, anchor = "start", more = {}) =>
    svg.append(element("text", { x, y, "text-anchor": anchor, ...more }, words));

  const frame = (content, width) => {
    const many = content.boxes.length;
    const columns = width < 560 || many === 1 ? 1 : many <= 4 || content.isMap ? 2 : 3;
    return { columns, wide: width / columns };
  };

  /** The names of the series, in rows below the panels; returns how high they are. */
  const legend = (svg, content, top, width) => {
    if (!content.lines) return 0;
    let [left, row] = [4 + content.lines.name.length * LETTER + 16, 0];
    const first = Math.min(left, width / 2);
    write(svg, cut(content.lines.name, width / 2), 4, top + 14);
    for (let series = 0; series < content.series; series += 1) {
      const name = cut(content.lines.labels[series], width - first - 30);
      const wide = 26 + name.length * LETTER + 16;
      if (left > first && left + wide > width) { left = first; row += 1; }
      const y = top + 10 + row * 20;
      if (content.joined && content.kind === "lines") {
        svg.append(element("line", { x1: left, y1: y, x2: left + 20, y2: y, stroke: colour(series), "stroke-width": 2,
          "stroke-dasharray": dash(series) }));
      }
      svg.append(element("circle", { cx: left + 10, cy: y, r: 4, fill: colour(series) }));
      write(svg, name, left + 26, y + 4);
      left += wide;
    }
    return (row + 1) * 20 + 6;
  };

  const lines = (svg, content, width) => {
    const { columns, wide } = frame(content, width);
    const high = columns === 1 && content.boxes.length === 1 ? Math.min(420, Math.max(280, width * 0.45)) : 250;
    const [LEFT, RIGHT, BOTTOM] = [66, 14, 44];
    const range = figureRange(content.points);
    const marks = [];
    content.boxes.forEach((box, number) => {
      const left = (number % columns) * wide + LEFT;
      const top = Math.floor(number / columns) * high + (box.heading ? 26 : 12);
      const plotWide = wide - LEFT - RIGHT;
      const bottom = Math.floor(number / columns) * high + high - BOTTOM;
      if (box.heading) write(svg, cut(box.heading, wide - 8), left - LEFT + 4, top - 12, "start", { class: "heading" });
      const y = (figure) => bottom - (Math.min(range.high, Math.max(range.low, figure)) - range.low) / (range.high - range.low) * (bottom - top);
      for (const tick of ticksOf(range.low, range.high, columns === 1 ? 8 : 5)) {
        line(svg, left, y(tick), left + plotWide, y(tick), "var(--chart-grid)");
        write(svg, tick.toLocaleString("en-US", { maximumFractionDigits: 6 }), left - 8, y(tick) + 4, "end");
      }
      const x = across(content.x, left, plotWide);
      line(svg, left, bottom, left + plotWide, bottom, "var(--chart-ink)");
      line(svg, left, top, left, bottom, "var(--chart-ink)");
      for (const place of x.labels) {
        line(svg, x.at(place), bottom, x.at(place), bottom + 5, "var(--chart-ink)");
        write(svg, content.x.labels[place], x.at(place), bottom + 18, "middle");
      }
      write(svg, content.x ? content.x.name : "", left + plotWide / 2, bottom + 36, "middle");
      box.series.forEach((points, series) => {
        const runs = [];
        for (const point of points) {
          const last = runs.at(-1);
          if (content.joined && last && last.at(-1).place === point.place - 1) last.push(point);
          else runs.push([point]);
        }
        for (const run of runs) {
          const shaded = run.length > 1 && run.every((point) => point.low !== null);
          if (shaded) {
            const corners = [...run.map((point) => [point, point.low]), ...run.map((point) => [point, point.high]).reverse()];
            svg.append(element("polygon", { points: corners.map(([point, figure]) => `${x.at(point.place)},${y(figure)}`).join(" "),
              fill: colour(series), opacity: 0.25 }));
          } else {
            for (const point of run.filter((it) => it.low !== null)) {
              line(svg, x.at(point.place), y(point.low), x.at(point.place), y(point.high), colour(series));
            }
          }
          if (run.length > 1) {
            svg.append(element("polyline", { points: run.map((point) => `${x.at(point.place)},${y(point.mean)}`).join(" "),
              fill: "none", stroke: colour(series), "stroke-width": 2, "stroke-dasharray": dash(series) }));
          }
          for (const point of run) {
            const [cx, cy] = [x.at(point.place), y(point.mean)];
            if (points.length <= 40 || run.length === 1) svg.append(element("circle", { cx, cy, r: points.length > 60 ? 2.5 : 4, fill: colour(series) }));
            marks.push({ x: cx, y: cy, words: point.words });
          }
        }
      });
    });
    const bottom = Math.ceil(content.boxes.length / columns) * high;
    const height = bottom + legend(svg, content, bottom, width);
    marksOf(svg, marks);
    return { height, note: range.note };
  };

  const dots = (svg, content, width) => {
    const labels = content.x ? content.x.labels : [""];
    const longest = Math.max(...labels.map((label) => label.length)) * LETTER + 16;
    const [LEFT, RIGHT, BOTTOM] = [Math.max(14, Math.min(longest, width * 0.4)), 20, 44];
    const row = Math.max(24, content.series * 12 + 8);
    const range = figureRange(content.points);
    const plotWide = width - LEFT - RIGHT;
    const x = (figure) => LEFT + (Math.min(range.high, Math.max(range.low, figure)) - range.low) / (range.high - range.low) * plotWide;
    const marks = [];
    let top = 0;
    for (const box of content.boxes) {
      if (box.heading) { write(svg, cut(box.heading, width - 8), 4, top + 16, "start", { class: "heading" }); top += 24; }
      const bottom = top + row * labels.length;
      for (const tick of ticksOf(range.low, range.high, width < 560 ? 4 : 8)) {
        line(svg, x(tick), top, x(tick), bottom, "var(--chart-grid)");
        write(svg, tick.toLocaleString("en-US", { maximumFractionDigits: 6 }), x(tick), bottom + 18, "middle");
      }
      labels.forEach((label, place) => write(svg, cut(label, LEFT - 14), LEFT - 8, top + row * (place + 0.5) + 4, "end"));
      line(svg, LEFT, bottom, LEFT + plotWide, bottom, "var(--chart-ink)");
      line(svg, LEFT, top, LEFT, bottom, "var(--chart-ink)");
      box.series.forEach((points, series) => {
        for (const point of points) {
          const y = top + row * (point.place + 0.5) + 12 * (series - (content.series - 1) / 2);
          if (point.low !== null) line(svg, x(point.low), y, x(point.high), y, colour(series), 2);
          svg.append(element("circle", { cx: x(point.mean), cy: y, r: 4.5, fill: colour(series) }));
          marks.push({ x: x(point.mean), y, words: point.words });
        }
      });
      top = bottom + BOTTOM - 14;
    }
    const height = top + 6 + legend(svg, content, top + 6, width);
    marksOf(svg, marks);
    return { height, note: range.note };
  };

  const map = (svg, content, width) => {
    const means = content.points.map((point) => point.mean);
    let [low, high] = [Math.min(...means), Math.max(...means)];
    const about100 = content.share && low > 0;
    if (about100) {
      const factor = Math.max(high / 100, 100 / low, 1.05);
      [low, high] = [100 / factor, 100 * factor];
    }
    const steps = about100 ? 11 : 13;
    const shade = (figure) => {
      if (about100) {
        // The colour in the middle is that of 100.0 % alone, so that every other one says which side is ahead.
        if (Math.abs(figure - 100) < 0.05) return 5;
        const away = Math.min(5, Math.floor((Math.abs(Math.log(figure / 100)) / Math.log(high / 100)) * 5) + 1);
        return figure > 100 ? 5 + away : 5 - away;
      }
      const share = high > low ? (figure - low) / (high - low) : 0;
      return Math.min(steps - 1, Math.max(0, Math.round(share * (steps - 1))));
    };
    const fill = (step) => (about100 ? `var(--diverge-${step})` : `var(--map-${step})`);
    const isInk = (step) => (about100 ? step >= 2 && step <= 7 : step <= 4);
    const decimals = high >= 1000 ? 0 : high >= 10 ? 1 : 2;
    const { columns, wide } = frame(content, width);
    const rows = content.lines.labels;
    // Numbers ascend from the bottom; words are read from the top.
    const up = (row) => (content.lines.numbers ? row : rows.length - 1 - row);
    const longest = Math.max(...rows.map((label) => label.length)) * LETTER + 12;
    const [LEFT, RIGHT, BOTTOM] = [Math.min(longest, wide * 0.35), 10, 44];
    const cell = rows.length > 16 ? 16 : 30;
    const high1 = rows.length * cell + BOTTOM + 44;
    const marks = [];
    const unsure = (point) => about100 && point.low !== null && point.low <= 100 && point.high >= 100;
    content.boxes.forEach((box, number) => {
      const left = (number % columns) * wide + LEFT;
      const top = Math.floor(number / columns) * high1 + 40;
      const bottom = top + rows.length * cell;
      const plotWide = wide - LEFT - RIGHT;
      if (box.heading) write(svg, cut(box.heading, wide - 8), left - LEFT + 4, top - 26, "start", { class: "heading" });
      write(svg, cut(content.lines.name, wide - 8), left - LEFT + 4, top - 8);
      // Cells are of equal size.
      const x = across({ ...content.x, numbers: null }, left, plotWide);
      const cellWide = plotWide / content.x.keys.length;
      rows.forEach((label, place) => write(svg, cut(label, LEFT - 10), left - 6, bottom - (up(place) + 0.5) * cell + 4, "end"));
      for (const place of x.labels) write(svg, content.x.labels[place], x.at(place), bottom + 16, "middle");
      write(svg, content.x.name, left + plotWide / 2, bottom + 34, "middle");
      box.series.forEach((points, row) => {
        for (const point of points) {
          const y = bottom - (up(row) + 1) * cell;
          const step = shade(point.mean);
          svg.append(element("rect", { x: x.at(point.place) - cellWide / 2 + 0.5, y: y + 0.5, width: Math.max(1, cellWide - 1),
            height: cell - 1, fill: fill(step) }));
          const words = (unsure(point) ? "~" : "") + digits(point.mean, decimals);
          if (words.length * LETTER + 4 <= cellWide && cell > 16) {
            write(svg, words, x.at(point.place), y + cell / 2 + 4, "middle",
              { style: `fill:var(${isInk(step) ? "--chart-ink" : "--chart-paper"})` });
          }
          marks.push({ x: x.at(point.place), y: y + cell / 2, words: point.words });
        }
      });
    });
    const top = Math.ceil(content.boxes.length / columns) * high1 + 4;
    const box = Math.min(30, (width - 20) / steps);
    for (let step = 0; step < steps; step += 1) {
      svg.append(element("rect", { x: 4 + step * box, y: top, width: box, height: 14, fill: fill(step) }));
    }
    write(svg, digits(low, decimals), 4, top + 30);
    write(svg, digits(high, decimals), 4 + steps * box, top + 30, "end");
    if (about100) write(svg, "100", 4 + (steps * box) / 2, top + 30, "middle");
    marksOf(svg, marks);
    const notes = about100 ? ["The scale is mirrored about 100 %."] : [];
    if (content.points.some(unsure)) notes.push("~: the interval of the mean holds 100 %.");
    return { height: top + 38, note: notes.join(" ") };
  };
  return { digits, element, lines, dots, map };
})();
