"""New rows are read by their own cells: plain numbers, other currencies, and the order of day and month."""

import numpy as np
import pytest

import deciban
from deciban.errors import InputError
from tests.cli.terminal import done

N = 60
VALUES = [1000 + 37.25 * (i * 7 % 29) + 300 * (i % 2) for i in range(N)]
DAYS = [(1 + i * 5 % 28, 1 + (i * 7 + 3 * (i % 2)) % 12) for i in range(N)]
STYLES = {
    "us": (lambda x: f'"{x:,.2f}"', lambda d, m: f"{m:02}/{d:02}/2024"),
    "eu": (
        lambda x: '"' + f"{x:,.2f}".translate(str.maketrans(",.", ".,")) + '"', lambda d, m: f"{d:02}.{m:02}.2024",
    ),
    "plain": (lambda x: f"{x:.2f}", lambda d, m: f"2024-{m:02}-{d:02}"),
    "dollars": (lambda x: f'"${x:,.2f}"', lambda d, m: f"{d:02}.{m:02}.2024"),
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("styles")
    for name, (number, date) in STYLES.items():
        lines = [f"{number(x)},{date(*day)},{'ab'[i % 2]}\n" for i, (x, day) in enumerate(zip(VALUES, DAYS))]
        (folder / f"{name}.csv").write_text("v,d,y\n" + "".join(lines))
    return {name: folder / f"{name}.csv" for name in STYLES}


def posterior(model, path, **reading):
    return np.column_stack([column.to_numpy() for column in model.predict_proba(path, **reading).read_all().columns])


@pytest.mark.parametrize(
    ("learned", "new", "reading"),
    [
        ("eu", "plain", {}),
        ("us", "plain", {}),
        ("us", "dollars", {}),
        ("eu", "us", {"decimal": "."}),
        ("us", "eu", {"decimal": ","}),
    ],
)
def test_rows_are_read_whatever_they_are_written_like(learned, new, reading, files):
    model = deciban.train(files[learned], target="y", judge=False)
    assert {model.roles["v"], model.roles["d"]} <= {"number", "binned", "date"}
    np.testing.assert_allclose(posterior(model, files[new], **reading), posterior(model, files[learned]), rtol=1e-9)
    assert deciban.evaluate(files[new], model=model, **reading).rows == N


def test_a_given_order_of_dates_holds_where_the_first_rows_show_none(files, tmp_path):
    model = deciban.train(files["us"], target="y", judge=False)
    path, expected = tmp_path / "late.csv", tmp_path / "iso.csv"
    iso = ["v,d,y", *["1000.00,2024-03-04,a"] * 1000]
    path.write_text("\n".join([*iso, "1000.00,05/06/2024,a\n"]))
    expected.write_text("\n".join([*iso, "1000.00,2024-06-05,a\n"]))
    np.testing.assert_allclose(posterior(model, path, dates="day-first"), posterior(model, expected), rtol=1e-9)


def test_a_number_that_means_another_value_there_is_refused(files):
    model = deciban.train(files["us"], target="y", judge=False)
    with pytest.raises(InputError, match="which is not a number"):
        model.predict(files["eu"]).read_all()


def test_cells_that_leave_it_open_are_read_as_the_model_was(files, tmp_path):
    model = deciban.train(files["eu"], target="y", judge=False)
    (tmp_path / "open.csv").write_text('v,d\n"1.146",03.04.2024\n')
    (tmp_path / "same.csv").write_text('v,d\n"1146",03.04.2024\n')
    (tmp_path / "iso.csv").write_text("v,d\n1146,2024-04-03\n")
    first, *others = (posterior(model, tmp_path / f"{name}.csv") for name in ("open", "same", "iso"))
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-12)


def test_the_order_of_new_dates_can_be_given(files, tmp_path):
    model = deciban.train(files["plain"], target="y", judge=False)
    (tmp_path / "new.csv").write_text("v,d\n1146,03/04/2024\n")
    with pytest.raises(InputError, match="'03/04/2024' in line 2, which is not a date"):
        posterior(model, tmp_path / "new.csv")
    (tmp_path / "iso.csv").write_text("v,d\n1146,2024-04-03\n")
    expected = posterior(model, tmp_path / "iso.csv")
    np.testing.assert_allclose(posterior(model, tmp_path / "new.csv", dates="day-first"), expected, rtol=1e-12)
    model.save(tmp_path / "m.deciban")
    given, iso = ("new.csv", "--dates", "day-first"), ("iso.csv",)
    for verb in ("predict", "explain"):
        first, second = (
            done(verb, tmp_path / "m.deciban", tmp_path / name, *more).stdout for name, *more in (given, iso)
        )
        assert first.replace("03/04/2024", "") == second.replace("2024-04-03", "")


def test_rows_in_another_style_can_be_added(files, tmp_path):
    model = deciban.train(files["eu"], target="y", judge=False)
    same, other = (deciban.train(files[name], target="y", like=model, judge=False) for name in ("eu", "plain"))
    assert (model + same).describe().to_dict()["classes"] == (model + other).describe().to_dict()["classes"]
    np.testing.assert_allclose(posterior(model + other, files["eu"]), posterior(model + same, files["eu"]), rtol=1e-9)
