"""`{lesson}`: one lesson of the syllabus. `{objectives}`: what each chapter teaches. Both read the chapters' heads."""

import re
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from stepformer import exercises
from stepformer_book.chapter_heads import Chapter, finished_chapters
from stepformer_book.markdown import block, section
from stepformer_book.question_bank import anchor


def in_hours(minutes: int) -> str:
    """Write a time as one says it: 45 minutes, 3 hours, 2 hours 15 minutes."""
    hours, rest = divmod(minutes, 60)
    parts = [f"{hours} hour{'s' * (hours > 1)}"] * (hours > 0) + [f"{rest} minutes"] * (rest > 0 or hours == 0)
    return " ".join(parts)


class LessonDirective(SphinxDirective):
    """A lesson: its chapters with their minutes, what to show (the content), and the homework.

    The option `chapters` lists notebooks, `optional` those that a short course leaves out, `homework` ids of
    exercises of these chapters. A chapter that is not finished is left out.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {name: directives.unchanged for name in ("chapters", "optional", "homework")}

    def run(self) -> list[nodes.Node]:
        """Build the section."""
        self.env.note_reread()
        known = {chapter.name: chapter for chapter in finished_chapters()}
        core, optional = (
            [known[name] for name in self.options.get(option, "").split() if name in known]
            for option in ("chapters", "optional")
        )
        title = self.arguments[0]
        made = section(title, "lesson-" + re.sub(r"\W+", "-", title.lower()).strip("-"), directive=self)
        lines = [f"**Reading** {_listed(core)}: {in_hours(sum(chapter.minutes for chapter in core))}."]
        if optional:
            lines.append(f"**If there is time** {_listed(optional)}: {in_hours(sum(c.minutes for c in optional))}.")
        made += block("\n\n".join(lines), self)
        made += block("\n".join(self.content), self)
        ids = self.options.get("homework", "").split()
        asked = {exercise for chapter in [*core, *optional] for exercise in chapter.exercises}
        for exercise_id in ids:
            if exercise_id not in asked:
                raise self.error(f"the homework {exercise_id!r} is no exercise of the chapters of this lesson")
        made += block("**Homework**", self)
        made += nodes.bullet_list("", *map(homework, ids))
        return [made]


def homework(exercise_id: str) -> nodes.list_item:
    """Write an exercise of the bank as a link: its question, and what it asks for."""
    exercise = exercises.find(exercise_id)
    # By hand: MyST resolves links to headings alone.
    link = nodes.reference("", exercise.question, refuri=f"question_bank.html#{anchor(exercise_id)}", internal=True)
    return nodes.list_item("", nodes.paragraph("", "", link, nodes.Text(f" ({exercise.level})")))


def _listed(chapters: list[Chapter]) -> str:
    return ", ".join(f"{chapter.link} ({chapter.minutes} minutes)" for chapter in chapters)


class ObjectivesDirective(SphinxDirective):
    """For each chapter: its title, its minutes, and what its readers can do afterwards."""

    def run(self) -> list[nodes.Node]:
        """Build the list."""
        self.env.note_reread()
        chapters = finished_chapters()
        made = block(f"All {len(chapters)} chapters together: {in_hours(sum(c.minutes for c in chapters))}.", self)
        for chapter in chapters:
            count = f"{len(chapter.exercises)} exercises"
            head = f"**{chapter.number} · {chapter.link}**, {chapter.minutes} minutes, {count}. Afterwards one can"
            made += block(f"{head}\n\n" + "\n".join(f"- {objective}" for objective in chapter.objectives), self)
        return made


def setup(app) -> None:
    """Register the directives."""
    app.add_directive("lesson", LessonDirective)
    app.add_directive("objectives", ObjectivesDirective)
