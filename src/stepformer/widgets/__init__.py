"""The player: `show(trace)` steps through a recorded program, in JupyterLab and on a static page."""

from stepformer.widgets.exercise_view import ExerciseView
from stepformer.widgets.player import Player, player_html, show

__all__ = ["ExerciseView", "Player", "player_html", "show"]
