"""`{question-bank}`: every exercise of the book by what it asks for, live, without its solution."""

from collections.abc import Iterator

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from stepformer import exercises
from stepformer.exercises import LEVELS, Code
from stepformer.widgets import ExerciseView
from stepformer_book.chapter_heads import Chapter, finished_chapters
from stepformer_book.markdown import block, line, paragraph, section


def anchor(exercise_id: str) -> str:
    """The id of an exercise on the page of the bank."""
    return f"question-{exercise_id.replace('.', '-').replace('_', '-')}"


class QuestionBankDirective(SphinxDirective):
    """One section for each level, in it the exercises in the order of the chapters."""

    def run(self) -> list[nodes.Node]:
        """Build the sections."""
        self.env.note_reread()
        return [*self.sections()]

    def sections(self) -> Iterator[nodes.section]:
        """Make the section of each level."""
        chapters = finished_chapters()
        for level, meaning in LEVELS.items():
            made = section(level.capitalize(), f"level-{level}", directive=self)
            made += paragraph(f"{meaning[0].upper()}{meaning[1:]}.", self)
            for chapter in chapters:
                own = [e for e in map(exercises.find, chapter.exercises) if e.level == level]
                if own:
                    # A heading of its own, but not in the list at the side, which would grow too long.
                    title = nodes.inline("", "", *line(f"{chapter.number} · {chapter.link}", self))
                    made += nodes.rubric("", "", title, **{"heading-level": 3})
                    made += [self.question(exercise, chapter) for exercise in own]
            yield made

    def question(self, exercise: exercises.Number | exercises.Choice | Code, chapter: Chapter) -> nodes.container:
        """Make one question: the live exercise, or where to write the code."""
        box = nodes.container("", ids=[anchor(exercise.id)], classes=["question"])
        if isinstance(exercise, Code):
            box += nodes.paragraph("", exercise.question)
            box += block(f'It needs Python: `exercises.check("{exercise.id}", your_function)`.', self)
        else:
            box += nodes.raw("", ExerciseView(exercise).html(), format="html")
            box += paragraph(f"`{exercise.id}`", self, "question-id")
        return box


def setup(app) -> None:
    """Register the directive."""
    app.add_directive("question-bank", QuestionBankDirective)
