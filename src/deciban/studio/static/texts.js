// The page Texts: the text is answered at every change.
"use strict";

(() => {
  const text = document.getElementById("text");
  const answer = document.getElementById("answer");
  const refresh = window.latest(async () => {
    const start = performance.now();
    const found = await window.studio.post("/texts/answer", { column: text.dataset.column, text: text.value });
    answer.innerHTML = found.html;
    answer.dataset.milliseconds = String(performance.now() - start);
    answer.dataset.answers = String(Number(answer.dataset.answers || 0) + 1);
  });
  text.addEventListener("input", refresh);
})();
