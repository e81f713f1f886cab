"""Known mistakes as switches for the player, by concept. Each is one that public tutorials really made."""

from stepformer.mistakes._attention import ATTENTION, MASKS

__all__ = ["ATTENTION", "MASKS"]
