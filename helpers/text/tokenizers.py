"""Tokenizers by name: trained here, read from a file or folder, or fetched from the hub.

Every one comes back as a fast transformers tokenizer with [PAD], [UNK], [CLS], [SEP] and [MASK], whatever its
source, so that offsets, padding and saving work alike. Measuring them is in `measures`, cutting into
morphemes in `morphemes`.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import (
    NormalizedString,
    PreTokenizedString,
    Regex,
    Tokenizer,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from tokenizers import models as algorithms
from transformers import PreTrainedTokenizerFast

from helpers.text.morphemes import morphemes
from helpers.text.revisions import revision_of

SPECIAL = {
    name: f"[{name[:-6].upper()}]"
    for name in ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
}
KINDS = ("wordpiece", "bpe", "unigram", "character", "morpheme")


def load_tokenizer(
    spec: str, *, texts: Iterable[str] | None = None, size: int = 8000
) -> PreTrainedTokenizerFast:
    """Load the tokenizer that `spec` names.

    "train:wordpiece" (or bpe, unigram, character, morpheme) is trained on `texts` up to `size` entries.
    "local:klue-roberta" is a folder or file below `vocabs` in the folder named by NUNCHI_DATA. Otherwise a
    path — a saved tokenizer, a bare vocab.txt, a SentencePiece model — or a name on the hub, `owner/name` or
    `owner/name@commit`.
    """
    source, _, name = spec.partition(":")
    if source == "train":
        if texts is None:
            raise ValueError(f"{spec!r} is trained in place: pass texts=, the training sentences")
        return train_tokenizer(name, texts, size=size)
    path = local_path(name) if source == "local" else Path(spec)
    if path.is_dir() or not path.exists():
        return _saved(path, spec)
    return _from_vocab(path) if path.suffix == ".txt" else _from_sentencepiece(path)


def train_tokenizer(kind: str, texts: Iterable[str], *, size: int = 8000) -> PreTrainedTokenizerFast:
    """Train one of KINDS; `size` is an upper limit, special tokens included, and does not bind "character".

    "wordpiece" never joins eojeols; "morpheme" never joins kiwi's morphemes; "bpe", "unigram" and "character"
    write the space as `▁`. The same texts always give the same vocabulary.
    """
    if kind not in KINDS:
        raise ValueError(f"a tokenizer is trained as one of {', '.join(KINDS)}; got {kind!r}")
    texts = list(texts)
    if kind in ("wordpiece", "morpheme"):
        splitter = _morpheme_splitter() if kind == "morpheme" else pre_tokenizers.BertPreTokenizer()
        backend = _wordpiece(_wordpiece_vocabulary(texts, splitter, size=size))
        return _wrapped(backend, MorphemeTokenizer if kind == "morpheme" else PreTrainedTokenizerFast)
    if kind == "unigram":
        return _wrapped(_spaced(algorithms.Unigram(_unigram_pieces(texts, size=size), unk_id=1)))
    backend = _spaced(algorithms.BPE(unk_token=SPECIAL["unk_token"]))
    limit = size if kind == "bpe" else 0  # nothing but the alphabet
    trainer = trainers.BpeTrainer(
        vocab_size=limit, special_tokens=list(SPECIAL.values()), min_frequency=2, show_progress=False
    )
    backend.train_from_iterator(texts, trainer=trainer)
    return _wrapped(backend)


class MorphemeTokenizer(PreTrainedTokenizerFast):
    """A fast tokenizer that splits text into kiwi's morphemes first.

    The splitter is Python code, which the backend cannot write down: pickles and saved folders hold a plain
    splitter in its place and get kiwi's back when they are loaded.
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.backend_tokenizer.pre_tokenizer = _morpheme_splitter()

    def __getstate__(self) -> dict:
        self.backend_tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        plain = Tokenizer.from_str(self.backend_tokenizer.to_str())
        self.backend_tokenizer.pre_tokenizer = _morpheme_splitter()
        return {**self.__dict__, "_tokenizer": plain}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.backend_tokenizer.pre_tokenizer = _morpheme_splitter()

    def save_pretrained(self, save_directory, **options):
        """Save through a copy that the backend can write down."""
        return PreTrainedTokenizerFast(
            tokenizer_object=self.__getstate__()["_tokenizer"],
            **self.special_tokens_map,
            splitter="morphemes",
        ).save_pretrained(save_directory, **options)


class _Morphemes:
    """A pre-tokenizer that cuts where kiwi sees a morpheme begin or end."""

    def pre_tokenize(self, text: PreTokenizedString) -> None:
        text.split(self._cut)

    def _cut(self, _: int, text: NormalizedString) -> list[NormalizedString]:
        return [text[start:end] for start, end in morphemes(text.normalized)]


def _morpheme_splitter() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence(
        [pre_tokenizers.PreTokenizer.custom(_Morphemes()), pre_tokenizers.BertPreTokenizer()]
    )


def _wordpiece_vocabulary(texts: Sequence[str], splitter, *, size: int) -> dict[str, int]:
    """Learn WordPiece entries; the letters go in first, sorted, or their ids would follow a hash order."""
    backend = _wordpiece({})
    backend.pre_tokenizer = splitter
    words = {
        word
        for text in texts
        for word, _ in splitter.pre_tokenize_str(backend.normalizer.normalize_str(text))
    }
    letters = sorted({word[0] for word in words} | {f"##{letter}" for word in words for letter in word[1:]})
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=[*SPECIAL.values(), *letters], min_frequency=2, show_progress=False
    )
    backend.train_from_iterator(texts, trainer=trainer)
    return backend.get_vocab()


def _unigram_pieces(texts: Sequence[str], *, size: int) -> list[tuple[str, float]]:
    """Learn unigram pieces and scores by SentencePiece's own trainer, on one thread: it repeats exactly."""
    import io

    import sentencepiece

    model, normalizer = io.BytesIO(), _spaced(algorithms.BPE()).normalizer
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=map(normalizer.normalize_str, texts),
        model_writer=model,
        model_type="unigram",
        vocab_size=size - len(SPECIAL) + 3,  # SentencePiece's own <unk>, <s> and </s> are not ours
        hard_vocab_limit=False,
        character_coverage=1.0,
        normalization_rule_name="identity",
        num_threads=1,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    learned = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(3, len(processor))]
    return [(token, 0.0) for token in SPECIAL.values()] + learned


def _wordpiece(vocab: dict[str, int]) -> Tokenizer:
    model = algorithms.WordPiece(vocab, unk_token=SPECIAL["unk_token"], max_input_chars_per_word=100)
    backend = Tokenizer(model)
    backend.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return backend


def _spaced(model: algorithms.Model) -> Tokenizer:
    """Make a backend that writes spaces as `▁` and cuts at punctuation, so that markers stand alone."""
    backend = Tokenizer(model)
    backend.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Punctuation(), pre_tokenizers.Metaspace(prepend_scheme="first")]
    )
    return backend


def _wrapped(backend: Tokenizer, kind: type = PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """Make a transformers tokenizer of a backend: add what is missing, and [CLS] … [SEP] around each text."""
    backend.add_special_tokens(list(SPECIAL.values()))
    first, last = SPECIAL["cls_token"], SPECIAL["sep_token"]
    backend.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B:1 {last}:1",
        special_tokens=[(token, backend.token_to_id(token)) for token in (first, last)],
    )
    return kind(tokenizer_object=backend, **SPECIAL)


def local_path(name: str) -> Path:
    """Return the file or folder of a vocabulary below NUNCHI_DATA, that "local:<name>" stands for."""
    folder = os.environ.get("NUNCHI_DATA")
    if not folder:
        raise ValueError(f"'local:{name}' is looked up in $NUNCHI_DATA/vocabs, and NUNCHI_DATA is not set")
    path = Path(folder) / "vocabs" / name
    if not path.exists():
        have = ", ".join(sorted(entry.name for entry in path.parent.glob("*"))) or "nothing"
        raise ValueError(f"no vocabulary {name!r} in {path.parent}; it holds {have}")
    return _only_file(path)


def _only_file(path: Path) -> Path:
    """Step into a folder that holds one bare vocabulary instead of a saved tokenizer."""
    if path.is_dir() and not (path / "tokenizer.json").exists():
        files = [file for pattern in ("vocab.txt", "*.model", "*.spiece") for file in path.glob(pattern)]
        if len(files) > 1:
            raise ValueError(
                f"{path} holds several vocabularies: name one of {sorted(f.name for f in files)}"
            )
        return files[0] if files else path
    return path


def _saved(path: Path, spec: str) -> PreTrainedTokenizerFast:
    from transformers import AutoTokenizer

    name, commit = revision_of(path if path.is_dir() else spec)
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, revision=commit or "main", trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"cannot load the tokenizer {spec!r}: it is no folder or file here, and the hub did not give it "
            f"({str(error).splitlines()[0]})"
        ) from error
    if tokenizer.init_kwargs.get("splitter") == "morphemes":
        return MorphemeTokenizer(tokenizer_object=tokenizer.backend_tokenizer, **SPECIAL)
    return tokenizer


def _from_vocab(path: Path) -> PreTrainedTokenizerFast:
    """Read a bare BERT vocab.txt, one piece a line: cased WordPiece, accents kept."""
    pieces = path.read_text(encoding="utf-8").split("\n")
    vocab = {piece: index for index, piece in enumerate(pieces) if piece}
    if SPECIAL["unk_token"] not in vocab:
        raise ValueError(f"{path} has no [UNK] line: it is not a BERT vocabulary")
    return _wrapped(_wordpiece(vocab))


def _from_sentencepiece(path: Path) -> PreTrainedTokenizerFast:
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(path.read_bytes())
    pieces = [(piece.piece, piece.score) for piece in model.pieces]
    if any(piece == "▁▃" for piece, _ in pieces):
        raise ValueError(
            f"{path.name} expects text already split by MeCab, with ▃ for spaces: on plain text every figure "
            "would be wrong; use a model for plain text, or 'train:morpheme'"
        )
    unknown = next(index for index, piece in enumerate(model.pieces) if piece.type == piece.UNKNOWN)
    backend = Tokenizer(_sentencepiece_algorithm(model, pieces, unknown))
    rules = model.normalizer_spec.precompiled_charsmap
    backend.normalizer = normalizers.Sequence(
        [*([normalizers.Precompiled(rules)] if rules else []), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    return _wrapped(backend)


def _sentencepiece_algorithm(model, pieces: Sequence[tuple[str, float]], unknown: int) -> algorithms.Model:
    if model.trainer_spec.model_type == model.trainer_spec.UNIGRAM:
        return algorithms.Unigram(list(pieces), unk_id=unknown)
    from transformers.convert_slow_tokenizer import generate_merges

    vocab = {piece: index for index, (piece, _) in enumerate(pieces)}
    return algorithms.BPE(vocab, generate_merges(vocab, None), unk_token=pieces[unknown][0], fuse_unk=True)
