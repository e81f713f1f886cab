"""Data for the chapters: word vectors and a small corpus. Everything is in the package or made by it; NumPy alone."""
