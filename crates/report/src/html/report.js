"use strict";
(() => {
  const problems = [];
  addEventListener("error", (event) => problems.push(event.message));
  const byId = (id) => document.getElementById(id);
  const parsed = (id) => JSON.parse(byId(id).textContent || "null");
  const results = parsed("results-data");
  const map = parsed("map-data");
  const isMapDrawn = Boolean(map && byId("map-segment"));
  if (isMapDrawn) drawMap(results, map);

  // ---- A check of itself, for tests: report.html#check leaves its outcome in the document. ----

  const lookUp = (path) => path.split("/").reduce((value, key) => (value ?? {})[key], results);
  const check = () => {
    const wrong = [...problems];
    let compared = 0;
    for (const cell of document.querySelectorAll("[data-path]")) {
      const value = lookUp(cell.dataset.path);
      compared += 1;
      if (value === undefined || value === null || Number(cell.dataset.value) !== value) {
        wrong.push(`${cell.dataset.path}: ${cell.dataset.value} in the table, ${value} in the results`);
      }
    }
    const pictures = [];
    if (isMapDrawn) {
      const slider = byId("map-segment");
      for (let segment = +slider.min; segment <= +slider.max; segment += 1) {
        slider.value = segment;
        slider.dispatchEvent(new Event("input"));
        map.arrays.forEach((array, position) => {
          (pictures[position] ??= new Set()).add(byId(`map-file-${position}`).toDataURL());
        });
      }
      map.arrays.forEach((array, position) => {
        // Snapshots that differ in nothing but what fewer columns lose would be one picture.
        if (pictures[position].size > array.snapshots.length || (array.columns >= 1024 && pictures[position].size < array.snapshots.length)) {
          wrong.push(`${array.name}: ${pictures[position].size} pictures of ${array.snapshots.length} snapshots`);
        }
      });
    }
    document.documentElement.dataset.compared = compared;
    document.documentElement.dataset.pictures = pictures.map((set) => set.size).join(" ");
    document.documentElement.dataset.check = wrong.length ? `wrong: ${wrong.join("; ")}` : "ok";
  };
  if (location.hash === "#check") check();
})();
