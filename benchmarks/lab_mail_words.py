"""The text of `docs/lab/mail.md` around its tables."""

PAGE = """# Mail

The mail filter on public mail, compared with other filters. Written by `python -m benchmarks.lab_mail` on {date}; do
not edit.

Machine: {machine}.

Filters learn and score in memory (`deciban.mail.evaluation.evaluate_filter`), as a store would: the tests
compare the two. By default a message is ham up to p = {ham_at:g} and spam from p = {spam_at:g},
or from the threshold chosen by the learned messages so that the upper 95 % bound of lost ham is 1 in 1 000. A message
that occurs twice is learned once.

The defaults were chosen on these corpora together: tokens, α, the power by which long messages are damped, the
discount for conflict, the penalties, thresholds. Seeds 0–4 of the splits below, test messages included, were used for
that, so the results are slightly optimistic for this filter, and other mailboxes may be harder. Seeds 5–9 show by how
much. The other filters are as Debian ships them, except that the minimum of 200 messages of each kind is removed
below which SpamAssassin's Bayes and rspamd give no result.
{sections}"""

AGAINST = """
## Against bogofilter

SpamAssassin's corpus, {n} messages with all their headers, sorted by path, 70 % to learn and 30 % to test,
stratified, seeds 0–9. bogofilter learns and tests the same files (`bogofilter -n -b`, `-s -b`, `-TT -b`), each seed
into a wordlist of its own, by its own cut-offs: ham up to 0.45, spam from 0.99.

"""
SLOWER = """## Against other filters

The same, seeds 0–2, with filters that take a minute for a split:

- *SpamAssassin's Bayes*, the classifier of `sa-learn` and the rules BAYES_00 … BAYES_99, by its own Perl modules in
  one process, without any other rule (and without its minimum of 200 messages of each kind). It adds points and gives
  no verdict by itself, so no verdicts are counted.
- *rspamd's Bayes*, in a server and a Redis of its own, asked for BAYES_SPAM and BAYES_HAM (without its minimum of
  200). It too only adds points, and gives no result between 45 and 55 %.
- *CRM114* (`osb unique microgroom`), one pass in a random order, learning what it got wrong or right by less than
  pR = 10, as its manual advises; sure from |pR| = 10.

A message without a result (too few words) counts as ham.

"""
VERDICTS = "Ham lost / spam missed / unsure"

DRAWS = """
## The lecture's experiment

400 messages to learn, 50 to choose α and thresholds by, 50 to test by, from SpamAssassin's corpus without repeated
messages, stratified, 50 draws: mean ± standard deviation over the draws. The value of α (0.1, 0.3, 1) is chosen by
log-loss; thresholds by cost, a lost ham 10, a missed spam 1, an unsure message 0.2, of equally cheap ones those
nearest to the defaults (`deciban mail evaluate --split 400/50/50 --draws 50`). bogofilter learns the same 400 and
tests by the same 50 with its own cut-offs.
"""

ARRIVAL = """
## In order of arrival

Four mailboxes of Enron-Spam: each message is scored by the filter of those before it, then learned; weights are
refitted when the learned messages have grown by 15 %, as in a store. Recall is at p ≥ ½, of all messages from
the first on; before both kinds are known, a message counts as ham. Expected are the best results of Metsis,
Androutsopoulos and Paliouras 2006 (multinomial naive Bayes with Boolean attributes), and bogofilter's.
"""

CURVES = """
## Ham lost against spam caught

The spam that is not called spam, at the threshold at which so many of the ham are lost: lower is better. Each
filter's ranking alone, whatever its own thresholds are; SpamAssassin's corpus by the mean over the seeds, the
mailboxes in order of arrival. Spam of which too little was seen before is caught at no threshold: there a line ends
level.

![Spam not caught by ham lost, a panel for each corpus](mail.png)
"""

SWITCHES = """
## Every option of the tokens

Each option of `TokenOptions` changed, the default model, seeds 0 and 1. A default has **won** where the change makes
errors or log-loss worse by more than two standard errors of the paired difference, *lost* where it makes them better,
and tied between; messages that were tested under several seeds count once, by their mean. The numbers are the effect
of the change: errors per 1000 messages, and log-loss in thousandths. A dash: the tokens are the same (mail without
headers has none to omit). Options that were tied on all corpora, and are options no longer: recipients, mail program,
types and charsets, links and words of their paths, HTML tags, hidden words, attachments, capitals of the subject (on)
and of the body (off), time zone, long words by their first letter and length; results of SPF and DKIM occur in none
of them.
"""

SETTINGS = """
## Every setting of the model

Each setting of the default model changed: α (default 0.3), the power by which long messages are damped (0.75), the
bound of that correction for short ones (1), the discount for conflict (0.3), the penalty of the common weight
(0.0005), and whether weights are fitted to leave-one-out scores (they are).
"""
