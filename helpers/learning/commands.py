"""`nunchi pretrain`: a masked language model from one's own text, on a laptop."""

import shutil
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from helpers.corpora.texts import read_texts


def pretrain(parser: ArgumentParser) -> Callable[[Namespace], int]:
    """Pretrain an encoder on plain text and save it as a Hugging Face folder.

    The folder works as the parameter `model` of every notebook and, after `import helpers.learning.encoders`,
    with `AutoModel.from_pretrained`. If it is stopped, the same command continues.

    examples:
      nunchi pretrain news.txt --out my-encoder                    one text a line
      nunchi pretrain corpus/ --out my-encoder --tokenizer local:klue-roberta --hidden 256
      nunchi pretrain clinic.jsonl --out adapted --model klue/roberta-small    go on from a pretrained model
      nunchi pretrain news.txt --out my-encoder --without dev.txt  leave out copies of test sentences

    exit codes: 0 all fine, 2 bad input, 130 stopped (run it again to go on)
    """
    add = parser.add_argument
    add(
        "documents",
        nargs="+",
        type=Path,
        help=".txt (a text a line), .jsonl (field text), or folders of them",
    )
    add("--out", type=Path, required=True, help="folder for the model; it must not exist yet")
    add("--model", default="bilstm", help="bilstm, roberta, … from scratch, or a masked LM to go on from")
    add(
        "--tokenizer",
        help="train:wordpiece (default), train:character, …, local:<name>, a folder, a hub name",
    )
    add("--vocabulary-size", type=int, default=8000, help="of a tokenizer that is trained here")
    add("--hidden", type=int, default=128, help="width of a model from scratch")
    add("--epochs", type=int, default=3, help="passes over the text")
    add(
        "--peak-lr",
        type=float,
        default=3e-3,
        help="learning rate after warm-up; 5e-5 suits pretrained models",
    )
    add("--batch-tokens", type=int, default=4096, help="tokens of a step")
    add("--span", type=int, default=1, help="mean length of what is masked; 3 suits characters")
    add(
        "--without",
        nargs="+",
        type=Path,
        default=[],
        help="sentences that must not be read: dev and test sets",
    )
    add("--seed", type=int, default=0)
    return _pretrain


def _pretrain(options: Namespace) -> int:
    from helpers.learning import encoders, pretraining

    if options.out.exists():
        raise ValueError(f"{options.out} exists: name a new folder, or delete that one")
    own = options.model not in encoders.MASKED
    names = ("model", "vocabulary_size", "hidden", "epochs", "peak_lr", "batch_tokens", "span", "seed")
    settings = {name: getattr(options, name) for name in names}
    settings["tokenizer"] = options.tokenizer or ("" if own else "train:wordpiece")
    texts, unseen = (
        [text for path in paths for text in read_texts(path)]
        for paths in (options.documents, options.without)
    )
    work = options.out.with_name(f"{options.out.name}.part")
    work.mkdir(parents=True, exist_ok=True)
    facts = pretraining.pretrain(texts=texts, unseen=unseen, folder=work, progress="pretrain", **settings)
    (work / "model").rename(options.out)
    shutil.rmtree(work)
    print(
        f"{options.out}: {facts['texts']:,} texts, {facts['tokens']:,} tokens an epoch; left out as copies: "
        f"{facts['exact_copies']} exact, {facts['near_copies']} near. Held out: pseudo-perplexity "
        f"{facts['pseudo_perplexity']:.1f}, {facts['masked_accuracy']:.1f} % of masked tokens recovered"
    )
    return 0
