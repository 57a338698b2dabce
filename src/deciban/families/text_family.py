"""The text family: bags of words under one of three event models, with selection and weighting of words.

Words are selected by their document frequencies, when the model is solved. Both measures test the dependence of a
document's class on the presence of the word, by the table of present and absent × K classes. The contribution of all
classes without the word has a closed form, so only the classes with entries of a word are visited: memory and time
are proportional to the entries.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.families.count_families import Bernoulli, Complement, Multinomial
from deciban.families.family import Family, divide_or_pool
from deciban.ledger import Bags, Needs, Tallies
from deciban.ledger.statistic import compute_offsets, divide
from deciban.scores import SparseLinear

By = Literal["information", "chi2"]
"""The measure by which words are selected."""


def information(documents: Tallies) -> Array:
    """Return the information gain of each word in nats, that of its presence or absence about a document's class.

    I = Σ_k p(v,k) ln[p(v,k)/p(v)p(k)] + p(v̄,k) ln[p(v̄,k)/p(v̄)p(k)] over each word's entries; the remaining classes
    add −p(v̄) ln p(v̄).

    >>> from deciban.ledger import Counts
    >>> two = Counts(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([[2.0], [2.0]]))
    >>> information(Tallies.from_counts(two)).round(4).tolist()  # ln 2: the first word determines the class
    [0.6931, 0.0]
    """
    N, n, N_k = documents.weight.sum(), cap_documents(documents), documents.weight[documents.class_code, 0]
    df = documents.per_feature(n)
    ratio = divide(n * N, df[documents.feature] * N_k, 1.0)
    present = n * np.log(np.where(ratio > 0, ratio, 1.0))  # of a weight that underflows: n ln n is 0
    entries = documents.per_feature(present + _times_log1p(N_k - n, -divide(n, N_k)))
    left = np.maximum(N - df, 0.0)
    return np.maximum(divide(entries - _times_log1p(left, -divide(df, N)), N), 0.0)


def chi2(documents: Tallies) -> Array:
    """Return χ² of the whole table of present and absent × class; 0 for a word of every document, or of none.

    χ² = N²/(df (N − df)) · Σ_k (n_kv − df N_k/N)²/N_k; the classes without the word add df²/N² · N_k each.
    """
    N, n, N_k = documents.weight.sum(), cap_documents(documents), documents.weight[documents.class_code, 0]
    df = documents.per_feature(n)
    gap = divide((n - divide(df, N)[documents.feature] * N_k) ** 2, N_k)
    elsewhere = np.maximum(N - documents.per_feature(N_k), 0.0)
    off = documents.per_feature(gap) + divide(df, N) ** 2 * elsewhere
    return divide(off * N**2, df * np.maximum(N - df, 0.0))


MEASURES: dict[By, Callable[[Tallies], Array]] = {"information": information, "chi2": chi2}


def find_kept_words(documents: Tallies, min_documents: float, max_words: int | None, by: By) -> NDArray[np.bool_]:
    """Return whether each word is kept: it has `min_documents` or more, and is among the `max_words` best of these.

    Of equals the first are kept. A word without documents (forgotten, or all held out) is not kept.
    """
    kept = np.diff(documents.start) > 0
    if min_documents > 0:
        kept &= documents.per_feature(documents.total) >= min_documents
    if max_words is None or kept.sum() <= max_words:
        return kept
    return find_highest(np.where(kept, MEASURES[by](documents), -1.0), max_words)


def find_highest(score: Array, n: int) -> NDArray[np.bool_]:
    """Return whether each score is among the n highest, 1 ≤ n ≤ len(score); of ties the first are chosen.

    >>> find_highest(np.array([1.0, 3.0, 2.0, 2.0, 2.0]), 3).tolist()
    [False, True, True, True, False]
    """
    lowest = np.partition(score, len(score) - n)[len(score) - n]
    kept = score > lowest
    ties = np.flatnonzero(score == lowest)
    kept[ties[: n - int(kept.sum())]] = True
    return kept


def cap_documents(documents: Tallies) -> Array:
    """Return n_kv, at most the documents of class k: sums of fractional weights are rounded independently."""
    return np.minimum(documents.total, documents.weight[documents.class_code, 0])


def _times_log1p(amount: Array, x: Array) -> Array:
    """Return amount · ln(1 + x), and 0 where the amount is 0."""
    return amount * np.log1p(np.where(amount > 0, x, 0.0))


Event = Literal["multinomial", "bernoulli", "complement"]
"""The event model: words are drawn one by one; each word is present or absent; or Rennie's complement."""

MAX_MEAN_LENGTH = 1 << 24
"""Largest mean number of words of documents that are drawn."""

WORDS_PER_BATCH = 1 << 22
"""Number of words drawn at a time, approximately."""


class SelectedWords(NamedTuple):
    """The places of the kept words, and their counts under the event model, weighted if the model has idf."""

    places: NDArray[np.intp]
    counted: Tallies


@dataclass(frozen=True)
class Text(Family):
    """Bags of words: multinomial, Bernoulli or complement over the kept words; the others carry no evidence.

    `reading` describes how documents become words. Kept are words of at least `least` documents, over all classes,
    and of these the `most` best by `by`; V in the smoothing is their number. A word of no document is not kept.
    With `idf`, n_kv is multiplied by idf_v = ln((1 + n)/(1 + df_v)) + 1, n documents of which df_v have the word:
    documents to be scored must be weighted alike (`compute_idf`). The Bernoulli event counts documents, whatever the
    words' values are.

    >>> from deciban.ledger import Counts
    >>> words = Tallies.from_counts(Counts(np.array([[3.0, 2.0], [0.0, 1.0]]), np.array([[2.0], [1.0]])))
    >>> np.exp(Text("words").log_theta(Bags(words, words))[0]).round(4).tolist()  # 4/7 and 3/7
    [0.5714, 0.4286]
    """

    reading: str
    event: Event = "multinomial"
    alpha: float = 1.0
    norm: bool = False
    least: float = 0.0
    most: int | None = None
    by: By = "information"
    idf: bool = False

    @property
    def probabilistic(self) -> bool:
        """See `Family.probabilistic`."""
        return self.event != "complement"

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("bags", words=self.reading, signed=False, skips=False)

    def select_words(self, part: Bags, solved: Bags | None = None) -> SelectedWords:
        """Return the counts in `part` of the words that `solved` (by default `part`) selects and weights."""
        solved = part if solved is None else solved
        self._check_options()
        mask = find_kept_words(solved.documents, self.least, self.most, self.by)
        places = np.flatnonzero(mask)
        counted = part.occurrences
        if self.event == "bernoulli":
            counted = replace(part.documents, total=cap_documents(part.documents))
        if not mask.all():
            counted = counted.take_features(places)
        if self.idf:
            counted = replace(counted, total=counted.total * compute_idf(solved)[places][counted.feature])
        return SelectedWords(places, counted)

    def _check_options(self) -> None:
        """Refuse idf with the Bernoulli event, and alpha = 0 with any event but the multinomial."""
        if self.event == "bernoulli" and self.idf:
            raise InputError(
                "a Bernoulli model counts the documents that have a word, so there is nothing for idf to weigh. "
                "Hint: idf=False, or event='multinomial'."
            )
        if self.event != "multinomial" and self.alpha == 0:
            raise InputError(
                f"a {self.event} model of words takes alpha > 0, not 0: the weight of a word of one class alone "
                f"would be infinite. Hint: alpha=1.0, or event='multinomial'."
            )

    def solve(self, part: Bags) -> SparseLinear:
        """See `Family.solve`."""
        places, counted = self.select_words(part)
        V, K = part.n_features, part.n_classes
        if not len(places):
            return _empty_form(K, V)
        form = self.solve_kept(counted)
        return form if len(places) == V else _extend_form(form, places, V)

    @property
    def event_family(self) -> Multinomial | Bernoulli | Complement:
        """The family of the counts of the kept words."""
        if self.event == "bernoulli":
            return Bernoulli(self.alpha, threshold=0.0)
        return Multinomial(self.alpha) if self.event == "multinomial" else Complement(self.alpha, self.norm)

    def solve_kept(self, counted: Tallies) -> SparseLinear:
        """Return the score form of the kept words alone."""
        form = self.event_family.solve(counted)
        assert isinstance(form, SparseLinear)
        return form

    def log_theta(self, part: Bags) -> Array:
        """Return ln θ_kv, K×V numbers (complement: its weights); 0 for words that are not kept, which add nothing."""
        form = self.solve(part)
        v = np.arange(part.n_features)
        weight = np.stack([form.weights(np.full(len(v), k), v) for k in range(part.n_classes)])
        found = -np.logaddexp(0, -weight) if self.event == "bernoulli" else weight
        return found if form.mute is None else np.where(form.mute, 0.0, found)

    def sample(self, part: Bags, codes: NDArray[np.intp], rng: np.random.Generator) -> Any:
        """Draw a bag for each class code, CSR n×V; the length of a multinomial one is Poisson with the class's mean.

        With `idf` the bag is already weighted.
        """
        if not self.probabilistic:
            return super().sample(part, codes, rng)
        places, counted = self.select_words(part)
        entries = counted if self.alpha else counted.fill_empty_classes()
        bags = self._make_urn(entries, mean_length(counted)).draw(codes, rng)
        if self.event == "bernoulli":
            bags.data = np.minimum(bags.data, 1.0)
        bags.indices = places[bags.indices].astype(bags.indices.dtype)
        bags.resize((len(codes), part.n_features))
        return bags

    def _make_urn(self, entries: Tallies, length: Array) -> "_WordUrn":
        """Return the words from which documents of a mean length are drawn.

        A word that occurs Poisson −ln(1 − θ) times is absent with probability 1 − θ: presence is drawn as words are.
        """
        n, a = entries.weight[:, 0], self.alpha
        if self.event == "multinomial":
            return _WordUrn(entries, entries.total, np.full(len(n), a), length)
        own, flat = -np.log1p(-entries.total / (n + a)[entries.class_code]), np.log1p(a / (n + a))
        return _WordUrn(entries, own, flat, entries.per_class(own) + flat * entries.n_features)

    def log_likelihood(self, part: Bags, solved: Bags) -> float:
        """See `Family.log_likelihood`; for the kept words, Σ_k N_k bias_k + Σ_kv n_kv weight_kv."""
        if not self.probabilistic:
            return super().log_likelihood(part, solved)
        if part.n_features != solved.n_features:
            raise UndefinedError(
                f"the pseudo-observations have words of their own ({solved.n_features} words, and {part.n_features} "
                f"of the documents), so the ledger does not give the likelihood. Hint: ask for that of the documents."
            )
        form = self.solve(solved)
        places, counted = self.select_words(part, solved)
        weight = form.weights(counted.class_code, places[counted.feature])
        return float(np.dot(part.weight[:, 0], form.bias) + np.dot(counted.total, weight))

    def n_parameters(self, part: Bags) -> int:
        """Return K(V − 1), for Bernoulli KV, of the kept words."""
        kept = int(find_kept_words(part.documents, self.least, self.most, self.by).sum())
        return part.n_classes * (kept if self.event == "bernoulli" else max(kept - 1, 0))


def compute_idf(part: Bags) -> Array:
    """Return ln((1 + n)/(1 + df)) + 1 of each word, kept or not."""
    df = part.documents.per_feature(cap_documents(part.documents))
    return np.log((1 + part.weight.sum()) / (1 + df)) + 1


def mean_length(counted: Tallies) -> Array:
    """Return the mean number of words of a document of each class; of all classes for a class without documents."""
    return divide_or_pool(counted.per_class(counted.total)[:, None], counted.weight)[:, 0]


def _empty_form(K: int, V: int) -> SparseLinear:
    """Return the score form of K classes and V words, none of which is kept: it gives no evidence."""
    start, class_code = np.zeros(V + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    zeros, mute = np.zeros(K), np.ones(V, dtype=np.bool_) if V else None
    return SparseLinear(start, class_code, np.zeros(0), zeros, zeros, np.zeros(V), np.ones(K), mute=mute)


def _extend_form(form: SparseLinear, places: NDArray[np.intp], V: int) -> SparseLinear:
    """Extend a score form of the words at these places to all V words; the others are marked in `mute`."""
    start, base, mute = np.zeros(V + 1, dtype=np.int64), np.zeros(V), np.ones(V, dtype=np.bool_)
    start[places + 1] = np.diff(form.start)
    base[places], mute[places] = form.base, False
    hard = None
    if form.hard is not None:
        hard = np.zeros(V, dtype=np.bool_)
        hard[places] = form.hard
    return replace(form, start=np.cumsum(start), base=base, mute=mute, hard=hard)


class _WordUrn:
    """The words of each class with their weights, from which bags are drawn without a table of classes × words.

    A class has its own words, the entries of `part`, each with its weight `own`, and in addition every word with
    the weight `flat` of the class: the pseudo-counts. So a word is drawn by searching a random number among the
    cumulative weights of the class's own words; beyond the last of them it is any word. The number of words is
    Poisson, with the class's mean `length`.
    """

    def __init__(self, part: Tallies, own: Array, flat: Array, length: Array) -> None:
        order = np.argsort(part.class_code, kind="stable")
        self.word, self.length, self.flat, self.V = part.feature[order], length, flat, part.n_features
        first = compute_offsets(np.bincount(part.class_code, minlength=part.n_classes))
        self.first, self.last = first[:-1], first[1:] - 1
        self.total = np.concatenate([[0.0], np.cumsum(own[order])])
        self.below, self.own = self.total[first[:-1]], np.diff(self.total[first])

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Any:
        """Draw a bag for each class code, CSR."""
        from scipy.sparse import csr_array, vstack

        longest = float(self.length.max(initial=0.0))
        if longest > MAX_MEAN_LENGTH:
            raise InputError(
                f"documents of {longest:g} words on average are too long to draw: at most {MAX_MEAN_LENGTH}. "
                f"Hint: scale the model down."
            )
        step = max(1, int(WORDS_PER_BATCH / max(longest, 1.0)))
        batches = [self._draw_batch(codes[at : at + step], rng) for at in range(0, len(codes), step)]
        return csr_array(vstack([csr_array((0, self.V)), *batches]))

    def _draw_batch(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Any:
        """Draw a bag for each class code, CSR, all at once."""
        from scipy.sparse import csr_array

        row = np.repeat(np.arange(len(codes)), rng.poisson(self.length[codes]))
        k = codes[row]
        spot = rng.random(len(k)) * (self.own + self.flat * self.V)[k]
        any_word = spot >= self.own[k]
        word = np.empty(len(k), dtype=np.intp)
        word[any_word] = rng.integers(0, max(self.V, 1), int(any_word.sum()))
        k, spot = k[~any_word], spot[~any_word]
        at = np.searchsorted(self.total, self.below[k] + spot, side="right") - 1
        word[~any_word] = self.word[np.clip(at, self.first[k], self.last[k])]
        return csr_array((np.ones(len(row)), (row, word)), shape=(len(codes), self.V))
