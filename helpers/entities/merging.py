"""One tagger made of several: the weights of runs that differ in their seed, merged without training.

Voting, which keeps all of them, is in `voting`; averages within a run are in `learning.averaging`.
"""

from collections.abc import Sequence

from helpers.entities.experiment import Encoding, TaggerConfig, build_tagger, tag
from helpers.entities.tags import TagArray

MERGES = ("mean of weights", "model stock")


def starts_alike(config: TaggerConfig) -> bool:
    """Say whether runs of these settings start from one encoder, whatever their seed."""
    from helpers.learning.encoders import KINDS

    return config.encoder not in KINDS and not config.from_scratch


def tag_merged(runs: Sequence[tuple[TaggerConfig, str]], data: Encoding) -> dict[str, TagArray]:
    """Tag dev with the merges, by MERGES, of runs of one architecture: their settings and folders."""
    from helpers.learning import averaging
    from helpers.learning.encoders import quiet

    dev, found = data.parts["dev"], {}
    with quiet():
        models = [build_tagger(config, data.tokenizer, dev.types) for config, _ in runs]
    tuned = [averaging.read_weights(f"{folder}/model") for _, folder in runs]
    starts = [{name: model.state_dict()[name] for name in tuned[0]} for model in models]
    weights = (averaging.average_weights(tuned), averaging.model_stock(tuned, starts))
    for name, merged in zip(MERGES, weights, strict=True):
        with averaging.applied(models[0], merged):
            found[name] = tag(models[0], dev).decode()
    return found
