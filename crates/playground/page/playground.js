// The page: what is chosen, what is running, what is shown.

const catalog = JSON.parse(byId("catalog").textContent);
const entries = new Map([...catalog.bases, ...catalog.scenarios].map((scenario) => [scenario.id, scenario]));
const studies = new Map(catalog.studies.map((study) => [study.id, study]));
const MOST_EARLIER_RUNS = 6;
const PAUSE_MS = 250;

const start = async () => {
  const module = await loadModule();
  const startWorker = workersOf(module);
  const desk = deskOf(startWorker);
  const office = resultsOffice(startWorker, () => {
    if (!run) return;
    showEnd();
    showState();
  });
  const sections = sectionsIn(byId("sections"), byId("contents"));
  const root = document.documentElement;

  // ---- What is in the editor, and whether it can run. ----

  /** The answer for what is in the editor; null until it is there. */
  let checked = null;
  let checks = 0;
  let pause = 0;
  let run = null;
  /** The answer that is shown, and the run it is of. */
  let shown = null;
  let earlier = [];
  /** Choices whose text is on its way. */
  let choosing = 0;

  const scale = () => Number(document.querySelector("[name=scale]:checked").value);
  const { call } = desk;

  /** The check that is on its way, if it is of what is in the editor. */
  let checking = null;
  const check = () => {
    clearTimeout(pause);
    checking ??= askCheck();
    return checking;
  };
  const askCheck = async () => {
    checks += 1;
    const mine = checks;
    const { text, files } = editor.current;
    const newest = await call({ call: "check", text, files, scale_down: scale() });
    if (mine !== checks) return;
    editor.endStep();
    checked = newest;
    showCheck();
  };
  const onChange = (atOnce) => {
    checked = null;
    checking = null;
    checks += 1;
    clearTimeout(pause);
    showChoice();
    showState();
    if (atOnce) check(); else pause = setTimeout(check, PAUSE_MS);
  };
  const editor = editorOf(onChange);

  /** Why it cannot run. While the answer is on its way, nothing: a click that ends a change must not be lost. */
  const whyNot = () => {
    if (!checked) return "";
    if (!checked.ok) return "The scenario has problems: see below.";
    return checked.too_large ?? "";
  };

  const showCheck = () => {
    const problems = checked.ok ? [] : checked.problems?.length ? checked.problems : [checked];
    editor.showProblems(problems);
    const all = Math.max(problems.length, checked.all ?? 0);
    byId("verdict").textContent = checked.ok ? "No problems"
      : `${plural(all, "problem")}${all > problems.length ? `, of which ${problems.length} are shown` : ""}`;
    byId("warnings").replaceChildren(...(checked.warnings ?? []).map((text) => make("li", { textContent: text })));
    if (checked.ok) {
      settings.show(checked.controls);
      const [megabytes, largest] = [checked.memory_bytes, checked.largest_array_bytes]
        .map((bytes) => grouped(Math.max(1, Math.round(bytes / 1e6))));
      byId("cost").textContent = `${plural(checked.segments, "segment")} of ${checked.segment}; `
        + `about ${megabytes} MB of memory${checked.arrays.length > 1 ? `, ${largest} MB for the largest array` : ""}.`;
      byId("scaled").hidden = !checked.scaled.length;
      byId("scaled").querySelector("summary").textContent = `What ${scaleWords(scale())} changes`;
      byId("scaled").querySelector("ul").replaceChildren(...checked.scaled.map((text) => make("li", { textContent: text })));
    }
    showState();
  };

  /** The change that a control is making: a run waits for it. */
  let changing = null;
  const settings = settingsIn(byId("settings"), (path, value) => {
    changing = changeSetting(path, value).finally(() => { changing = null; });
    return changing;
  });
  const changeSetting = async (path, value) => {
    const { text, files } = editor.current;
    const changed = await call({ call: "set", text, files, settings: [[path, value]] });
    if (!changed.ok) return failureWords(changed);
    editor.replace({ ...editor.current, text: changed.text });
    return null;
  };

  // ---- Scenarios and studies. ----

  const choice = byId("choice");
  const group = (label, kind, all) => {
    const options = all.map(({ id, title }) => make("option", { value: `${kind}:${id}`, textContent: title }));
    return make("optgroup", { label }, ...options);
  };
  choice.append(make("option", { value: "", textContent: "Your own text", hidden: true }),
    group("Scenarios", "scenario", catalog.scenarios), group("Studies", "study", catalog.studies));

  /** Returns the draft of a choice. `at` has the position of the value on each axis. */
  const draftOf = async (id, at = []) => {
    const [kind, name] = id.split(/:(.*)/s);
    if (kind === "scenario") {
      const { text, files, scale: first } = entries.get(name);
      return { text, files, scale: first, from: { id, at: [] } };
    }
    const study = studies.get(name);
    const values = study.axes.map((axis, position) => axis.values[at[position] ?? 0]);
    const base = entries.get(values.findLast((value) => value.base)?.base ?? study.base);
    const draft = { text: base.text, files: base.files, scale: base.scale, from: { id, at: values.map((_, position) => at[position] ?? 0) } };
    const wanted = values.flatMap((value) => value.settings);
    if (!wanted.length) return draft;
    const changed = await call({ call: "set", text: base.text, files: base.files, settings: wanted });
    if (!changed.ok) throw new RangeError(failureWords(changed));
    return { ...draft, text: changed.text };
  };
  const choose = async (id, at) => {
    sayIn("notice", "");
    choosing += 1;
    try {
      const draft = await draftOf(id, at);
      if (id !== editor.current.from.id) setScale(draft.scale);
      editor.replace(draft);
      sayIn("axes-problem", "");
    } catch (error) {
      showChoice();
      sayIn("axes-problem", error.message);
    } finally {
      choosing -= 1;
    }
    showState();
  };
  choice.addEventListener("change", () => choose(choice.value));

  let axesOf = null;
  const showChoice = () => {
    const { id, at } = editor.current.from;
    choice.value = id;
    const study = id.startsWith("study:") ? studies.get(id.slice("study:".length)) : null;
    sayIn("question", study && `${study.question} (One combination is run here. The whole study, with its predictions: strewn study ${study.id})`);
    if (axesOf !== study) {
      axesOf = study;
      byId("axes").replaceChildren(...(study?.axes ?? []).map((axis, position) => {
        const options = axis.values.map(({ label }, value) => make("option", { value, textContent: label }));
        const select = make("select", { id: `axis-${position}` }, ...options);
        select.addEventListener("change", () =>
          choose(id, [...byId("axes").querySelectorAll("select")].map((one) => Number(one.value))));
        return make("div", { className: "field" }, make("label", { htmlFor: select.id, textContent: axis.label }), select);
      }));
    }
    at.forEach((value, position) => { byId(`axis-${position}`).value = value; });
  };

  document.querySelectorAll("[name=scale]").forEach((radio) => radio.addEventListener("change", () => onChange(true)));
  const setScale = (value) => { document.querySelector(`[name=scale][value="${value}"]`).checked = true; };

  // ---- The run. ----

  const isOver = () => run.endedAt !== null && !office.isBusy();
  const state = () => {
    if (run && !isOver()) return "running";
    if (!checked || choosing) return "checking";
    if (!checked.ok) return "bad";
    if (!run || run.draft !== editor.current || run.scale !== scale()) return "ready";
    if (run.isFaulty || run.arrays.some(({ failure }) => failure)) return "failed";
    return run.isStopped ? "stopped" : "done";
  };
  /** Whether what is shown is not of what is in the editor. */
  const isChanged = () => Boolean(shown) && (shown.run.draft !== editor.current || shown.run.scale !== scale());
  const showState = () => {
    root.dataset.state = state();
    const reason = whyNot();
    byId("run").disabled = Boolean(reason);
    byId("reason").textContent = reason || "or Ctrl+Enter";
    const stop = byId("stop");
    const isRunning = Boolean(run) && run.endedAt === null;
    if (!isRunning && stop === document.activeElement) byId("run").focus();
    stop.disabled = !isRunning;
    sayIn("stale", shown && shown.run !== run ? "These are the results of the run before."
      : isChanged() ? "The scenario has been changed since this run." : "");
  };

  const progressWords = ({ name, progress, segments, failure, isOver: isComplete }) => {
    const operations = progress ? `, ${plural(progress.operations, "operation")}` : "";
    const { segments: all } = run.checked;
    if (failure) return `${name}: failed after ${plural(segments, "segment")}`;
    if (isComplete && segments < all) return `${name}: ended after ${segments} of ${plural(all, "segment")}${operations}`;
    if (isComplete) return `${name}: ${plural(all, "segment")}${operations}`;
    if (run.isStopped) return `${name}: stopped after ${segments} of ${plural(all, "segment")}${operations}`;
    return progress ? `${name}: segment ${Math.min(progress.segment, all)} of ${all}${operations}` : `${name}: starting`;
  };
  const showProgress = () => run.arrays.forEach((array, position) => {
    const [words, bar] = byId("progress").children[position].children;
    words.textContent = progressWords(array);
    bar.value = array.isOver && !array.failure ? 1 : array.progress ? array.progress.now_seconds / array.progress.of_seconds : 0;
  });
  const showFailures = (others = []) => {
    const failures = run.arrays.filter(({ failure }) => failure).map(({ name, failure }) => ({ name, ...failure }));
    byId("alarm").replaceChildren(...[...failures, ...others].map(({ name, message, help }) =>
      make("p", { textContent: [name && `${name}: `, message, help && `; help: ${help}`].filter(Boolean).join("") })));
  };

  const showEnd = () => {
    if (!isOver()) return;
    const outcome = run.isStopped ? "Stopped" : run.arrays.some(({ failure }) => failure) ? "Failed" : "Done";
    byId("status").textContent = `${outcome} after ${run.seconds().toFixed(1)} s.`;
  };
  const onNews = (isNew) => {
    // The news of a run that another one replaces.
    if (!run) return;
    showProgress();
    if (run.arrays.some(({ failure }) => failure)) showFailures();
    if (isNew) showResults();
    showEnd();
    showState();
  };

  /** The controls of what ships under the scenario's name, or of the study that was chosen. */
  const shipped = new Map();
  const shippedControls = async () => {
    const { id } = editor.current.from;
    const { name } = checked;
    const entry = id.startsWith("study:") ? entries.get(studies.get(id.slice("study:".length)).base) : entries.get(name);
    if (!entry) return checked.controls;
    if (!shipped.has(entry)) {
      const { text, files: beside } = entry;
      shipped.set(entry, (await call({ call: "check", text, files: beside, scale_down: 1 })).controls ?? []);
    }
    return shipped.get(entry);
  };
  const labelOf = ({ checked: { name }, changes, text }) =>
    changes.length ? `${name}: ${changes.join("; ")}`
      : entries.has(name) && entries.get(name).text !== text ? `${name}, text edited` : name;

  const runNow = async () => {
    // What cannot be set must not pass for what was run.
    if (await changing) return;
    if (!checked) await check();
    if (!checked || whyNot()) return;
    const changes = changesOf(checked.controls, await shippedControls());
    if (!checked || whyNot()) return;
    const before = run;
    run = null;
    before?.stop();
    if (before?.answer) keepRun(before);
    const { current } = editor;
    const scenario = { draft: current, text: current.text, files: current.files, scale: scale(), checked };
    run = startRun(startWorker, { ...scenario, changes }, onNews);
    byId("progress").replaceChildren(...run.arrays.map(() =>
      make("label", {}, make("span"), make("progress", { max: 1, value: 0 }))));
    byId("alarm").replaceChildren();
    byId("status").textContent = "Running.";
    root.dataset.segments = 0;
    showProgress();
    showEarlier();
    showState();
  };
  byId("run").addEventListener("click", runNow);
  byId("stop").addEventListener("click", () => run?.stop());
  addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    // A control tells of its value when the focus leaves it, or with this.
    if (document.activeElement.matches("[data-setting]")) document.activeElement.dispatchEvent(new Event("change"));
    runNow();
  });

  // ---- Results. ----

  const showResults = () => office.want(() => {
    const of = run;
    if (!of?.hasResults()) return null;
    const segments = of.segments();
    return {
      request: {
        call: "results", text: of.text, files: of.files, scale_down: of.scale, wall_seconds: of.seconds(),
        goes_on: of.endedAt === null,
        earlier: earlier.filter(isDrawn).map((kept) => kept.run.answer.curves),
      },
      attachments: of.arrays.map(({ kept }) => kept),
      // What was made of a run that is no longer shown is not looked at.
      then: (newest) => { if (of === run) showAnswer(newest, segments); },
    };
  });

  const showAnswer = (newest, segments) => {
    run.isFaulty = !newest.ok;
    if (newest.ok) {
      shown = { run, answer: newest };
      run.answer = newest;
      byId("run-line").textContent = newest.run;
      byId("heading").textContent = newest.headline;
      sayIn("accuracy", newest.accuracy);
      sayIn("changes", run.changes.length ? `Changed from what ships: ${run.changes.join("; ")}. Published figures and fits are of what ships.` : "");
      byId("notes").replaceChildren(...newest.notes.map((text) => make("p", { className: "caveat", textContent: text })));
      sections.show(run, newest);
      showFiles();
      root.dataset.segments = segments;
      root.dataset.firstResultMs ??= performance.now();
    } else {
      showFailures([newest]);
    }
    // The office is free when this returns.
    queueMicrotask(() => { showEnd(); showState(); });
  };

  // ---- Earlier runs. ----

  const isDrawn = (kept) => kept.isDrawn ?? (kept === earlier[0] && kept.run.checked.name === run.checked.name);
  const keepRun = (over) => {
    const time = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    earlier = [{ run: over, time, isDrawn: null }, ...earlier].slice(0, MOST_EARLIER_RUNS);
  };
  const showEarlier = () => {
    byId("earlier").hidden = !earlier.length;
    const drawn = earlier.filter(isDrawn);
    byId("earlier").querySelector("ul").replaceChildren(...earlier.map((kept) => {
      const { run: of, time } = kept;
      const box = make("input", { type: "checkbox", checked: isDrawn(kept) });
      box.addEventListener("change", () => {
        kept.isDrawn = box.checked;
        showEarlier();
        showResults();
      });
      const restore = make("button", { type: "button", textContent: "Restore", ariaLabel: `Restore ${labelOf(of)}` });
      restore.addEventListener("click", () => {
        setScale(of.scale);
        editor.replace(of.draft);
      });
      const remove = make("button", { type: "button", textContent: "Remove", ariaLabel: `Remove ${labelOf(of)}` });
      remove.addEventListener("click", () => {
        earlier = earlier.filter((one) => one !== kept);
        showEarlier();
        (byId("earlier").querySelector("button") ?? byId("results")).focus();
        showResults();
      });
      const isPartial = of.answer.partial;
      const line = drawn.indexOf(kept);
      const words = ` ${labelOf(of)} (${line < 0 ? "" : `${LINES[line % LINES.length]} line, `}${scaleWords(of.scale)}${isPartial ? ", partial" : ""}, ${time})`;
      return make("li", {}, make("label", {}, box, words), restore, remove);
    }));
  };

  // ---- Files and the link. ----

  /** The files of the results that are shown: `[name, type, text]`. */
  const files = ({ run: of, answer }) => [
    ["results.json", "application/json", answer.results],
    ["segments.csv", "text/csv", answer.csv],
    ...(answer.map ? [["map.json", "application/json", answer.map]] : []),
    ["scenario.toml", "application/toml", of.text],
    ...answer.charts.map(({ name, svg }) => [`${name}.svg`, "image/svg+xml", svg]),
  ];
  const showFiles = () => {
    byId("downloads").hidden = false;
    const names = files(shown).map(([name]) => name);
    const select = byId("file");
    if (names.join() === [...select.options].map(({ value }) => value).join()) return;
    select.replaceChildren(...names.map((name) => make("option", { value: name, textContent: name })));
  };
  byId("download").addEventListener("click", () => {
    const [name, type, text] = files(shown).find(([one]) => one === byId("file").value);
    const { scale: divisor, checked: { name: scenario, seed } } = shown.run;
    const parts = [scenario, "seed", seed, ...(divisor === 1 ? [] : ["1-of", divisor]), name];
    const href = URL.createObjectURL(new Blob([text], { type }));
    make("a", { href, download: parts.join("-").replaceAll(/[^\w.-]+/g, "-") }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  });

  /** What runs by itself when a link is opened; whoever opened it did not choose what it costs. */
  const MOST_BYTES_UNASKED = 1e9;
  const link = async () => {
    const { text, files: beside } = editor.current;
    const address = new URL(location.href);
    address.hash = await toFragment({ text, files: beside, scale: scale() });
    return address.href;
  };
  byId("copy").addEventListener("click", async () => {
    let address;
    try {
      address = await link();
    } catch (error) {
      byId("copied").textContent = `There is no link to it: ${error.message}.`;
      return;
    }
    history.replaceState(null, "", address);
    try {
      await navigator.clipboard.writeText(address);
      byId("copied").textContent = isChanged() ? "Copied: the scenario as it is now, changed since this run."
        : "Copied: scenario, seed and scale.";
    } catch {
      byId("copied").textContent = "The link is in the address bar: copy it from there.";
    }
  });

  /** Opens what the fragment says, otherwise the first scenario. */
  const openFragment = async () => {
    sayIn("notice", "");
    let linked = null;
    try {
      linked = await fromFragment(location.hash);
    } catch (error) {
      sayIn("notice", `The link cannot be opened: ${error.message}. Here is the first scenario instead.`);
    }
    setScale(linked?.scale ?? 64);
    return linked ? { text: linked.text, files: linked.files, from: { id: "", at: [] } }
      : draftOf(`scenario:${catalog.scenarios[0].id}`);
  };
  addEventListener("hashchange", async () => {
    if (!location.hash.startsWith(LINK_PREFIX)) return;
    editor.replace(await openFragment());
    runUnasked();
  });

  window.strewn = {
    state,
    text: () => editor.current.text,
    setText: (text) => editor.replace({ ...editor.current, text }),
    run: runNow,
    stop: () => run?.stop(),
    link,
    results: () => shown?.answer.results ?? null,
    csv: () => shown?.answer.csv ?? null,
    map: () => shown?.answer.map ?? null,
  };

  const runUnasked = async () => {
    await check();
    if (checked?.memory_bytes <= MOST_BYTES_UNASKED) runNow();
  };
  byId("source").open = isWide();
  editor.open(await openFragment());
  runUnasked();
};

start().catch((error) => {
  const help = error instanceof RangeError ? "fetch the page again: it is not whole"
    : "it needs a current browser, with WebAssembly, workers and DecompressionStream";
  document.documentElement.dataset.state = "failed";
  byId("reason").textContent = "";
  byId("alarm").replaceChildren(make("p", {
    textContent: `The page could not start: ${error.message}; help: ${help}.`,
  }));
});
