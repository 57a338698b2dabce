/* Order of search results: pages that answer questions before records of what was measured, decided and changed. */
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    if (/^(project\/changelog|decisions|lab\/|benchmarks)/.test(page)) return score * 0.3;
    if (/^(guides|tutorials|coming-from|auto_examples)\//.test(page)) return score * 1.6;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
