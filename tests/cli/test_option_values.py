"""Values of options that no data could make right are wrong usage, exit code 2, in every command that has them."""

import pytest

from deciban.cli.app import GROUP
from deciban.cli.command_groups import Group
from deciban.errors import UsageError
from deciban.option_values import NumberRange
from tests.cli.terminal import NEW, PATIENTS, call, done


def find_commands(group=GROUP):
    """The commands of a group and of its groups, by how they are called."""
    for name in group.commands:
        found = group.find(name)
        if isinstance(found, Group):
            yield from find_commands(found)
        else:
            yield f"{group.name} {name}", found


NUMBERS = [
    pytest.param(name, command, each, id=f"{name} {each.names[0]}")
    for name, command in find_commands()
    for each in command.arguments
    if isinstance(getattr(each.settings.get("type"), "__self__", None), NumberRange)
]


@pytest.mark.parametrize(("name", "command", "option"), NUMBERS)
def test_a_word_and_a_number_beyond_the_limits_are_refused_alike(name, command, option):
    allowed = option.settings["type"].__self__
    values = ["abc", "nan", *(str(value) for value in allowed.excluded if allowed.kind is float)]
    values += [f"{allowed.minimum - 1:g}"] * (allowed.minimum > -float("inf"))
    values += [f"{allowed.maximum + 1:g}"] * (allowed.maximum < float("inf"))
    needed = [name for each in command.arguments if each.settings.get("required") for name in (each.names[0], "0.5")]
    for value in values:
        with pytest.raises(UsageError, match=option.names[-1]):
            command.parse(name, [*needed, option.names[-1], value, "model", "data"])


def test_most_numbers_have_limits():
    """Only a cost may be any finite number."""
    unlimited = {each.values[2].names[0] for each in NUMBERS if not str(each.values[2].settings["type"].__self__)}
    assert unlimited == {"--reject"}


@pytest.mark.parametrize("value", ["abc", "-1", "nan", "inf", "", "1,5"])
def test_a_pseudo_count_that_is_none_is_wrong_usage(value, tmp_path):
    result = call("train", PATIENTS, "--target", "diagnosis", "--alpha", value, "-o", tmp_path / "m.deciban")
    assert result.exit_code == 2
    assert "Option --alpha: " in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["train", PATIENTS, "--target", "diagnosis", "--C", "0"], "'0' is not above 0"),
        (["train", PATIENTS, "--target", "diagnosis", "--most-levels", "0"], "'0' is less than 1"),
        (["train", PATIENTS, "--target", "diagnosis", "--prior", "cold=-1,flu=1,pneumonia=1"], "'-1' is less than 0"),
        (["evaluate", PATIENTS, "--target", "diagnosis", "--folds", "1"], "'1' is less than 2"),
        (
            ["evaluate", PATIENTS, "--target", "diagnosis", "--folds", "some"],
            "'some' is neither a whole number nor loo",
        ),
        (["learning", PATIENTS, "--target", "diagnosis", "--sizes", "20,-3"], "'-3' is not above 0"),
        (["learning", PATIENTS, "--target", "diagnosis", "--flipped", "1"], "'1' is not below 1"),
        (["compare", PATIENTS, "--target", "diagnosis", "--sizes", "20,2.5"], "'2.5' is not a whole number"),
        (["bayes", "--prior", "2", "--sensitivity", "1", "--specificity", "1"], "'2' is more than 1"),
        (["predict", "m.deciban", NEW, "--reject-novel", "1"], "'1' is not below 1"),
        (["explain", "m.deciban", NEW, "--row", "9" * 400], "is too large"),
        (
            ["train", PATIENTS, "--target", "diagnosis", "--prior", "cold=0.5,cold=0.2,flu=0.3"],
            "--prior gives cold both 0.5 and 0.2",
        ),
        (
            ["train", PATIENTS, "--target", "diagnosis", "--as", "age=number", "--as", "age=text"],
            "--as gives age both number and text",
        ),
        (["mail", "watch", "--ham", "a", "--junk", "b", "--every", "inf"], "'inf' is not finite"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_numbers_that_no_data_could_make_right_are_wrong_usage(words, wrong):
    result = call(*words)
    assert result.exit_code == 2
    assert wrong in result.stderr


def test_a_role_that_is_given_twice_is_taken_once(tmp_path):
    roles = ["--as", "age=binned", "--as", "age=binned"]
    done("train", PATIENTS, "--target", "diagnosis", *roles, "-o", tmp_path / "m.deciban")


def test_limits_are_in_the_help_text():
    text = " ".join(done("train", "--help").stdout.split())
    assert "[above 0]" in text
    assert "[0 or more]" in text
    assert "[0 to below 1]" in " ".join(done("predict", "--help").stdout.split())


def test_numbers_at_their_limits_are_taken():
    figures = done("bayes", "--prior", "0", "--sensitivity", "1", "--specificity", "1.0", "--json").stdout
    assert '"prior": 0.0' in figures
