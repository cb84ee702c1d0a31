/** Requests to the plugin's routes. */

/** An error whose message is shown to the user. */
export class Failure extends Error {}

async function ask(path, query, signal) {
  const text = query ? String(query) : "";
  let reply;
  try {
    // Relative: TensorBoard may live under any path.
    reply = await fetch(text ? `./${path}?${text}` : `./${path}`, { signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("TensorBoard does not answer. Is it still running?");
  }
  if (!reply.ok) throw new Failure(await reason(reply));
  return reply;
}

async function reason(reply) {
  try {
    const { error } = await reply.json();
    if (error) return error;
  } catch {
    // Not from the plugin, such as a proxy's page.
  }
  return `TensorBoard answered with an error (${reply.status}).`;
}

export async function getJson(path, query, signal) {
  const reply = await ask(path, query, signal);
  try {
    return await reply.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("TensorBoard's answer could not be read.");
  }
}

export async function getText(path, query) {
  return (await ask(path, query)).text();
}

export async function getBlob(path, query) {
  return (await ask(path, query)).blob();
}

/** Aborts an older request, so that its answer never replaces a newer one. */
export class Latest {
  async getJson(path, query) {
    this.open?.abort();
    this.open = new AbortController();
    return getJson(path, query, this.open.signal);
  }
}

/**
 * Sends one request at a time, and then the latest one: for a line that is
 * dragged faster than the server answers.
 */
export class Steady {
  constructor(work) {
    this.work = work;
    this.busy = false;
    this.next = null;
  }

  async run(...args) {
    this.next = args;
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.next) {
        const wanted = this.next;
        this.next = null;
        await this.work(...wanted);
      }
    } finally {
      this.busy = false;
    }
  }
}

const samples = new Map();

/**
 * Samples of a run at a step, cached for a revision of the log: a run may be
 * deleted and trained again. Samples of an earlier step are not cached, since
 * those of the step may still be written.
 */
export function getSamples(run, step, page = 0, rev = "") {
  const query = new URLSearchParams({ run, page });
  if (step !== undefined && step !== null) query.set("step", step);
  const key = `${rev} ${query}`;
  if (!samples.has(key)) {
    const answer = getJson("samples", query);
    answer.then((found) => String(found.step) === String(step) ||
      samples.delete(key), () => samples.delete(key));
    samples.set(key, answer);
    if (samples.size > 200) samples.delete(samples.keys().next().value);
  }
  return samples.get(key);
}

const VERSION = "tfcap_tradeoff.plotly";

/** Remembers Plotly's version, by which browsers cache the library. */
export function keepVersion(version) {
  try {
    if (version) localStorage.setItem(VERSION, version);
  } catch {
    // Without storage, the library is loaded anew.
  }
}

function version() {
  try {
    return localStorage.getItem(VERSION) ?? "";
  } catch {
    return "";
  }
}

let plotly = null;

/** Loads Plotly from the server once; again after an error. */
export function loadPlotly() {
  plotly ??= addPlotly().catch((error) => {
    plotly = null;
    throw error;
  });
  return plotly;
}

function addPlotly() {
  return new Promise((resolve, reject) => {
    if (window.Plotly) return resolve(window.Plotly);
    const script = document.createElement("script");
    script.src = `./plotly.js?v=${encodeURIComponent(version())}`;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      script.remove();
      // Once more, for the error message.
      getJson("plotly.js").catch(reject);
    };
    document.head.append(script);
  });
}
