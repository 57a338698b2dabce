"""Every estimator is read from its file as it was written: equal to the last bit, and able to learn more."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import deciban
from deciban import persistence
from deciban.errors import ModelFileError, SchemaError
from deciban.ledger import Tallies
from deciban.persistence import container
from deciban.persistence.generative_models import read_scorer, write_scorer
from deciban.scores import SparseLinear
from tests.estimators.examples import EXAMPLES, GENERATIVE, IDS, NAN_ACCEPTING


def save_and_load(model, path):
    model.save(path)
    return deciban.load(path)


def scores(model, X):
    return model.predict_joint_log_proba(X)


@pytest.mark.usefixtures("size")
@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_predictions_are_equal_to_the_last_bit(example, path):
    model, (X, _) = example.make_fitted(), example.data(200, seed=1)
    read = save_and_load(model, path)
    assert type(read) is type(model)
    assert np.array_equal(scores(read, X), scores(model, X))
    assert np.array_equal(read.predict(X), model.predict(X))
    assert read.predict(X).dtype == model.predict(X).dtype
    assert np.array_equal(read.explain(X).evidence, model.explain(X).evidence, equal_nan=True)
    assert str(read) == str(model)


@pytest.mark.usefixtures("size")
@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_the_ledger_is_the_same_and_learning_goes_on(example, path):
    model, more = example.make_fitted(), example.data(40, seed=2)
    read = save_and_load(model, path)
    assert read.ledger_ == model.ledger_
    assert read.ledger_.schema.fingerprint == model.ledger_.schema.fingerprint
    one, other = read.partial_fit(*more), model.partial_fit(*more)
    assert one.ledger_ == other.ledger_
    assert np.array_equal(scores(one, more[0]), scores(other, more[0]))
    assert one.forget(*more).ledger_ == other.forget(*more).ledger_


@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_models_from_files_add_up(example, path):
    a, b = example.make_fitted(seed=1), example.make_fitted(seed=2)
    read = save_and_load(a, path)
    assert (read + b).ledger_ == (a + b).ledger_
    assert ((b + read) - read).ledger_ == ((b + a) - a).ledger_
    assert (read * 0.5).ledger_ == (a * 0.5).ledger_


@pytest.mark.parametrize("example", NAN_ACCEPTING, **IDS)
def test_missing_values_are_remembered(example, path):
    X, y = example.data()
    X[::7, 0] = np.nan
    model = example.make().fit(X, y)
    read = save_and_load(model, path)
    assert read.ledger_ == model.ledger_
    assert np.array_equal(scores(read, X), scores(model, X))


@pytest.mark.parametrize("example", GENERATIVE, **IDS)
def test_imagined_examples_are_remembered(example, path):
    imagined = example.make_fitted(9, seed=5).ledger_
    name = "parameter_prior" if "Gaussian" in example.name else "alpha"
    model, (X, y) = example.make_fitted(**{name: imagined}), example.data()
    read = save_and_load(model, path)
    assert getattr(read, name) == imagined
    assert read._scorer.assumption.pseudo_observations is getattr(read, name)
    assert np.array_equal(scores(read, X), scores(model, X))
    assert np.array_equal(scores(read.partial_fit(X, y), X), scores(model.partial_fit(X, y), X))


@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_a_saved_model_can_be_saved_again_copied_and_pickled(example, path, tmp_path):
    model, (X, _) = example.make_fitted(), example.data()
    read = save_and_load(save_and_load(model, path), tmp_path / "second")
    for other in (copy.deepcopy(read), pickle.loads(pickle.dumps(read))):
        assert np.array_equal(scores(other, X), scores(model, X))
    assert clone(read).get_params() == clone(model).get_params()


LABELS = [
    np.array([3, 1, 2]),
    np.array([3, 1, 2], dtype=np.int8),
    np.array([1.0, 3.0, -2.0]),
    np.array([True, False]),
    np.array(["ä", "b" * 40, ""]),
    np.array(["x", "yy"], dtype=object),
    np.array([b"a", b"\xff"]),
    np.array([2**63 + 5, 7], dtype=np.uint64),
]


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: labels.dtype.str)
def test_labels_keep_their_type(labels, path):
    X, y = np.arange(12.0).reshape(6, 2), np.resize(labels, 6)
    model = deciban.GaussianNB().fit(X, y)
    read = save_and_load(model, path)
    assert read.classes_.dtype == model.classes_.dtype
    assert np.array_equal(read.classes_, model.classes_)
    assert list(map(type, read.ledger_.schema.classes)) == list(map(type, model.ledger_.schema.classes))
    assert np.array_equal(read.predict(X), model.predict(X))


def test_column_names_are_remembered_and_checked(path):
    import pandas as pd

    frame = pd.DataFrame({"größe": [1.0, 2.0, 9.0, 8.0], "💊": [0.0, 1.0, 5.0, 7.0]})
    read = save_and_load(deciban.GaussianNB().fit(frame, [0, 0, 1, 1]), path)
    assert read.feature_names_in_.tolist() == ["größe", "💊"]
    assert read.feature_names_in_.dtype == object
    assert read.predict(frame).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="feature names"):
        read.predict(frame.rename(columns={"💊": "pill"}))


def test_single_precision_is_remembered(path):
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    assert save_and_load(deciban.GaussianNB().fit(X, [0, 0, 0, 1, 1, 1]), path).theta_.dtype == np.float32


ARGUMENTS = [
    (deciban.MultinomialNB, {"alpha": np.array([0.5, 1.0, 2.0, 0.25])}),
    (deciban.MultinomialNB, {"alpha": [0.5, 1, 2.0, 0.25], "class_prior": (0.2, 0.3, 0.5)}),
    (deciban.MultinomialNB, {"alpha": 0.0, "class_prior": "smoothed", "prior_alpha": 2, "n_jobs": 2}),
    (deciban.BernoulliNB, {"alpha": 0.0, "binarize": 1.0, "fit_prior": False}),
    (deciban.BernoulliNB, {"alpha": np.float64(0.5), "binarize": np.int64(2)}),
    (deciban.PoissonNB, {"alpha": 0.0, "missing": "error"}),
    (deciban.ComplementNB, {"norm": True}),
    (deciban.CategoricalNB, {"min_categories": 20, "unseen": "smooth"}),
    (deciban.CategoricalNB, {"min_categories": [20, 20, 20, 30], "alpha": 0}),
    (deciban.JointBayes, {"alpha": 1.0, "unseen": "smooth", "min_categories": 20}),
    (deciban.GaussianNB, {"priors": np.array([0.1, 0.2, 0.7]), "parameter_prior": 2.0}),
    (deciban.GaussianBayes, {"shrinkage": "oas"}),
    (deciban.GaussianBayes, {"covariance": "tied", "shrinkage": 0.25}),
]


@pytest.mark.parametrize(("make", "arguments"), ARGUMENTS)
def test_arguments_come_back_as_they_were(make, arguments, path):
    counts = next(f for f in EXAMPLES if f.name == "MultinomialNB")
    X, y = counts.data()
    model = make(**arguments).fit(X, y)
    read = save_and_load(model, path)
    for name, value in model.get_params().items():
        assert np.array_equal(getattr(read, name), value) if value is not None else getattr(read, name) is None
    assert np.array_equal(scores(read, X), scores(model, X))
    assert np.array_equal(scores(read.partial_fit(X, y), X), scores(model.partial_fit(X, y), X))


@pytest.mark.parametrize("alpha", [1.0, 0.0])
@pytest.mark.parametrize(
    "make", [deciban.MultinomialNB, deciban.BernoulliNB, deciban.PoissonNB, deciban.ComplementNB]
)
def test_models_that_are_kept_sparse_come_back_so(make, alpha, path, monkeypatch):
    monkeypatch.setattr("deciban.engines.sparse.DENSE_CELLS", 10)
    X = csr_array(np.random.default_rng(0).poisson(0.1, (300, 50)).astype(float))
    X.data[:5] = 0
    model = make(alpha=alpha or (0.5 if make in (deciban.BernoulliNB, deciban.ComplementNB) else 0.0))
    model.fit(X, np.arange(300) % 25)
    read = save_and_load(model, path)
    assert isinstance(read.ledger_.parts[0], Tallies)
    assert isinstance(read._scorer.solved.forms[0], SparseLinear)
    assert read.ledger_ == model.ledger_
    assert np.array_equal(scores(read, X), scores(model, X))


def test_scoring_a_large_file_leaves_its_ledger_unread(path, monkeypatch):
    monkeypatch.setattr(container, "EAGER_CHECK_BYTES", 0)
    example = next(f for f in EXAMPLES if f.name == "GaussianBayes-full")
    example.make_fitted().save(path)
    read = deciban.load(path)
    read.predict(example.data()[0])
    assert not {"ledger", "complete"} & vars(read._scorer).keys()
    arrays = read._scorer._section.arrays
    assert not [name for name in arrays._verified if name.startswith("belief/ledger/parts")]


def test_damage_to_a_large_file_is_noticed_when_it_is_used(path, monkeypatch):
    example = next(f for f in EXAMPLES if f.name == "GaussianNB")
    model, (X, _) = example.make_fitted(), example.data()
    model.save(path)
    content = bytearray(path.read_bytes())
    content[content.index(model.ledger_.parts[0].m2.tobytes())] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="'belief/ledger/parts/0/m2' is not what was written"):
        deciban.load(path)
    monkeypatch.setattr(container, "EAGER_CHECK_BYTES", 0)
    read = deciban.load(path)
    assert np.array_equal(read.predict(X), model.predict(X))
    with pytest.raises(
        ModelFileError, match=r"m\.deciban': it is damaged: the array 'belief/ledger/parts/0/m2' is not"
    ):
        read.ledger_  # noqa: B018
    with pytest.raises(ModelFileError):
        deciban.load(path, verify=True)


def test_a_model_that_cannot_be_solved_yet_can_be_saved(path):
    model = deciban.ComplementNB(alpha=0.0).partial_fit([[1, 0], [0, 1]], ["a", "b"], classes=["a", "b"])
    read = save_and_load(model, path)
    more = [[0, 1], [1, 0]], ["a", "b"]
    assert np.array_equal(scores(read.partial_fit(*more), [[1, 2]]), scores(model.partial_fit(*more), [[1, 2]]))


def test_arguments_that_cannot_be_written_are_refused_by_name(path):
    model = deciban.GaussianNB().fit([[0.0], [1.0]], [0, 1])
    model.set_params(priors=len)
    with pytest.raises(ModelFileError, match=r"the argument priors=<built-in function len>"):
        model.save(path)
    model.set_params(priors=[0.5, lambda: 0.5])
    with pytest.raises(ModelFileError, match=r"the argument priors="):
        model.save(path)
    assert not path.exists()


def test_a_class_of_ones_own_is_refused(path):
    class Mine(deciban.GaussianNB):
        pass

    with pytest.raises(ModelFileError, match="Mine cannot be saved"):
        Mine().fit([[0.0], [1.0]], [0, 1]).save(path)


def test_an_unfitted_model_is_refused(path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        deciban.GaussianNB().save(path)
    assert not path.exists()


def test_a_file_of_an_unknown_kind_is_refused(path):
    persistence.write(path, {"kind": "painting"}, {})
    with pytest.raises(ModelFileError, match="'kind' should be one of"):
        deciban.load(path)


def test_what_differs_is_still_refused_after_loading(path):
    read = save_and_load(deciban.GaussianNB().fit([[0.0], [1.0]], [0, 1]), path)
    with pytest.raises(SchemaError, match="different classes"):
        read + deciban.GaussianNB().fit([[0.0], [1.0]], [0, 2])


def test_a_scorer_can_be_saved_without_an_estimator(path):
    model = deciban.CategoricalNB().fit([[0, 1], [1, 0]], ["a", "b"])
    section = write_scorer(model._scorer)
    persistence.write(path, section.header, section.arrays)
    read = read_scorer(persistence.read(path).section())
    assert read.ledger == model.ledger_
    assert np.array_equal(read.solved.forms[0].log_theta, model._scorer.solved.forms[0].log_theta)


def test_opening_a_file_does_not_load_scikit_learn_by_itself():
    script = "import sys, deciban; deciban.load; import deciban.persistence; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
