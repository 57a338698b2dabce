"""The time of a comparison: a quick default, a budget, processes, and nothing that is computed twice."""

import gc
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import deciban
from deciban.errors import DecibanWarning
from deciban.training import candidate_evaluation, candidates, discriminative_learners
from deciban.training.candidate_evaluation import CandidateRows
from deciban.training.worker_processes import TaskRunner
from tests.cli.terminal import PATIENTS
from tests.tables.clinic import patients

ROLES = {"patient": "skip"}
QUICK = ["naive Bayes", "Gaussian tied", "logistic", "evidence", "boosted"]


def clinic(n=120):
    frame = patients(n).to_pandas()
    return frame[frame["diagnosis"].notna()].reset_index(drop=True)


def compare(n=120, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        return deciban.compare(clinic(n), **{"target": "diagnosis", "roles": ROLES, "folds": 3, **settings})


def figures(found):
    """All results but times."""
    return {**found.to_dict(), "learners": [{**each.to_dict(), "seconds": None} for each in found]}


@pytest.mark.thorough(reason="times learners: seconds")
def test_by_default_there_are_five_learners_and_no_curves():
    found = compare(n_jobs=1)
    assert found.names == QUICK[:-1]  # of so few rows boosting makes naive Bayes
    assert "boosted" in " ".join(found.notes)
    assert found.growth is None
    assert found.notes[-1] == candidate_note()
    assert figures(found)["best"] == found.best.name


def candidate_note():
    from deciban.training.compare import QUICK_NOTE

    return QUICK_NOTE


def test_a_full_comparison_has_every_learner_and_curves(monkeypatch):
    chosen = []
    monkeypatch.setattr(candidates, "DISCRIMINATIVE_NAMES", {})  # these take long, and are named in any case
    monkeypatch.setattr(candidates, "CANDIDATE_NAMES", ("bayes", *candidates.COVARIANCES))
    found = compare(full=True, draws=2, n_jobs=1)
    chosen += found.names
    assert chosen == ["naive Bayes", *(f"Gaussian {name.replace('_', ' ')}" for name in candidates.COVARIANCES)]
    assert found.growth.draws == 2
    assert candidate_note() not in found.notes
    assert compare(full=True, curve=False, learners=["bayes"]).growth is None


@pytest.mark.parametrize(
    "asked", [{"curve": True}, {"draws": 2}, {"sizes": [20, 40]}], ids=lambda asked: next(iter(asked))
)
def test_curves_are_measured_where_they_are_asked_for(asked):
    assert compare(learners=["bayes"], **asked).growth is not None


def test_one_number_has_the_gaussian_that_it_allows():
    table = {"x": np.arange(60.0) % 17, "k": (np.arange(60) % 17 > 8).astype(int)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = deciban.compare(table, target="k", folds=2, n_jobs=1)
    assert set(found.names) >= {"naive Bayes", "logistic"}
    made = list(deciban.compare(table, target="k", learners=["gaussian"], folds=2).names)
    assert made == ["Gaussian diagonal", "Gaussian tied diagonal"]
    assert not any("left out: there are no columns" in note for note in found.notes)


@pytest.mark.thorough(reason="times learners: seconds")
def test_processes_change_nothing(monkeypatch):
    monkeypatch.setattr(candidate_evaluation, "MIN_PARALLEL_SECONDS", 0.0)
    asked = {"learners": ["bayes", "tied", "logistic", "boosted"], "draws": 2, "sizes": [20, 60]}
    assert figures(compare(n_jobs=2, **asked)) == figures(compare(n_jobs=1, **asked))


def test_small_comparisons_start_no_process(monkeypatch):
    monkeypatch.setattr(TaskRunner, "start_processes", lambda self: pytest.fail("a process for so little"))
    compare(learners=["bayes", "tied"], n_jobs=2)


def test_warnings_of_processes_are_those_of_one(monkeypatch):
    monkeypatch.setattr(candidate_evaluation, "MIN_PARALLEL_SECONDS", 0.0)
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=80), "c": rng.choice(list("ab"), 80), "k": rng.choice(list("yn"), 80)}
    found = []
    for jobs in (1, 2):
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            deciban.compare(table, target="k", learners=["bayes", "boosted"], folds=4, n_jobs=jobs)
        found.append(sorted(str(each.message) for each in raised if issubclass(each.category, DecibanWarning)))
    assert found[0] == found[1]


def fail(rows, number):
    raise deciban.errors.InputError(f"task {number} is wrong")


def test_an_error_in_a_process_is_the_error_of_the_call():
    with TaskRunner("common", 2) as runner:
        runner.start_processes()
        assert runner.jobs == 2
        assert list(runner.run((str.replace, ("m", letter)) for letter in "abc")) == ["coaaon", "cobbon", "coccon"]
        with pytest.raises(deciban.errors.InputError, match="task 1 is wrong"):
            list(runner.run((fail, (number,)) for number in (1, 2)))


@pytest.mark.filterwarnings("error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning")
def test_processes_that_have_ended_leave_no_file_open():
    with TaskRunner("common", 2) as runner:
        runner.start_processes()
        assert list(runner.run([(str.upper, ())])) == ["COMMON"]
    del runner
    gc.collect()


@pytest.mark.thorough(reason="times learners: seconds")
def test_a_script_without_a_main_guard_can_use_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import deciban\nfrom deciban.training import candidate_evaluation\n"
        "candidate_evaluation.MIN_PARALLEL_SECONDS = 0.0\n"
        "rows = {'x': [i % 7 + 3 * (i % 2) for i in range(200)], 'odd': [i % 2 for i in range(200)]}\n"
        "print(deciban.compare(rows, target='odd', learners=['bayes', 'tied_diagonal'], n_jobs=2).names)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert done.stdout == "['naive Bayes', 'Gaussian tied diagonal']\n"


class Clock:
    """A clock that only learning moves: each candidate takes the seconds that are given for it; without them none."""

    def __init__(self, monkeypatch, seconds=None):
        self.now = 0.0
        monkeypatch.setattr(candidate_evaluation.time, "perf_counter", lambda: self.now)
        if seconds is None:
            return
        learn = candidates.CandidateTrainer.learn

        def learn_slowly(rows, candidate):
            model, _ = learn(rows, candidate)
            self.now += seconds[candidate.name]
            return model, seconds[candidate.name]

        monkeypatch.setattr(candidates.CandidateTrainer, "learn", learn_slowly)


COSTS = {"naive Bayes": 1.0, "Gaussian tied": 10.0, "Gaussian full": 2.0, "Gaussian diagonal": 2.0}
LEARNERS = ["bayes", "tied", "full", "diagonal"]


@pytest.mark.parametrize(
    ("seconds", "left"),
    [
        (None, ["naive Bayes", "Gaussian full", "Gaussian tied", "Gaussian diagonal"]),
        (46, ["naive Bayes", "Gaussian full", "Gaussian tied", "Gaussian diagonal"]),
        (30, ["naive Bayes", "Gaussian full", "Gaussian diagonal"]),
        (1e-3, ["naive Bayes"]),
    ],
)
def test_the_slowest_learners_are_left_out_until_the_others_end_in_time(monkeypatch, seconds, left):
    clock = Clock(monkeypatch, COSTS)
    found = compare(learners=LEARNERS, seconds=seconds, n_jobs=1)
    assert found.names == left
    assert seconds is None or clock.now <= max(seconds, 3.0)
    missing = [name for name in ("Gaussian full", "Gaussian tied", "Gaussian diagonal") if name not in left]
    assert any("for lack of time" in note for note in found.notes) == bool(missing)
    assert all(name in " ".join(found.notes) for name in missing)


def test_quick_learners_stay_where_another_has_taken_all_of_the_time(monkeypatch):
    Clock(monkeypatch, {"naive Bayes": 0.1, "Gaussian full": 0.1, "Gaussian tied": 60.0})
    found = compare(learners=["bayes", "full", "tied"], seconds=10, n_jobs=1)
    assert found.names == ["naive Bayes", "Gaussian full"]
    assert "left out, for lack of time (10 s): Gaussian tied" in found.notes


def compare_on_clock(monkeypatch, cost, seconds, learners):
    """Compare learners of 2 000 rows that take `cost(n)` seconds for n rows; return their rows and the time, too."""
    clock, learned = Clock(monkeypatch), {learner: [] for learner in learners}

    def fit(data, task):
        n = len(data.rows.codes)
        learned[task.learner].append(n)
        clock.now += cost[task.learner](n)
        return data.model

    monkeypatch.setattr(candidates, "fit_learner", fit)
    rng = np.random.default_rng(0)
    table = {"x": rng.normal(size=2000), "k": rng.choice(list("yn"), 2000)}
    settings = {"learners": ["bayes", *learners], "seconds": seconds, "folds": 10, "n_jobs": 1}
    return deciban.compare(table, target="k", **settings), learned, clock.now


def test_a_learner_that_would_take_too_long_learns_a_sixteenth_of_the_rows_only(monkeypatch):
    cost = {"logistic": lambda n: 0.05 * n, "boosted": lambda n: 0.001 * n}  # 90 s and 1.8 s a fold
    found, learned, taken = compare_on_clock(monkeypatch, cost, 30, ["logistic", "boosted"])
    assert "left out, for lack of time (30 s): logistic" in found.notes
    assert "boosted gives every row the probabilities of naive Bayes, and is left out" in found.notes
    assert learned["logistic"] == [112]
    trial, *folds = learned["boosted"]
    assert trial == 112
    assert folds == pytest.approx([1800] * 10, abs=2)
    assert taken < 30


def test_a_learner_whose_time_hardly_depends_on_the_rows_is_timed_on_a_fourth_of_them(monkeypatch):
    found, learned, taken = compare_on_clock(monkeypatch, {"logistic": lambda n: 1 + 1e-5 * n}, 30, ["logistic"])
    assert not any("for lack of time" in note for note in found.notes)
    assert learned["logistic"][:2] == [112, 450]
    assert learned["logistic"][2:] == pytest.approx([1800] * 10, abs=2)
    assert taken < 30


def test_a_learner_that_has_time_for_a_fold_and_not_for_all_is_left_out_by_its_trials(monkeypatch):
    found, learned, taken = compare_on_clock(monkeypatch, {"logistic": lambda n: 0.006 * n}, 30, ["logistic"])
    assert "left out, for lack of time (30 s): logistic" in found.notes
    assert learned["logistic"] == [112, 450]
    assert taken < 5


def test_the_first_trial_of_many_rows_is_short(monkeypatch):
    monkeypatch.setattr(candidate_evaluation, "TRIALS", ((64, 1600), (16, 1600), (4, 1600)))
    found, learned, taken = compare_on_clock(monkeypatch, {"logistic": lambda n: 0.05 * n}, 5, ["logistic"])
    assert "left out, for lack of time (5 s): logistic" in found.notes
    assert learned["logistic"] == [28]
    assert taken < 5


@pytest.mark.parametrize(("seconds", "draws"), [(9 + 18.5, 3), (9 + 12.5, 2), (9 + 11.0, None), (9.5, None)])
def test_draws_are_left_out_for_which_there_is_no_time(monkeypatch, seconds, draws):
    Clock(monkeypatch, {"naive Bayes": 1.0, "Gaussian full": 2.0})
    monkeypatch.setattr(candidate_evaluation, "MIN_SIZE_COST", 1.0)
    found = compare(learners=["bayes", "full"], draws=5, sizes=[20, 60], seconds=seconds, n_jobs=1)
    assert (found.growth and found.growth.draws) == draws
    note = "no learning curves" if draws is None else f"{draws} draws, not 5"
    assert f"{note}, for lack of time ({seconds:g} s)" in found.notes


@pytest.mark.thorough(reason="times learners: seconds")
def test_a_budget_is_kept_on_a_real_clock():
    start = time.perf_counter()
    found = compare(400, folds=10, full=True, seconds=2.0, n_jobs=1)
    assert found.names[0] == "naive Bayes"
    assert time.perf_counter() - start < 20.0
    assert any("for lack of time (2 s)" in note for note in found.notes)


def test_learners_of_the_same_rows_share_what_they_have_in_common(monkeypatch):
    solved, counted = [], []
    for module, name, calls in (
        (candidates, "count_rows", counted),
        (candidates, "solve_ledger", solved),
        (discriminative_learners, "solve_ledger", solved),
    ):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, o=original, c=calls: (c.append(a), o(*a))[1])
    compare(learners=["bayes", "logistic", "evidence", "boosted"], folds=2, n_jobs=1)
    assert len(counted) == 2  # one ledger for each fold
    inner = (
        discriminative_learners.CHOICE_FOLDS
    )  # one model of each inner fold; logistic: numbers as such, and binned
    assert len(solved) == 2 * (1 + inner + 1 + 1 + inner)


@pytest.mark.thorough(reason="times learners: seconds")
def test_the_seconds_of_a_learner_are_those_that_it_takes_on_its_own():
    frame = clinic(200)
    task = {"target": "diagnosis", "roles": ROLES, "folds": 3, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = deciban.compare(frame, learners=["evidence"], **task)["evidence"].seconds
        after = deciban.compare(frame, learners=["logistic", "evidence"], **task)["evidence"].seconds
    assert after > alone / 4  # not free, though it uses models that logistic regression has learned already


def test_what_a_process_needs_can_be_sent():
    import pickle

    from deciban.training.task import plan
    from deciban.training.train import train_task
    from deciban.validation.splits import FoldAssignment

    assignment = FoldAssignment(3)
    trained = train_task(plan(clinic(60), target="diagnosis", roles=ROLES), 3, None, assignment)
    numbers = candidates.list_gaussian_columns(trained.task, {})
    made = list(candidates.make_candidates(trained.task, trained.total.schema, None, "auto", numbers, []))
    rows = pickle.loads(pickle.dumps(CandidateRows(trained.task.layout, trained.sample, made)))
    assert [each.name for each in rows.candidates] == QUICK
    assert rows.candidates[0].task.source is None


def test_ctrl_c_ends_the_processes_too():
    psutil = pytest.importorskip("psutil")
    script = (
        "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from deciban.training import candidate_evaluation\nfrom deciban.cli.main import main\n"
        "candidate_evaluation.MIN_PARALLEL_SECONDS = 0.0\n"
        f"sys.argv[1:] = ['compare', {str(PATIENTS)!r}, '--target', 'diagnosis', '--folds', '300', '--jobs', '2']\n"
        "main()"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True, **pipes)
    workers = []
    while len(workers) < 2 and process.poll() is None:
        time.sleep(0.1)
        workers = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "interrupted: no file was written\n")
    assert not psutil.wait_procs(workers, timeout=20)[1]
