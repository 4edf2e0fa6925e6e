// Runs: a worker for each array, and one that makes results of what the arrays have so far.

/** Fetches the module out of the page. */
const loadModule = async () => {
  const element = byId("module");
  let bytes;
  try {
    bytes = fromLzma(fromBase64(element.textContent.trim()));
  } catch {
    throw new RangeError("the module in the page is damaged");
  }
  element.remove();
  return { bytes, compiled: await WebAssembly.compile(bytes) };
};

/** Returns a function that starts a worker with the module; `heard` gets its messages. */
const workersOf = ({ bytes, compiled }) => {
  const address = URL.createObjectURL(new Blob([byId("worker").textContent], { type: "text/javascript" }));
  return (heard) => {
    const worker = new Worker(address);
    worker.onmessage = ({ data }) => { if (data.wants === "bytes") worker.postMessage({ bytes }); else heard(data); };
    worker.onerror = ({ message }) => heard({
      answer: { ok: false, message: `a worker stopped: ${message || "the browser does not say why"}`, help: "reload the page" },
      attachments: [],
    });
    try {
      worker.postMessage({ compiled });
    } catch {
      worker.postMessage({ bytes });
    }
    return worker;
  };
};

/** The page needs time to draw results, and the reader to read. */
const REST_MS = 250;

/** Answers questions about texts, in order, so that a long one never stops the page. */
const deskOf = (startWorker) => {
  const asked = [];
  const worker = startWorker(({ answer }) => { if (answer) asked.shift()?.(answer); });
  return {
    call: (request) => new Promise((resolve) => {
      asked.push(resolve);
      worker.postMessage({ request, attachments: [] });
    }),
  };
};

/** Makes results, one request at a time. While it is busy, only the newest wish counts. `isFree()` is called when none is left. */
const resultsOffice = (startWorker, isFree) => {
  let answered = null;
  let wish = null;
  let isResting = false;
  const worker = startWorker(({ answer }) => {
    if (!answer || !answered) return;
    answered(answer);
    answered = null;
    isResting = true;
    setTimeout(() => { isResting = false; next(); }, REST_MS);
  });
  const next = () => {
    if (answered || isResting || !wish) return;
    const asked = wish();
    wish = null;
    if (!asked) { isFree(); return; }
    const { request, attachments, then } = asked;
    answered = then;
    worker.postMessage({ request, attachments });
  };
  return {
    /** `ask()` is called when the worker is free: it returns `{ request, attachments, then }`, or nothing. */
    want: (ask) => { wish = ask; next(); },
    isBusy: () => Boolean(answered || wish),
  };
};

/** Starts a run of `scenario`. `changed(isNew)` is called whenever there is news, with true if there is more to show. */
const startRun = (startWorker, scenario, changed) => {
  const { text, files, scale, checked } = scenario;
  const run = {
    ...scenario,
    startedAt: performance.now(),
    endedAt: null,
    isStopped: false,
    arrays: checked.arrays.map(({ name }) => ({
      name, kept: new Uint8Array(0), segments: 0, progress: null, failure: null, isOver: false,
    })),
    seconds: () => ((run.endedAt ?? performance.now()) - run.startedAt) / 1000,
    segments: () => run.arrays.reduce((sum, { segments }) => sum + segments, 0),
    hasResults: () => run.arrays.some(({ kept }) => kept.length),
    stop: () => {
      if (run.endedAt !== null) return;
      run.isStopped = true;
      workers.forEach((worker) => worker.terminate());
      run.endedAt = performance.now();
      changed(true);
    },
  };
  // No more at once than there are cores: each needs its memory.
  const workers = [];
  const waiting = run.arrays.map((array, position) => () => {
    const worker = startWorker(({ told, answer, attachments }) => {
      if (array.isOver || run.isStopped) return;
      // Besides progress, the results so far are told.
      const hasKept = Boolean(told) && told.kind !== "progress";
      if (hasKept) [array.kept, array.segments] = [attachments[0], told.segments];
      else if (told) array.progress = told;
      if (answer) {
        worker.terminate();
        array.isOver = true;
        if (answer.ok) [array.kept, array.segments] = [attachments[0], answer.segments]; else array.failure = answer;
        waiting.shift()?.();
        if (run.arrays.every(({ isOver }) => isOver)) run.endedAt = performance.now();
      }
      changed(hasKept || Boolean(answer));
    });
    const request = { call: "run_array", text, files, scale_down: scale, array: position };
    worker.postMessage({ request, attachments: [] });
    workers.push(worker);
  });
  waiting.splice(0, Math.max(2, navigator.hardwareConcurrency || 2)).forEach((start) => start());
  return run;
};

/** What of `controls` differs from those of the scenario as it ships, in words: each with what it is of. */
const changesOf = (controls, shipped) => {
  const values = new Map(shipped.map(({ path, value }) => [path, value]));
  return controls
    .filter(({ path, value }) => values.has(path) ? values.get(path) !== value : value !== null)
    .map(({ of, label, value, unit, choices }) => {
      const words = choices?.find((choice) => choice.value === value)?.label ?? value;
      return `${of}: ${label} ${value === null ? "not set" : [words, unit].filter(Boolean).join(" ")}`;
    });
};

/** Earlier runs are drawn with these, in turn. */
const LINES = ["solid", "dashed", "dotted", "dashed and dotted"];
