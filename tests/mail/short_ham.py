"""Sixty short messages that are nobody's spam, each by a name: notes, replies, confirmations, notices.

They were written for these tests and resemble no corpus. A filter that has learned other mail may be unsure about
them, but must not lose them.
"""

from typing import Final

HEAD: Final = """From: {sender}
To: Robin Hale <robin@example.net>
Subject: {subject}
Date: Tue, 5 May 2026 08:14:09 +0100
Message-ID: <{number}.5e1f@{host}>
"""

PLAIN: Final = "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"

TEXTS: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("meeting at eight", "Ana Ruiz <ana@example.org>", "tonight", "ok, see you at 8"),
    ("one word", "Ana Ruiz <ana@example.org>", "Re: tickets", "Thanks!"),
    ("nothing at all", "Tom <tom@example.org>", "", ""),
    ("only a subject", "Tom <tom@example.org>", "running ten minutes late", ""),
    ("short reply", "Ines Weber <ines@example.com>", "Re: Re: draft",
     "Looks good to me, go ahead.\n\n> Is paragraph three too long?"),
    ("reply below a quotation", "Ines Weber <ines@example.com>", "Re: keys",
     "> Who has the keys to the shed?\n\nI do. They hang behind the door."),
    ("question", "Sam <sam@example.org>", "quick question", "Did you feed the cat this morning?"),
    ("telephone number", "Mum <mum@example.org>", "new number", "My new number is 020 7946 0018. Love, Mum"),
    ("address", "Piotr <piotr@example.pl>", "where we live now", "14 Mill Lane, second floor, the bell says Nowak."),
    ("link only", "Lea <lea@example.org>", "look at this", "http://www.example.org/pictures/0412.html"),
    ("recipe", "Aunt May <may@example.org>", "the cake",
     "Three eggs, 200 g sugar, 200 g butter, 250 g flour.\nForty minutes at 170 degrees."),
    ("birthday", "Kofi <kofi@example.com>", "Happy birthday!!!", "HAPPY BIRTHDAY! Have a great day!\nKofi"),
    ("congratulations", "Prof. Adeyemi <t.adeyemi@example.edu>", "Congratulations", "You have passed. Well done."),
    ("condolence", "Ruth <ruth@example.org>", "so sorry", "I was very sad to hear about your father."),
    ("doctor", "Dr Lindqvist <practice@example.se>", "Your results",
     "Your blood test was normal. No further appointment is needed."),
    ("medicine", "Pharmacy <desk@example.net>", "Prescription ready",
     "Your prescription can be collected until 6 pm."),
    ("dentist", "Dental practice <front@example.net>", "Reminder", "Your appointment: Thursday 10:40."),
    ("order confirmation", "Orders <orders@example.com>", "Order 4711 confirmed",
     "Thank you for your order.\n\n1 x kettle, 29.90 EUR\nDelivery: 2 to 3 working days."),
    ("parcel", "Parcel service <noreply@example.com>", "Your parcel arrives today",
     "Parcel 00340434 will be delivered between 11:00 and 13:00."),
    ("invoice", "Gas and Water <billing@example.com>", "Invoice for April",
     "The amount of $48.20 will be debited on 15 May. Nothing needs to be done."),
    ("bank statement", "Savings Bank <service@example.com>", "Your statement is available",
     "A new account statement has been placed in your mailbox."),
    ("refund", "Railway <claims@example.com>", "Refund",
     "We have refunded 17.50 to your card for the cancelled train."),
    ("flight", "Airline <booking@example.com>", "Booking XK7PQ2", "LIS-OPO 12 May 07:25. Please check in online."),
    ("hotel", "Hotel Post <info@example.at>", "Reservation",
     "We confirm your room from 3 to 5 June, breakfast included."),
    ("password", "Library <accounts@example.edu>", "Password changed",
     "The password of your account was changed. If this was not you, call the desk."),
    ("one-time code", "Login <login@example.com>", "Your code", "481 220 is your code. It is valid for ten minutes."),
    ("school", "Hill School <office@example.sch.uk>", "Closed on Friday", "The school is closed on Friday, 8 May."),
    ("club", "Rowing Club <secretary@example.org>", "Annual meeting",
     "Members meet on Saturday at 15:00 in the boathouse."),
    ("newsletter of a friend", "Marta <marta@example.org>", "News from Bergen, no. 3",
     "Dear all,\n\nthe house has a roof at last. Photos are on the page. Write back if you want to be left out of "
     "this list.\n\nMarta"),
    ("job application", "HR <jobs@example.com>", "Your application", "We would like to invite you to an interview."),
    ("rejection", "HR <jobs@example.com>", "Your application",
     "We are sorry to say that another candidate was chosen."),
    ("money between friends", "Jo <jo@example.org>", "the 20 I owe you", "Sent you the 20 for the dinner. Cheers"),
    ("offer of a lift", "Bea <bea@example.org>", "lift", "I drive at five, free seat if you want one."),
    ("selling a bicycle", "Neighbour <n@example.org>", "bike for sale", "Still want the bike? 80 and it is yours."),
    ("lottery of the office", "Pat <pat@example.com>", "office lottery",
     "We won 12 pounds! Your share is on your desk."),
    ("dull capitals", "Grandpa <grandpa@example.org>", "CALL ME",
     "PLEASE CALL WHEN YOU HAVE TIME. NOT URGENT. GRANDPA"),
    ("code review", "Wei <wei@example.com>", "Re: [PATCH] fix off by one", "Acked-by: Wei <wei@example.com>"),
    ("log line", "cron <root@example.net>", "Cron <root@mx> backup", "backup finished, 0 errors"),
    ("monitoring", "Monitor <alerts@example.net>", "RECOVERED: disk on mx1", "Disk usage on mx1 is at 61 %."),
    ("issue tracker", "Tracker <tracker@example.org>", "[proj] #812 closed",
     "Status: closed\nResolution: works for me"),
    ("out of office", "Ines Weber <ines@example.com>", "Automatic reply: draft", "I am away until Monday."),
    ("read receipt", "Sam <sam@example.org>", "Read: minutes", "Your message was read on 5 May at 08:20."),
    ("subscription", "Majordomo <list-request@example.org>", "confirm subscription",
     "To confirm your subscription to chess-l, reply to this message."),
    ("unsubscribed", "list <list-request@example.org>", "You have left chess-l", "You are no longer subscribed."),
    ("German", "Jürgen Groß <juergen@example.de>", "Samstag",
     "Passt dir 19 Uhr? Ich bringe den Wein mit. Grüße, Jürgen"),
    ("French", "Amélie <amelie@example.fr>", "rdv", "On se retrouve devant la gare à midi ?"),
    ("Spanish", "Diego <diego@example.es>", "Mañana", "Llego mañana a las nueve. ¡Un abrazo!"),
    ("Polish", "Ola <ola@example.pl>", "Urodziny", "Dziękuję za życzenia! Do zobaczenia w sobotę."),
    ("Turkish", "Elif <elif@example.com.tr>", "toplantı", "Toplantı yarın saat ikide, görüşürüz."),
    ("Greek", "Νίκος <nikos@example.gr>", "αύριο", "Θα έρθω αύριο το απόγευμα."),
    ("Russian", "Ольга <olga@example.ru>", "билеты", "Билеты купила, встречаемся у входа."),
    ("Chinese", "李雷 <lilei@example.cn>", "明天", "明天下午三点见。"),
    ("Japanese", "佐藤 <sato@example.jp>", "資料", "資料を受け取りました。ありがとうございます。"),
    ("Arabic", "ليلى <layla@example.com>", "شكرا", "شكرا على الهدية، أراك قريبا."),
)  # fmt: skip
"""Name, sender, subject and text of each plain message."""

ATTACHMENT: Final = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b1"

--b1
Content-Type: text/plain; charset=us-ascii

{text}
--b1
Content-Type: {kind}; name="{name}"
Content-Disposition: attachment; filename="{name}"
Content-Transfer-Encoding: base64

JVBERi0xLjQKJeLjz9MKMSAwIG9iago8PD4+CmVuZG9iagp0cmFpbGVyCjw8Pj4K
--b1--
"""

CALENDAR: Final = """MIME-Version: 1.0
Content-Type: text/calendar; method=REQUEST; charset=utf-8

BEGIN:VCALENDAR
METHOD:REQUEST
BEGIN:VEVENT
DTSTART:20260512T090000Z
DTEND:20260512T093000Z
SUMMARY:Weekly call
ORGANIZER:mailto:wei@example.com
END:VEVENT
END:VCALENDAR
"""

HTML: Final = """MIME-Version: 1.0
Content-Type: text/html; charset=utf-8

<html><body><p>Lunch at <b>one</b>? The place by the river.</p><p>Noor</p></body></html>
"""

BOUNCE: Final = """MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b2"

--b2
Content-Type: text/plain

Your message could not be delivered to <tom@example.org>: mailbox full.
--b2
Content-Type: message/delivery-status

Final-Recipient: rfc822; tom@example.org
Action: failed
Status: 5.2.2
--b2--
"""

STRUCTURED: Final = (
    ("empty body with an attachment", "Scanner <scan@example.com>", "Scan",
     ATTACHMENT.format(text="", kind="application/pdf", name="scan0412.pdf")),
    ("photograph", "Lea <lea@example.org>", "from the beach",
     ATTACHMENT.format(text="Wish you were here", kind="image/jpeg", name="IMG_2210.jpg")),
    ("calendar invitation", "Wei <wei@example.com>", "Invitation: Weekly call", CALENDAR),
    ("HTML note", "Noor <noor@example.com>", "lunch", HTML),
    ("bounce", "Mail Delivery System <MAILER-DAEMON@example.net>", "Undelivered mail returned", BOUNCE),
)  # fmt: skip
"""Name, sender, subject, and the rest of each message that is more than plain text."""


def build_messages() -> dict[str, bytes]:
    """Return all messages, by name; the last has no headers at all."""
    rest = [(*head, PLAIN + "\n" + text + "\n") for *head, text in TEXTS] + [list(each) for each in STRUCTURED]
    built = {}
    for number, (name, sender, subject, body) in enumerate(rest):
        host = sender.rpartition("@")[2].rstrip(">")
        head = HEAD.format(sender=sender, subject=subject, number=number, host=host)
        built[name] = (head + body).encode()
    return {**built, "without headers": b"\nback in five minutes\n"}
