// Runs: a worker for each array, and one that makes results of what the arrays have so far.

/** Fetches the module out of the page. */
const loadModule = async () => {
  const element = byId("module");
  const bytes = unlzma(fromBase64(element.textContent.trim()));
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

/** Makes results, one request at a time. While it is busy, only the newest wish counts. */
const resultsOffice = (startWorker) => {
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
    if (!asked) return;
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
  const workers = run.arrays.map((array, position) => {
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
        if (run.arrays.every(({ isOver }) => isOver)) run.endedAt = performance.now();
      }
      changed(hasKept || Boolean(answer));
    });
    const request = { call: "run_array", text, files, scale_down: scale, array: position };
    worker.postMessage({ request, attachments: [] });
    return worker;
  });
  return run;
};

/** What makes `run` different from the one before it, in a few words. */
const differenceOf = (run, before) => {
  const { name, seed, controls } = run.checked;
  const whole = `${name}, seed ${seed}`;
  if (!before || before.checked.name !== name) return whole;
  const values = new Map(before.checked.controls.map(({ path, value }) => [path, value]));
  const changes = controls
    .filter(({ path, value }) => values.get(path) !== value)
    .map(({ of, label, value, unit, choices }) => {
      const words = choices?.find((choice) => choice.value === value)?.label ?? value;
      return `${of}: ${label} ${value === null ? "not set" : [words, unit].filter(Boolean).join(" ")}`;
    });
  if (run.scale !== before.scale) changes.push(scaleWords(run.scale));
  if (changes.length > 2) return `${changes[0]}, and ${plural(changes.length - 1, "more change")}`;
  return changes.join("; ") || (run.text === before.text ? `${whole}, again` : `${whole}, text edited`);
};
