"""From text to numbers and back: words, characters or pieces of words (BPE), behind one interface.

Every vocabulary begins with the same four: 0 `<pad>`, 1 `<bos>`, 2 `<eos>`, 3 `<unk>`. No text becomes one of them by
its spelling: a sentence that holds "<eos>" holds a few signs and letters.
"""

from stepformer.data.tokenizer._base import BOS, EOS, PAD, SPECIAL, UNK, Coverage, Tokenizer, VocabularyError
from stepformer.data.tokenizer._bpe import BpeTokenizer
from stepformer.data.tokenizer._characters import CharacterTokenizer
from stepformer.data.tokenizer._files import read_vocabulary, write_vocabulary
from stepformer.data.tokenizer._from_json import tokenizer_from_json
from stepformer.data.tokenizer._words import WordTokenizer

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "SPECIAL",
    "UNK",
    "BpeTokenizer",
    "CharacterTokenizer",
    "Coverage",
    "Tokenizer",
    "VocabularyError",
    "WordTokenizer",
    "read_vocabulary",
    "tokenizer_from_json",
    "write_vocabulary",
]
