"""Actions of users in their mail programs, in a Maildir or on an IMAP server: deliver, move, copy, flag, delete."""

import mailbox


def message(about):
    return f"Subject: {about}\r\nMessage-ID: <{about}@x.org>\r\n\r\nHello.\r\n".encode()


class Reader:
    """The actions of a user in a mail program, whatever the mail is stored in."""

    def __init__(self, inbox, junk):
        self.inbox, self.junk = inbox, junk
        self.folders = {inbox: "ham", junk: "spam"}


class MaildirReader(Reader):
    def __init__(self, root):
        self.box = mailbox.Maildir(root / "Maildir", create=True)
        self.boxes = {"INBOX": self.box, "Junk": self.box.add_folder("Junk")}
        super().__init__(root / "Maildir", root / "Maildir/.Junk")

    def deliver(self, about, folder="INBOX"):
        self.boxes[folder].add(message(about))

    def _key(self, about, folder):
        return next(key for key, found in self.boxes[folder].items() if found["Subject"] == str(about))

    def copy(self, about, source, target):
        self.boxes[target].add(self.boxes[source].get_message(self._key(about, source)))

    def delete(self, about, folder):
        self.boxes[folder].remove(self._key(about, folder))

    def move(self, about, source, target):
        self.copy(about, source, target)
        self.delete(about, source)

    def flag(self, about, folder):
        key = self._key(about, folder)
        found = self.boxes[folder].get_message(key)
        found.set_subdir("cur")
        found.set_flags("SF")
        self.boxes[folder][key] = found

    def trash(self, about, folder):
        found = self.boxes[folder].get_message(key := self._key(about, folder))
        found.set_flags("T")
        self.boxes[folder][key] = found

    def marks(self):
        return sorted((str(path), path.stat().st_mtime_ns) for path in self.inbox.rglob("*") if path.is_file())


class ImapReader(Reader):
    def __init__(self, server, line, number):
        self.line = line
        self.names = {"INBOX": f"In{number}", "Junk": f"Junk{number}"}
        for name in self.names.values():
            assert line.create(name)[0] == "OK"
        super().__init__(server.address(self.names["INBOX"]), server.address(self.names["Junk"]))

    def deliver(self, about, folder="INBOX"):
        assert self.line.append(self.names[folder], "", None, message(about))[0] == "OK"

    def _find(self, about, folder):
        self.line.select(self.names[folder])
        return self.line.search(None, "HEADER", "MESSAGE-ID", f'"<{about}@x.org>"')[1][0].split()[-1].decode()

    def copy(self, about, source, target):
        assert self.line.copy(self._find(about, source), self.names[target])[0] == "OK"

    def delete(self, about, folder):
        self.trash(about, folder)
        self.line.expunge()

    def move(self, about, source, target):
        number = self._find(about, source)
        assert self.line._simple_command("MOVE", number, self.names[target])[0] == "OK"

    def flag(self, about, folder):
        self.line.store(self._find(about, folder), "+FLAGS", "(\\Seen \\Flagged)")

    def trash(self, about, folder):
        self.line.store(self._find(about, folder), "+FLAGS", "\\Deleted")

    def marks(self):
        return [self.line.status(name, "(MESSAGES UNSEEN RECENT UIDNEXT)") for name in self.names.values()]
