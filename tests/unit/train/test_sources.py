"""From the section `data` to tokenizers and ids."""

import pytest

from stepformer.train.config import Data
from stepformer.train.sources import load_data

PAIRS = [("Tom runs.", "汤姆跑。"), ("She Runs.", "她跑。"), ("TOM sleeps.", "汤姆睡。"), ("She has A.", "她有A。")]


@pytest.mark.parametrize("kind", ["word", "character", "bpe"])
@pytest.mark.parametrize("lower", [False, True])
def test_capital_letters_of_the_source_become_small_ones_when_asked_and_the_target_keeps_its_own(tmp_path, kind, lower):
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{source} {k}\t{target}{k}\n" for k in range(5) for source, target in PAIRS), "utf-8")
    settings = Data(str(file), src_tokenizer=kind, tgt_tokenizer="character", lower=lower, batch_size=4)
    data = load_data(settings)
    data.train.file.close()
    assert (data.src_tokenizer.lower, data.tgt_tokenizer.lower) == (lower, False)
    assert any(token.lower() != token for token in data.src_tokenizer.vocabulary[4:]) != lower
    assert "A" in data.tgt_tokenizer.vocabulary
    assert (data.src_tokenizer.encode("TOM runs.") == data.src_tokenizer.encode("tom runs.")) == lower
