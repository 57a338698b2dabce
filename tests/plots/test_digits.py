"""Pictures of classes of images: means from what was learned, weights from the score."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import deciban
from deciban.errors import InputError, UndefinedError
from deciban.plots import digits
from deciban.plots.digits import compute_pixel_weights
from tests.plots.readability import assert_readable

X, y = load_digits(return_X_y=True)
ESTIMATORS = [
    deciban.PoissonNB(),
    deciban.MultinomialNB(),
    deciban.GaussianNB(),
    deciban.GaussianBayes(covariance="tied", shrinkage=0.1),
    deciban.GaussianBayes(shrinkage=0.3),
]
DB = 10 / np.log(10)


def images(figure, gid):
    found = [image for ax in figure.axes for image in ax.images if image.get_gid() == gid]
    return [np.asarray(image.get_array()) for image in found]


@pytest.mark.parametrize("model", ESTIMATORS, ids=str)
def test_the_means_are_those_of_the_images(model):
    drawn = images(digits(model.fit(X, y)), "mean")
    assert len(drawn) == 10
    for k, image in enumerate(drawn):
        np.testing.assert_allclose(image, X[y == k].mean(axis=0).reshape(8, 8), atol=1e-9)


def test_bernoulli_images_are_shares_of_ink():
    drawn = images(digits(deciban.BernoulliNB(binarize=7).fit(X, y)), "mean")
    np.testing.assert_allclose(drawn[3], (X[y == 3] > 7).mean(axis=0).reshape(8, 8), atol=1e-12)


@pytest.mark.parametrize("model", [ESTIMATORS[0], ESTIMATORS[3]], ids=str)
def test_a_weight_is_what_a_pixel_adds_from_the_palest_class_to_the_darkest(model):
    model.fit(X, y)
    means = np.stack([X[y == k].mean(axis=0) for k in range(10)])
    j, k = 28, 4
    pale, dark = (np.array([means.mean(axis=0)]) for _ in range(2))
    pale[0, j], dark[0, j] = means[:, j].min(), means[:, j].max()
    gain = (model.predict_joint_log_proba(dark) - model.predict_joint_log_proba(pale))[0]
    expected = DB * (gain[k] - np.delete(gain, k).mean())
    assert compute_pixel_weights(model)[k, j] == pytest.approx(expected, rel=1e-6)


def test_a_bent_score_is_taken_at_its_slope():
    model = deciban.GaussianNB(var_smoothing=0.1).fit(X, y)
    means = model.theta_
    x, j, k, h = means.mean(axis=0), 20, 7, 1e-4
    up, down = (np.array([x + s * h * np.eye(64)[j]]) for s in (1, -1))
    slope = (model.predict_joint_log_proba(up) - model.predict_joint_log_proba(down))[0] / (2 * h)
    expected = DB * (slope[k] - np.delete(slope, k).mean()) * np.ptp(means[:, j])
    assert compute_pixel_weights(model)[k, j] == pytest.approx(expected, rel=1e-5)


def test_weights_against_have_a_dash_so_that_they_are_distinct_in_grey():
    figure = digits(ESTIMATORS[0].fit(X, y))
    for ax in figure.axes:
        for image in ax.images:
            if image.get_gid() == "weight":
                most = image.get_clim()[1]
                (dashes,) = (line for line in ax.lines if line.get_gid() == "against")
                right, down = (np.asarray(part, dtype=int) for part in dashes.get_data())
                assert (np.asarray(image.get_array())[down, right] < 0).all()
                assert len(down) == (np.asarray(image.get_array()) <= -most / 3).sum()


@pytest.mark.parametrize("n", [2, 10, 26])
def test_every_text_can_be_read(n):
    rng = np.random.default_rng(n)
    labels = np.array([f"a letter with a long name {k}" for k in range(n)])
    codes = np.concatenate([np.arange(n), rng.integers(0, n, 300)])
    assert_readable(digits(deciban.PoissonNB().fit(rng.poisson(3, (len(codes), 16)), labels[codes])))


def test_one_image_of_each_class_is_enough():
    figure = digits(deciban.PoissonNB().fit(X[:2], y[:2]))
    assert len(images(figure, "weight")) == 2
    assert_readable(figure)


def test_some_classes_alone():
    assert [ax.get_title() for ax in digits(ESTIMATORS[0].fit(X, y), classes=[3, 8]).axes[:2]] == ["3", "8"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shape": (8, 9)}, "has 72 pixels, and the model 64"),
        ({"shape": 8}, r"shape must be \(height, width\)"),
        ({"classes": [11]}, "none of the 10 classes"),
        ({"classes": []}, "space for 1 to 40"),
    ],
)
def test_what_cannot_be_drawn_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        digits(ESTIMATORS[0].fit(X, y), **given)


def test_other_models_have_no_pixels():
    with pytest.raises(InputError, match="6 pixels do not make a square"):
        digits(deciban.PoissonNB().fit(X[:, :6], y))
    with pytest.raises(UndefinedError, match="estimator of pixels"):
        digits(object())
    with pytest.raises(UndefinedError, match="levels, which have no mean"):
        digits(deciban.CategoricalNB().fit((X > 7).astype(int), y))
