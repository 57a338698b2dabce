// The page Ask: every change of the row is answered at once; what would flip the answer follows when it rests.
"use strict";

(() => {
  const element = (id) => document.getElementById(id);
  const answer = element("answer");
  let kept = null;
  let timer = 0;

  const refreshChanges = window.latest(async () => {
    element("changes").innerHTML = (await window.studio.post("/ask/changes", { row: form.row() })).html;
  });

  // On narrow screens the answer is below the form: its first line stays in sight at the bottom.
  function showLive() {
    element("live-verdict").replaceChildren(answer.querySelector(".verdict").cloneNode(true));
  }

  const refresh = window.latest(async () => {
    const start = performance.now();
    const found = await window.studio.post("/ask/answer", { row: form.row(), kept, favoured: element("favoured").value });
    answer.innerHTML = found.html;
    showLive();
    element("comparison-card").hidden = !found.comparison;
    element("comparison").innerHTML = found.comparison || "";
    answer.getBoundingClientRect(); // the layout is part of the time
    answer.dataset.milliseconds = String(performance.now() - start);
    answer.dataset.serverMilliseconds = String(found.milliseconds);
    answer.dataset.answers = String(Number(answer.dataset.answers || 0) + 1);
    window.clearTimeout(timer);
    timer = window.setTimeout(refreshChanges, 250);
  });

  const form = window.rowForm(element("row-form"), refresh);
  const first = form.row();
  showLive();
  refreshChanges();
  element("reset").addEventListener("click", () => form.set(first));
  element("keep").addEventListener("click", () => { kept = form.row(); refresh(); element("comparison-card").scrollIntoView({ block: "nearest" }); });
  element("drop-kept").addEventListener("click", () => { kept = null; refresh(); });
  element("favoured").addEventListener("change", refresh);
  element("changes").addEventListener("click", (event) => {
    const button = event.target.closest("[data-set]");
    if (button) form.set({ [button.dataset.set]: button.dataset.value });
  });
})();
