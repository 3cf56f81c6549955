"""Which text the people of each language read, and which languages a template lacks."""

from __future__ import annotations

from dataclasses import dataclass

from campaigns.audiences import vocabulary
from campaigns.texts.content import Content
from notifications.people.contact import Contact
from notifications.values.languages import canonical, fallbacks


@dataclass(frozen=True)
class Step:
    """One tag that is tried for people of a language; empty: the main text."""

    tag: str
    is_there: bool


@dataclass(frozen=True)
class Chain:
    """The tags that are tried for people of one language: pt-BR, pt, the main text."""

    tag: str
    steps: list[Step]  # up to the one that is read
    people: int

    @property
    def read(self) -> str:
        return self.steps[-1].tag

    @property
    def is_missing(self) -> bool:
        """Whether these people read the main text because there is none in their language."""
        return bool(self.tag) and not self.read


@dataclass(frozen=True)
class Readers:
    """All people of a project, by language."""

    chains: list[Chain]
    exact: bool
    anybody: bool  # there are people, whether or not they could be counted in time

    @property
    def has_people(self) -> bool:
        return any(reader_chain.people for reader_chain in self.chains)

    @property
    def missing(self) -> list[Chain]:
        return [reader_chain for reader_chain in self.chains if reader_chain.is_missing]

    @property
    def complete(self) -> list[Chain]:
        return [reader_chain for reader_chain in self.chains if not reader_chain.is_missing]


def count_readers(content: Content, project_id: int) -> Readers:
    """Count who reads which text, the most frequent language first.

    Languages that the content has, but nobody reads, come last.
    """
    languages, exact = vocabulary.languages(project_id)
    own = {canonical(tag) for tag, texts in content["locales"].items() if texts}
    people: dict[str, int] = {}
    for language in languages:  # “pt_br” and “pt-BR” are two tags of people and one language
        tag = canonical(language.tag) if language.tag else ""
        people[tag] = people.get(tag, 0) + language.people
    chains = [chain(tag, own, count) for tag, count in people.items()]
    read = {reader_chain.read for reader_chain in chains}
    chains += [chain(tag, own) for tag in sorted(own - read)]
    return Readers(chains, exact, Contact.objects.filter(project=project_id).exists())


def chain(tag: str, own: set[str], people: int = 0) -> Chain:
    steps: list[Step] = []
    for fallback in fallbacks(tag):
        steps.append(Step(fallback, fallback in own))
        if fallback in own:
            return Chain(tag, steps, people)
    return Chain(tag, [*steps, Step("", is_there=True)], people)
