// The script of every page: requests, fragments, progress of jobs, files that are dropped, and small comforts.
// It runs before the page has any content, and handles events at the document: a click is never too early.
"use strict";

const studio = (() => {
  function showAlert(message) {
    const alertBox = document.getElementById("alert");
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "×";
    close.setAttribute("aria-label", "Close");
    close.addEventListener("click", hideAlert);
    alertBox.replaceChildren(message, close);
    alertBox.hidden = false;
  }

  function hideAlert() {
    document.getElementById("alert").hidden = true;
  }

  async function request(path, options = {}) {
    let response;
    try {
      response = await fetch(path, { ...options, headers: { "X-Studio": "1", ...(options.headers || {}) } });
    } catch {
      throw new Error("The studio does not answer. Is deciban studio still running in its terminal?");
    }
    if (!response.ok) {
      const text = await response.text();
      let message = text;
      try { message = JSON.parse(text).detail; } catch { /* not JSON: the text itself */ }
      throw new Error(message.charAt(0).toUpperCase() + message.slice(1));
    }
    return response;
  }

  const get = async (path) => (await request(path)).json();
  const fragment = async (path) => (await request(path)).text();
  const post = async (path, data) => (await request(path, {
    method: "POST", body: JSON.stringify(data ?? {}), headers: { "Content-Type": "application/json" },
  })).json();

  // Work in progress: the box at the bottom of the page, until the job has ended.
  const box = () => document.getElementById("job");
  const part = (name) => box().querySelector(`[data-job-${name}]`);
  const wait = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

  function showJob(job) {
    part("label").textContent = job.label;
    const bar = part("bar");
    bar.setAttribute("aria-label", job.label);
    if (job.total) {
      bar.max = Math.max(job.total, job.done);
      bar.value = job.done;
      part("count").textContent = `${job.done.toLocaleString("en")} of ${job.total.toLocaleString("en")} ${job.things}`;
    } else {
      bar.removeAttribute("value");
      part("count").textContent = job.done ? `${job.done.toLocaleString("en")} ${job.things}` : "";
    }
    box().hidden = false;
  }

  async function followJob() {
    for (;;) {
      const job = await get("/job");
      if (!job) return;
      if (job.state === "running") {
        showJob(job);
        await wait(200);
        continue;
      }
      box().hidden = true;
      if (job.state === "failed") throw new Error(job.error.charAt(0).toUpperCase() + job.error.slice(1));
      if (job.state === "done" && job.next) window.location.assign(job.next);
      return;
    }
  }

  // Elements that are filled with the HTML of a path.
  async function load(element, path) {
    element.setAttribute("aria-busy", "true");
    try {
      const html = await fragment(path);
      element.innerHTML = html;
      if (element.scrollWidth > element.clientWidth) element.tabIndex = 0; // to be scrolled by keys
      connect(element);
    } catch (error) {
      const text = document.createElement("p");
      text.className = "warning";
      text.textContent = error.message;
      element.replaceChildren(text);
    }
    element.removeAttribute("aria-busy");
  }

  async function submitForm(form) {
    const fields = new URLSearchParams(new FormData(form));
    const response = await request(form.getAttribute("action"), { method: "POST", body: fields });
    if (form.hasAttribute("data-job")) await followJob();
    else if (response.redirected) window.location.assign(response.url);
    else window.location.reload();
  }

  async function copyText(button) {
    const text = button.parentElement.querySelector("pre").textContent;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  // Files: sent as they are, as the body of a request, with progress.
  function sendFile(file, path) {
    return new Promise((resolve, reject) => {
      const sending = new XMLHttpRequest();
      sending.open("POST", `${path}?name=${encodeURIComponent(file.name)}`);
      sending.setRequestHeader("X-Studio", "1");
      sending.upload.addEventListener("progress", (event) => {
        showJob({ label: `Reading ${file.name}`, things: "bytes", done: event.loaded, total: event.total });
      });
      sending.addEventListener("load", () => {
        let answer = {};
        try { answer = JSON.parse(sending.responseText); } catch { /* an answer without JSON */ }
        if (sending.status < 300) resolve(answer);
        else reject(new Error(answer.detail || `The file was not read (${sending.status}).`));
      });
      sending.addEventListener("error", () => reject(new Error("The file was not read: the connection was closed. It may be too large; open it by its path instead.")));
      sending.send(file);
    });
  }

  async function openFile(file, zone) {
    const limit = Number(zone.dataset.limit || 0);
    if (limit && file.size > limit) {
      showAlert(zone.dataset.tooLarge);
      return;
    }
    try {
      const answer = await sendFile(file, zone.dataset.drop);
      window.location.assign(answer.next);
    } catch (error) {
      box().hidden = true;
      showAlert(error.message);
    }
  }

  async function submitOnce(form) {
    if (document.readyState === "loading") await new Promise((done) => { document.addEventListener("DOMContentLoaded", done, { once: true }); });
    const buttons = form.querySelectorAll("button");
    buttons.forEach((button) => { button.disabled = true; });
    try { await submitForm(form); } catch (error) {
      box().hidden = true;
      showAlert(error.message);
    }
    buttons.forEach((button) => { button.disabled = false; });
  }

  // Call a function for every event of these names whose target lies in an element of this selector.
  function listen(names, selector, handle) {
    for (const name of names) {
      document.addEventListener(name, (event) => {
        const element = event.target.nodeType === Node.TEXT_NODE ? event.target.parentElement : event.target;
        const found = element?.closest?.(selector);
        if (found) handle(found, event);
      });
    }
  }

  listen(["submit"], "form[data-job], form[data-fetch], form[data-submit]", (form, event) => {
    if (form.method.toLowerCase() !== "post") return;
    event.preventDefault();
    submitOnce(form);
  });
  listen(["change"], "form[data-submit]", (form) => form.requestSubmit());
  listen(["change"], "[data-drop]", (zone, event) => { if (event.target.files?.length) openFile(event.target.files[0], zone); });
  listen(["click"], "[data-copy]", copyText);
  listen(["click"], "[data-job-stop]", () => { post("/job/stop").catch((error) => showAlert(error.message)); });
  listen(["dragenter", "dragover"], "[data-drop]", (zone) => zone.classList.add("over"));
  listen(["dragleave", "drop"], "[data-drop]", (zone) => zone.classList.remove("over"));
  listen(["drop"], "[data-drop]", (zone, event) => { if (event.dataTransfer.files.length) openFile(event.dataTransfer.files[0], zone); });
  // A file that is dropped outside the drop zone would replace the page.
  for (const name of ["dragenter", "dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());

  function connect(root) {
    root.querySelectorAll("[data-load]").forEach((element) => load(element, element.dataset.load));
    root.querySelectorAll("figure.code").forEach((figure) => {
      figure.classList.toggle("long", figure.querySelector("pre").textContent.split("\n").length > 3);
    });
  }

  function showPage() {
    const menu = document.querySelector("details.menu");
    const narrow = window.matchMedia("(max-width: 860px)");
    if (narrow.matches) menu.open = false;
    narrow.addEventListener("change", (event) => { menu.open = !event.matches; });
    connect(document);
    if (!document.body.hasAttribute("data-session")) return;
    get("/job").then((job) => (job && job.state === "running" ? followJob() : null)).catch((error) => showAlert(error.message));
  }

  document.addEventListener("DOMContentLoaded", showPage);

  return { get, post, fragment, load, request, followJob, showAlert, hideAlert, connect };
})();
window.studio = studio;
