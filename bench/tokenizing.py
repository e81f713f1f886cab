"""How fast text becomes ids, and how much memory a file of a million pairs takes while a training reads it."""

import itertools
import sys
import tempfile
import time
from pathlib import Path

from results import Figure, fresh_python, median, versions, write

from stepformer.data import grammar
from stepformer.data.tokenizer import BpeTokenizer, CharacterTokenizer, Tokenizer, WordTokenizer

N_SENTENCES, ROUNDS = 20_000, 5
N_LINES, N_BATCHES = 1_000_000, 300

READ = """
import itertools, resource, sys, time
from stepformer.data import grammar
from stepformer.data.batches import Batches
from stepformer.data.pairs import PairFile, read_pairs
from stepformer.data.tokenizer import WordTokenizer

path = sys.argv[1]
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
start = time.process_time()
assert sum(1 for _ in read_pairs(path)) == {n_lines}
stream = time.process_time() - start, peak()
src = WordTokenizer.learn((source for source, _ in read_pairs(path)), "en", max_size=8000)
tgt = WordTokenizer.learn((target for _, target in read_pairs(path)), "zh", max_size=8000)
start = time.process_time()
pairs = PairFile(path, src, tgt)
index = time.process_time() - start
start = time.process_time()
for _ in itertools.islice(Batches(pairs, batch_size=64).stream(), {n_batches}):
    pass
print(*stream, index, time.process_time() - start, peak())
"""


def microseconds(tokenizer: Tokenizer, texts: list[str]) -> float:
    """Return the time of this process for one text, the median of several rounds."""
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for text in texts:
            tokenizer.encode(text)
        taken.append((time.process_time() - start) / len(texts) * 1e6)
    return median(taken)


def main() -> None:
    """Measure, and write the figures."""
    pairs = list(itertools.islice(grammar.pairs(0), N_SENTENCES))
    english, chinese = [pair.source for pair in pairs], [pair.target for pair in pairs]
    words = {
        "english": (WordTokenizer.learn(english, "en"), english),
        "chinese": (WordTokenizer.learn((pair.target_tokens for pair in pairs), "zh"), chinese),
    }
    taken = {name: microseconds(*case) for name, case in words.items()}
    characters = microseconds(CharacterTokenizer.learn(chinese, "zh"), chinese)
    pieces = microseconds(BpeTokenizer.learn(english, "en", max_size=400), english)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.tsv"
        with path.open("w", encoding="utf-8") as file:
            for n, pair in zip(range(N_LINES), itertools.cycle(pairs), strict=False):
                file.write(f"{n} {pair.source}\t{pair.target}{n}\n")  # every line is another one
        code = READ.format(n_lines=N_LINES, n_batches=N_BATCHES)
        code = f"import sys; sys.argv[1:] = [{str(path)!r}]\n{code}"
        read, stream_peak, index, batches, peak = map(float, fresh_python(code).split())
    per_pair = 1e6 / N_LINES
    figures = [
        Figure("english", "an English sentence to ids, words", taken["english"], "µs", bar=20),
        Figure("chinese", "a Chinese sentence to ids, words", taken["chinese"], "µs", bar=20),
        Figure("lines_per_second", "sentences of the slower language a second", 1e6 / max(taken.values()), "1/s"),
        Figure("characters", "a Chinese sentence to ids, characters", characters, "µs"),
        Figure("pieces", "an English sentence to ids, BPE", pieces, "µs"),
        Figure("read", "a line of a file, read and checked", read * per_pair, "µs"),
        Figure("index", "a line of a file, read, checked and tokenised on both sides", index * per_pair, "µs"),
        Figure("fetch", "a pair of a shuffled batch, fetched from the file", batches / N_BATCHES / 64 * 1e6, "µs"),
        Figure("stream_peak", "memory of the process, a million lines streamed", stream_peak, "MB", bar=1500),
        Figure("peak", "… vocabularies learnt, indexed, and read in batches", peak, "MB", bar=1500),
    ]
    how = (
        f"{N_SENTENCES:,} sentences of the grammar, {sum(map(len, english)) / N_SENTENCES:.0f} English and "
        f"{sum(map(len, chinese)) / N_SENTENCES:.0f} Chinese characters long on average; seconds of one thread of the "
        f"process, median of {ROUNDS} rounds. The file has {N_LINES:,} different lines and is read by a new process, "
        "whose memory at its largest is given."
    )
    write("tokenizing", figures, versions(["numpy", "tokenizers"]), how)


if __name__ == "__main__":
    sys.exit(main())
