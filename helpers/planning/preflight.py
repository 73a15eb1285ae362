"""What would stop a suite, found before anything trains: the hub, models, packages, cards, disk."""

from __future__ import annotations

import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from helpers.planning import estimates
from helpers.planning.trainings import Training
from helpers.text.revisions import revision_of

TIMEOUT = 5  # seconds
SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"


class Check(NamedTuple):
    """One thing that was looked at; `fine` is None where it could not be."""

    about: str
    fine: bool | None
    said: str

    def __str__(self) -> str:
        mark = {True: "ok", False: "NO", None: "??"}[self.fine]
        return f"{mark}  {self.about}: {self.said}"


def preflight(
    found: Mapping[Training, int], names: Iterable[str], *, hub_data: bool, folder: Path
) -> Iterator[Check]:
    """Yield findings: `names` are what the parameters name on the hub, `folder` is where results go."""
    names = list(names)
    online = None
    if names or hub_data:
        online = reachable()
        yield _hub(online, hub_data)
    for name in names:
        yield _published(name) if online else _cached(name)
    if any(training.four_bit for training in found):
        yield _package("bitsandbytes", "pip install -e '.[gpu]'; 4-bit loading needs it")
    costs = [estimates.cost(training, runs) for training, runs in found.items()]
    if costs:
        yield from _cards(costs)
        yield from _disk(costs, folder)


def reachable(address: str | None = None) -> bool:
    """Say whether the hub answers; HF_HUB_OFFLINE means that it is not asked."""
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "ON", "YES", "TRUE"):
        return False
    address = address or os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=TIMEOUT):
            return True
    except urllib.error.HTTPError:
        return True  # it answered
    except (OSError, ValueError):
        return False


def _hub(online: bool, data: bool) -> Check:
    if online:
        return Check("hub", True, "reachable")
    told = "not reachable from here" + ("; the data sets come from it (`data: hub`)" if data else "")
    return Check("hub", False, f"{told}. What is in its cache can be used, nothing else can")


def _cached(name: str) -> Check:
    """Look a model up where downloads are kept."""
    from huggingface_hub import try_to_load_from_cache

    base, commit = revision_of(name)
    there = {
        file
        for file in ("config.json", SAFE, PICKLED)
        if isinstance(try_to_load_from_cache(base, file, revision=commit), str)
    }
    if "config.json" not in there:
        which = f" --revision {commit}" if commit else ""
        return Check(name, False, f"not in the cache; where there is a network: hf download {base}{which}")
    return _format(name, there)


def _published(name: str) -> Check:
    """Ask the hub about a model: is it there, may it be read, in which format are its weights?"""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    base, commit = revision_of(name)
    try:
        info = HfApi().model_info(base, revision=commit)
        HfApi().auth_check(base)
    except GatedRepoError:
        return Check(name, False, "gated: accept its licence on the hub, then `hf auth login`")
    except RepositoryNotFoundError:
        return Check(name, False, "there is no such model on the hub, or it is private")
    except (HfHubHTTPError, OSError) as error:
        return Check(name, None, f"could not be asked about: {error}")
    return _format(name, {entry.rfilename for entry in info.siblings or ()})


def _format(name: str, files: set[str]) -> Check:
    if any(file.endswith(".safetensors") for file in files):
        return Check(name, True, "safetensors")
    if PICKLED in files:
        return Check(name, True, "a pickle only: read without running code, and converted once")
    if any(file.endswith(".bin") for file in files):
        return Check(name, False, "weights in several pickles: convert it (save_pretrained), pass the folder")
    return Check(name, None, "config found, no weights beside it: a tokenizer alone can be used")


def _package(name: str, advice: str) -> Check:
    there = find_spec(name) is not None
    return Check(name, there, "installed" if there else f"not installed: {advice}")


def _cards(costs: Iterable[estimates.Cost]) -> Iterator[Check]:
    import torch

    need = max(costs, key=lambda one: one.peak)
    largest = f"the largest run ({need.training.model}) takes about {estimates.gigabytes(need.peak)}"
    if not torch.cuda.is_available():
        yield Check("GPU", False, f"none here; {largest}, {need.smallest_card()} or larger")
        return
    for number in range(torch.cuda.device_count()):
        card = torch.cuda.get_device_properties(number)
        fits = need.peak <= estimates.USABLE * card.total_memory
        yield Check(f"{card.name}, {estimates.gigabytes(card.total_memory)}", fits, largest)
    bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    yield Check("bf16", True, "computed by the card" if bf16 else "not on this card: fp16 is used instead")


def _disk(costs: Iterable[estimates.Cost], folder: Path) -> Iterator[Check]:
    costs = list(costs)
    kept = sum(one.runs * one.kept for one in costs) + max(one.passing for one in costs)
    downloads = sum({one.training.model: one.download for one in costs}.values())
    home = Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    for about, place, need in (("disk for runs", folder, kept), ("disk for downloads", home, downloads)):
        there = next(parent for parent in (place, *place.absolute().parents) if parent.is_dir())
        free = shutil.disk_usage(there).free
        told = f"{estimates.gigabytes(need)} needed, {estimates.gigabytes(free)} free in {there}"
        yield Check(about, free >= need, told)
