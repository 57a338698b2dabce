"""A small document tree of HTML, built by the standard library's parser, which the fragments share nothing with."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "col", "hr", "img", "input", "rect", "line", "circle", "path"}


@dataclass
class Node:
    tag: str
    attributes: dict = field(default_factory=dict)
    children: list = field(default_factory=list)

    @property
    def text(self):
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, tag, cls=None):
        """Return every element of a tag below this one, and of a class if one is given."""
        found = []
        for child in self.children:
            if isinstance(child, Node):
                classes = (child.attributes.get("class") or "").split()
                if child.tag == tag and (cls is None or cls in classes):
                    found.append(child)
                found += child.all(tag, cls)
        return found

    def tags(self):
        return {self.tag}.union(*(child.tags() for child in self.children if isinstance(child, Node)))

    def names_of_attributes(self):
        own = set(self.attributes)
        return own.union(*(child.names_of_attributes() for child in self.children if isinstance(child, Node)))


class _Builder(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.root = Node("root")
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].children.append(Node(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def parse(html):
    """Return the tree of a fragment whose elements are all closed, in order."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert builder.open == [builder.root], "an element is not closed"
    return builder.root
