"""Other filters, each run as its documentation advises: Debian's bogofilter, SpamAssassin's Bayes and CRM114.

Each learns into a folder of its own that is gone afterwards. One that is not installed raises `PeerMissingError`.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Codes

from .text_peers import PeerMissingError

NEUTRAL = -1e-12
"""The log-odds of a message without a result: it would be delivered."""
MIN_PROBABILITY = 1e-16
"""Probabilities are clipped this far from 0 and 1, so that log-odds are finite."""


def log_odds(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-odds of printed probabilities."""
    held = np.clip(p, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    return np.log(held) - np.log1p(-held)


def find_program(program: str, package: str) -> str:
    """Return the path of a program."""
    path = shutil.which(program)
    if path is None:
        raise PeerMissingError(f"no program `{program}`. Hint: apt-get install {package}")
    return path


class Filter:
    """A filter that learns files of ham and of spam, and gives the log-odds of spam of others."""

    name: str
    thresholds: tuple[float, float] | None = None
    """Its own thresholds: ham up to the first, spam from the second; None where it gives no verdicts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def learn(self, paths: Sequence[Path], codes: Codes) -> None:
        """Learn messages, once each."""
        raise NotImplementedError

    def scores(self, paths: Sequence[Path]) -> NDArray[np.float64]:
        """Return the log-odds of spam, in nats."""
        raise NotImplementedError

    def close(self) -> None:
        """Stop what still runs."""


@contextmanager
def fresh(kind: type[Filter]) -> Iterator[Filter]:
    """Provide a filter that has learned nothing yet."""
    with tempfile.TemporaryDirectory(prefix="deciban-peer-") as folder:
        peer = kind(Path(folder))
        try:
            yield peer
        finally:
            peer.close()


def run_lines(command: list[str], lines: Sequence[object]) -> list[str]:
    """Run a program with lines on its standard input; return its lines. Exit codes 0 to 2 may be verdicts."""
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 2):
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-500:]}")
    return done.stdout.splitlines()


class Bogofilter(Filter):
    """As it comes: ham up to 0.45, spam from 0.99, unsure between."""

    name = "bogofilter"
    thresholds = (0.45, 0.99)

    def learn(self, paths: Sequence[Path], codes: Codes) -> None:
        for code, option in ((0, "-n"), (1, "-s")):
            if mine := [path for path, kind in zip(paths, codes) if kind == code]:
                self._run(option, mine)

    def scores(self, paths: Sequence[Path]) -> NDArray[np.float64]:
        return log_odds(np.array([float(line.split()[-1]) for line in self._run("-TT", paths)]))

    def _run(self, option: str, paths: Sequence[Path]) -> list[str]:
        return run_lines(
            [find_program("bogofilter", "bogofilter"), "-C", "-d", str(self.folder), option, "-b"], paths
        )


BAYES = r"""
use strict; use warnings;
use Mail::SpamAssassin; use Mail::SpamAssassin::PerMsgStatus;
my ($folder) = @ARGV;
my $text = "loadplugin Mail::SpamAssassin::Plugin::Bayes\nuse_bayes 1\nbayes_path $folder/bayes\n"
  . "bayes_auto_learn 0\nbayes_auto_expire 0\nbayes_learn_to_journal 0\nlock_method flock\n"
  . "bayes_min_ham_num 1\nbayes_min_spam_num 1\n";
my $tlds = "/usr/share/spamassassin/20_aux_tlds.cf";
$text .= "include $tlds\n" if -e $tlds;
my $sa = Mail::SpamAssassin->new({ config_text => $text, local_tests_only => 1, dont_copy_prefs => 1,
  userstate_dir => $folder });
$sa->init(1);
$sa->init_learner({ caller_will_untie => 1, wait_for_lock => 1 });
my ($bayes) = grep { ref($_) eq "Mail::SpamAssassin::Plugin::Bayes" } @{ $sa->{plugins}->{plugins} };
while (my $line = <STDIN>) {
  chomp $line;
  my ($what, $path) = split / /, $line, 2;
  open(my $in, "<:raw", $path) or die "$path: $!";
  my $raw = do { local $/ = undef; <$in> };
  my $mail = $sa->parse($raw, 0);
  if ($what eq "judge") {
    my $status = Mail::SpamAssassin::PerMsgStatus->new($sa, $mail);
    my $p = $bayes->scan($status, $mail);
    print defined $p ? sprintf("%.17g", $p) : "none", "\n";
    $status->finish();
  } else {
    $sa->learn($mail, undef, $what eq "spam" ? 1 : 0, 0)->finish();
  }
  $mail->finish();
}
$sa->finish_learner();
$sa->finish();
"""
"""The work of sa-learn and the rules BAYES_00 … BAYES_99, without the other rules, in one process."""


class SpamAssassinBayes(Filter):
    """SpamAssassin's Bayes alone; it adds points to a message and calls nothing spam by itself."""

    name = "SpamAssassin's Bayes"

    def learn(self, paths: Sequence[Path], codes: Codes) -> None:
        order = np.random.default_rng(0).permutation(len(paths))  # as mail comes: not all ham before all spam
        self._run([f"{'spam' if codes[i] else 'ham'} {paths[i]}" for i in order])

    def scores(self, paths: Sequence[Path]) -> NDArray[np.float64]:
        printed = self._run([f"judge {path}" for path in paths])
        return np.array([NEUTRAL if line == "none" else log_odds(np.array(float(line))) for line in printed])

    def _run(self, lines: Sequence[str]) -> list[str]:
        find_program("sa-learn", "spamassassin")
        return run_lines([find_program("perl", "perl"), "-e", BAYES, str(self.folder)], lines)


CRM_LEARN = "-{ learn <osb unique microgroom> (%s) /[[:graph:]]+/ }"
CRM_JUDGE = (
    "-{ isolate (:said:) ; { classify <osb unique microgroom> ( spam.css | ham.css ) (:said:) /[[:graph:]]+/ } "
    "output /:*:said:/ }"
)
CRM_THICK = 10.0
"""CRM114 learns what it gets wrong, or right by less than this (pR): learning everything makes it worse."""


class Crm114(Filter):
    """CRM114's orthogonal sparse bigrams, trained on errors and near-errors in one pass; sure from |pR| = 10."""

    name = "CRM114"
    thresholds = (1e-10, 1 - 1e-10)

    def learn(self, paths: Sequence[Path], codes: Codes) -> None:
        for css in ("spam.css", "ham.css"):
            self._run(CRM_LEARN % css, b"")
        for i in np.random.default_rng(0).permutation(len(paths)).tolist():
            raw = paths[i].read_bytes()
            pr = self._pr(raw)
            if (pr if codes[i] else -pr) < CRM_THICK:
                self._run(CRM_LEARN % ("spam.css" if codes[i] else "ham.css"), raw)

    def scores(self, paths: Sequence[Path]) -> NDArray[np.float64]:
        return np.log(10) * np.array([self._pr(path.read_bytes()) for path in paths])

    def _pr(self, raw: bytes) -> float:
        """Return lg of the odds for the first file."""
        output = self._run(CRM_JUDGE, raw).decode("latin-1")
        return float(output.split("pR:")[1].split()[0]) if "pR:" in output else 0.0

    def _run(self, program: str, raw: bytes) -> bytes:
        command = [find_program("crm", "crm114"), program]
        return subprocess.run(command, input=raw, cwd=self.folder, capture_output=True, check=False).stdout
