"""Commits of models on the hub, so that a name means the same weights and vocabulary next year.

A name that is not listed means its newest commit; `owner/name@commit` names one.
"""

from pathlib import Path

PINNED = {
    "klue/bert-base": "77c8b3d707df785034b4e50f2da5d37be5f0f546",
    "klue/roberta-small": "5fe1f0cb3946f0ea1c01e657cd1688771cf47802",
    "klue/roberta-base": "02f94ba5e3fcb7e2a58a390b8639b0fac974a8da",
    "klue/roberta-large": "28d911204e9022eda172571ca8cc61eaffd942f7",
    "monologg/koelectra-small-v3-discriminator": "7488f8db0f208beff4a1f3f9bb3ed04650a89ed7",
    "monologg/koelectra-base-v3-discriminator": "68b30cd259f34a4b5aa8786392612ba2a2617fcc",
    "google-bert/bert-base-multilingual-cased": "3f076fdb1ab68d5b2880cb87a0886f315b8146f8",
    "beomi/kcbert-base": "0f2f3f8ce58a3e2dab3f4c9f547cbb612061c2ed",
    "kykim/bert-kor-base": "c5d3f3bee19d59b62cdd7c87d53486831f640fe4",
    "FacebookAI/xlm-roberta-large": "c23d21b0620b635a76227c604d44e43a9f0ee389",
    "microsoft/mdeberta-v3-base": "a0484667b22365f84929a935b5e50a51f71f159d",
    "kakaobank/kf-deberta-base": "363b171d71443b0874b0bf9cea053eb5b1650633",
    "google/gemma-2-27b-it": "aaf20e6b9f4c0fcf043f6fb2a2068419086d77b0",
}


def revision_of(name: str | Path) -> tuple[str, str | None]:
    """Return a hub name and its commit; a folder, and a name without one, have None.

    >>> revision_of("owner/name@a1b2c3d")
    ('owner/name', 'a1b2c3d')
    """
    if Path(name).exists():
        return str(name), None
    base, _, own = str(name).partition("@")
    return base, own or PINNED.get(base)
