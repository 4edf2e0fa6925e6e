"use strict";
// The map, spindle by spindle, on the canvases of the page.
const drawMap = (() => {
  const byId = (id) => document.getElementById(id);
  const { say, hush } = tips;

  const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const LEVEL = Object.fromEntries([...LETTERS].map((letter, level) => [letter, level]));
  const MOST = LETTERS.length - 1;

  /** One level a column; past the end of the text that of its last letter. */
  const levels = (text, columns) => {
    const all = new Uint8Array(columns);
    if (text) {
      for (let column = 0; column < columns; column += 1) {
        all[column] = LEVEL[text[Math.min(column, text.length - 1)]];
      }
    }
    return all;
  };

  /** Draws `map`, with words from `results`, and follows the slider until `end()`. */
  return (results, map) => {
    const slider = byId("map-segment");
    const whole = byId("map-whole");
    const output = byId("map-now");
    const colours = () => {
      const style = getComputedStyle(document.documentElement);
      const of = (name) => style.getPropertyValue(name).trim();
      return { ink: of("--chart-ink"), grid: of("--chart-grid"),
        ramp: Array.from({ length: 13 }, (_, number) => of(`--map-${number}`)) };
    };
    // A segment is decoded when it is first looked at.
    const decoded = (array) => {
      const at = {};
      for (const snapshot of array.snapshots) {
        let spindles;
        const get = () => (spindles ??= snapshot.spindles.map((strip) => ({
          file: levels(strip.file, array.columns),
          distance: levels(strip.distance, array.columns),
          free: strip.free === undefined ? null : levels(strip.free, array.columns),
        })));
        for (const segment of snapshot.after_segments) Object.defineProperty(at, segment, { get });
      }
      return { ...array, at };
    };
    let arrays = map.arrays.map(decoded);
    const perColour = +slider.dataset.doublingsPerColour;
    const LEFT = 76, RIGHT = 8, AXIS = 26, ROW = 18;

    const prepare = (canvas, width, rows, rowHeight) => {
      const height = rows * rowHeight + AXIS;
      const ratio = window.devicePixelRatio || 1;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
      const context = canvas.getContext("2d");
      context.scale(ratio, ratio);
      context.clearRect(0, 0, width, height);
      return context;
    };

    const draw = (array, position, segment, end, width, { ink, grid, ramp }) => {
      const file = byId(`map-file-${position}`);
      const free = byId(`map-free-${position}`);
      const spindles = array.at[segment];
      // In a run that has not ended, one array may be behind the other.
      if (!spindles) {
        for (const canvas of [file, free]) canvas?.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
        return;
      }
      const first = array.first_parity_spindle ?? spindles.length;
      const parities = new Set(array.parity_spindles ?? []);
      const isParity = (spindle) => spindle >= first || parities.has(spindle);
      const frame = (canvas, rowHeight, paint) => {
        const context = prepare(canvas, width, spindles.length, rowHeight);
        const plot = width - LEFT - RIGHT;
        // On whole pixels of the screen: no seams between columns.
        const ratio = window.devicePixelRatio || 1;
        const x = (column) =>
          Math.round((LEFT + Math.min(1, column / array.columns / end) * plot) * ratio) / ratio;
        context.font = "11px 'DejaVu Sans', Verdana, Arial, sans-serif";
        spindles.forEach((strip, spindle) => {
          const bottom = (spindle + 1) * rowHeight - 1;
          context.fillStyle = grid;
          context.fillRect(LEFT, bottom, plot, 1);
          paint(context, strip, spindle, bottom, x, plot);
          if (rowHeight >= 10 || spindle === 0 || (isParity(spindle) && !isParity(spindle - 1))) {
            context.fillStyle = ink;
            context.textAlign = "right";
            context.textBaseline = "alphabetic";
            const name = isParity(spindle) ? `parity ${spindle}` : `${spindle}`;
            context.fillText(spindle === 0 ? `spindle ${name}` : name, LEFT - 8, Math.max(bottom, 9));
          }
        });
        const bottom = spindles.length * rowHeight;
        context.fillStyle = ink;
        context.textAlign = "center";
        context.textBaseline = "top";
        for (let tick = 0; tick <= 10; tick += 2) {
          const at = LEFT + (tick / 10) * plot;
          context.fillRect(at - 0.5, bottom, 1, 5);
          const words = `${+(tick * 10 * end).toPrecision(3)} %`;
          context.textAlign = tick === 10 ? "right" : "center";
          context.fillText(words, tick === 10 ? at + RIGHT : at, bottom + 8);
        }
      };
      const row = ROW;
      frame(file, row, (context, strip, spindle, bottom, x) => {
        for (let column = 0; column < array.columns && column / array.columns < end; column += 1) {
          if (!strip.file[column]) continue;
          const height = Math.max(1, (strip.file[column] / MOST) * (row - 2));
          context.fillStyle = ramp[Math.min(ramp.length - 1, Math.floor(strip.distance[column] / 2 / perColour))];
          context.fillRect(x(column), bottom - height, Math.max(1, x(column + 1) - x(column)), height);
        }
      });
      if (free) {
        frame(free, 7, (context, strip, spindle, bottom, x) => {
          context.fillStyle = ink;
          for (let column = 0; column < array.columns && column / array.columns < end; column += 1) {
            const used = 1 - strip.free[column] / MOST;
            if (used <= 0) continue;
            context.globalAlpha = 0.15 + 0.85 * used;
            context.fillRect(x(column), bottom - 6, Math.max(1, x(column + 1) - x(column)), 6);
          }
          context.globalAlpha = 1;
        });
      }
    };

    const measured = (name, segment) => {
      const array = results.arrays.find((one) => one.name === name);
      return array && array.segments.find((one) => one.index === segment);
    };
    const describe = (array, segment) => {
      const now = measured(array.name, segment);
      if (!now && segment > 0 && !array.at[segment]) return `${array.name} has not completed segment ${segment}`;
      if (!now) return results.real_spindles ? `${array.name} as it was found` : `${array.name} as it was laid out`;
      const rewritten = now.layout.rewritten_percent;
      return `${array.name}: layout score ${now.layout.score.toFixed(3)}, `
        + `the file spans ${now.layout.span_percent.toFixed(1)} % of the stroke`
        + (rewritten === null ? "" : `, ${rewritten.toFixed(0)} % of it rewritten`);
    };
    const update = () => {
      const segment = +slider.value;
      const shown = whole.checked ? 1 : +whole.dataset.shown;
      const words = segment === 0 ? "before segment 1" : `after segment ${segment}`;
      // Asked once: after each change the page would be laid out to answer.
      const width = byId("map-file-0").parentElement.clientWidth || 960;
      const inks = colours();
      output.textContent = words;
      slider.setAttribute("aria-valuetext", words);
      arrays.forEach((array, position) => {
        draw(array, position, segment, shown, width, inks);
        const described = describe(array, segment);
        byId(`map-words-${position}`).textContent = described;
        byId(`map-file-${position}`).setAttribute("aria-label", `Map ${words}. ${described}`);
      });
    };
    const ending = new AbortController();
    const listen = (target, event, then) => target.addEventListener(event, then, { signal: ending.signal });
    listen(slider, "input", update);
    listen(whole, "change", update);
    listen(window, "resize", update);
    listen(matchMedia("(prefers-color-scheme: dark)"), "change", update);
    // On paper in the colours of paper.
    listen(matchMedia("print"), "change", update);
    let timer = 0;
    const play = byId("map-play");
    const stop = () => { clearInterval(timer); timer = 0; play.textContent = "Play"; };
    listen(play, "click", () => {
      if (timer) { stop(); return; }
      if (slider.value === slider.max) slider.value = slider.min;
      play.textContent = "Stop";
      update();
      timer = setInterval(() => {
        if (slider.value === slider.max) { stop(); return; }
        slider.value = +slider.value + 1;
        update();
      }, 700);
    });
    // What a column of a spindle holds, shown when it is pointed at.
    arrays.forEach((_, position) => {
      const canvas = byId(`map-file-${position}`);
      listen(canvas, "pointerleave", hush);
      listen(canvas, "pointermove", (event) => {
        const array = arrays[position];
        const box = canvas.getBoundingClientRect();
        const spindles = array.at[+slider.value];
        const spindle = Math.floor((event.clientY - box.top) / ROW);
        const end = whole.checked ? 1 : +whole.dataset.shown;
        const across = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
        const column = Math.floor(across * end * array.columns);
        if (!spindles || !spindles[spindle] || across < 0 || column >= array.columns) { hush(); return; }
        const strip = spindles[spindle];
        const share = (100 * strip.file[column]) / MOST;
        const far = strip.distance[column] / 2;
        const free = strip.free ? `, ${((100 * strip.free[column]) / MOST).toFixed(0)} % free` : "";
        say(`spindle ${spindle}, ${((100 * (column + 0.5)) / array.columns).toFixed(2)} % of the stroke: `
          + `${share.toFixed(0)} % of it holds the file${share > 0 ? `, 2^${far} blocks from its predecessors` : ""}${free}`,
          event.clientX, event.clientY);
      });
    });
    update();
    return {
      /** Shows a later state of the same run, on the same canvases. */
      show: (newerResults, newerMap) => {
        results = newerResults;
        arrays = newerMap.arrays.map(decoded);
        update();
      },
      /** Lets go of the page. */
      end: () => { ending.abort(); stop(); },
    };
  };
})();
