// A form of one row: sliders and inputs that follow each other, and the row as an object.
"use strict";

window.rowForm = (form, changed) => {
  const fields = [...form.querySelectorAll("[data-column]")];
  const cellOf = (field) => field.querySelector("[data-cell]");

  function follow(field, source) {
    const slider = field.querySelector("[data-slider]");
    if (!slider) return;
    const cell = cellOf(field);
    if (source === slider) {
      const decimals = Math.max(0, Math.ceil(-Math.log10(Number(slider.step)) - 1e-9));
      cell.value = Number(slider.value).toFixed(Math.min(decimals, 20));
    } else if (cell.value.trim() !== "" && !Number.isNaN(Number(cell.value))) {
      slider.value = cell.value;
    }
    slider.classList.toggle("unset", cell.value.trim() === "");
  }

  const row = () => Object.fromEntries(fields.map((field) => [field.dataset.column, cellOf(field).value]));

  function set(values) {
    for (const field of fields) {
      if (!(field.dataset.column in values)) continue;
      const cell = cellOf(field);
      cell.value = values[field.dataset.column];
      follow(field, cell);
    }
    changed();
  }

  form.addEventListener("input", (event) => {
    const field = event.target.closest("[data-column]");
    if (field) follow(field, event.target);
    changed();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  return { row, set };
};

// Calls of a function one after the other: while one runs, only the last of the others waits.
// The error of a call is shown until a later call of the same function succeeds.
window.latest = (work) => {
  let running = false;
  let waiting = false;
  let failed = false;
  const call = async () => {
    if (running) { waiting = true; return; }
    running = true;
    try {
      await work();
      if (failed) window.studio.hideAlert();
      failed = false;
    } catch (error) {
      window.studio.showAlert(error.message);
      failed = true;
    }
    running = false;
    if (waiting) { waiting = false; call(); }
  };
  return call;
};
