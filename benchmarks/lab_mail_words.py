"""What `docs/lab/mail.md` says around its figures."""

PAGE = """# Mail

The mail filter on public mail, beside other filters. Written by `python -m benchmarks.lab_mail` on {date}; do not
edit.

Machine: {machine}.

Filters learn and score in memory (`deciban.mail.evaluation.in_memory_filter`), as a store would: the tests
compare the two. As they come they call a message ham up to p = {ham_at:g} and spam from p = {spam_at:g}. A message
that is there twice is learned once.

These are the corpora that the defaults were settled on: tokens, α, the power that long messages are held back by,
the common trust, thresholds. While that was done, seeds 0–3 of the splits below were looked at, the messages judged
among them, so the figures are a little too friendly to this filter, and a mailbox of one's own may be harder. Seeds
4–9 are there to see how much. The other filters are as Debian ships them; only the bound is lifted below which
SpamAssassin's Bayes and rspamd say nothing (200 messages of each kind).
{sections}"""

AGAINST = """
## Against bogofilter

SpamAssassin's corpus, {n} messages with all their headers, sorted by path, 70 % learned and 30 % judged, stratified,
seeds 0–9. bogofilter learns the same files and judges the same files (`bogofilter -n -b`, `-s -b`, `-TT -b`), each
seed into a wordlist of its own, by its own cut-offs: ham up to 0.45, spam from 0.99.

"""
SLOWER = """## Against other filters

The same, seeds 0–2, with filters that take a minute for a split:

- *SpamAssassin's Bayes*, what `sa-learn` learns and the rules BAYES_00 … BAYES_99 ask for, by its own Perl modules in
  one process, without any other rule (and without its minimum of 200 messages of each kind). It adds points and calls
  nothing spam by itself, so no verdicts are counted.
- *rspamd's Bayes*, in a server and a Redis of its own, asked for BAYES_SPAM and BAYES_HAM (without its minimum of
  200). It too only adds points, and says nothing between 45 and 55 %.
- *CRM114* (`osb unique microgroom`), one pass in a random order, learning what it got wrong or right by less than
  pR = 10, as its manual advises; sure from |pR| = 10.

A message that a filter has no opinion of (too few words) counts as taken for ham.

"""
MANNER = "Ham lost / spam missed / unsure"

DRAWS = """
## The lecture's experiment

400 messages learned, 50 to choose smoothing and thresholds by, 50 to judge by, out of SpamAssassin's corpus without
repeated messages, stratified, 50 draws: mean ± standard deviation over the draws. Smoothing (α of 0.1, 0.3, 1) is
chosen by log-loss; thresholds by cost, a lost ham 10, a missed spam 1, an unsure message 0.2, of equally cheap ones
those nearest to the usual (`deciban mail evaluate --split 400/50/50 --draws 50`). bogofilter learns the same 400 and
judges the same 50 by its own cut-offs.
"""

ARRIVAL = """
## In order of arrival

Enron1 and Enron2: each message is judged by those before it, then learned; trusts are fitted anew when what was
learned has grown by 15 %, as the store does. Recall is at p ≥ ½, of all messages from the first on; before both kinds
are known, a message counts as taken for ham. Expected are the best figures of Metsis, Androutsopoulos and Paliouras
2006 (multinomial naive Bayes with Boolean attributes).
"""

SWITCHES = """
## Every switch of reading

What is made of a message, each switch of `Reading` turned the other way, the usual model, seeds 0–4. A switch as it
comes has **won** where turning it makes errors or log-loss worse by more than two standard errors of the paired
difference, *lost* where it makes them better, and tied between; messages that were judged under several seeds count
once, by their mean. Figures are what turning it does: errors per 1000 messages, and log-loss in thousandths. A dash:
the tokens are the same (mail without headers has none to leave out).
"""

SETTINGS = """
## Every setting of the model

The same for the settings of the usual model: α (as it comes 0.3), the power by which long messages are held back
(0.75), how much the common trust is held back (0.025), and whether a message is told by the others alone while trusts
are fitted (it is).
"""
