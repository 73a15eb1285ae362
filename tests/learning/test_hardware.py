"""Half precision, other cards and the CPU's memory, on small models: what a GPU would meet."""

import numpy as np
import pytest
import torch

from helpers.learning import averaging, encoders, heads, inference, loop
from helpers.learning.batching import Features
from helpers.learning.config import Moment, TrainConfig
from helpers.multilabel.experiment import Network, fit_network
from helpers.text.tokenizers import train_tokenizer
from tests.learning.test_loop import accuracy, tagger, tagging_rows
from tests.sweeps.test_resume import CASES, TEXTS

SMALL = {"hidden": 32, "layers": 1, "max_length": 32}
EPOCH_END = Moment(step=4, epoch=1.0, previous_epoch=0.75, total_steps=8)


@pytest.fixture
def half_precision(monkeypatch):
    """Train and load as on a card that computes in bf16."""
    for module in (loop, encoders):
        monkeypatch.setattr(module, "precision", lambda: "bf16")


@pytest.mark.parametrize(("emulated", "wanted"), [(False, "bf16"), (True, "fp16")])
def test_cards_that_only_emulate_bf16_train_in_fp16(monkeypatch, emulated, wanted):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation or not emulated
    )
    assert inference.precision() == wanted
    assert inference.best_device().type == "cuda"


def test_without_a_gpu_all_is_single_precision_on_the_cpu():
    assert inference.precision() == "no"
    assert inference.best_device().type in ("cpu", "mps")


def saved_arrays(folder):
    for path in folder.glob("*.np[yz]"):
        loaded = np.load(path)
        yield from [loaded] if path.suffix == ".npy" else loaded.values()


@pytest.mark.parametrize("case", [name for name in CASES if name != "masked_lm"])
def test_every_training_runs_in_half_precision(case, tmp_path, half_precision, monkeypatch):
    halves = set()
    linear = torch.nn.functional.linear

    def watched(states, weight, bias=None):
        out = linear(states, weight, bias)
        halves.add(out.dtype)
        return out

    monkeypatch.setattr(torch.nn.functional, "linear", watched)
    function, config, shared = CASES[case](tmp_path / "parent")
    config = {**config, "epochs": 2, "swa_start": 1} if "swa_start" in config else {**config, "epochs": 2}
    (tmp_path / "run").mkdir()
    assert function(**config, **shared, folder=tmp_path / "run")["resumed_from"] == 0
    assert torch.bfloat16 in halves
    assert all(np.isfinite(array).all() for array in saved_arrays(tmp_path / "run"))


def test_two_precisions_follow_each_other_in_one_process(monkeypatch):
    config = TrainConfig(epochs=1, batch_rows=8)
    before = loop.fit(tagger(), tagging_rows(20), config=config).history[0]["loss"]
    monkeypatch.setattr(loop, "precision", lambda: "bf16")
    half = loop.fit(tagger(), tagging_rows(20), config=config).history[0]["loss"]
    monkeypatch.undo()
    after = loop.fit(tagger(), tagging_rows(20), config=config).history[0]["loss"]
    assert after == before != half == pytest.approx(before, rel=0.05)


@pytest.mark.parametrize("name", loop.SHARDING)
def test_sharded_models_are_refused_before_anything_is_built(name, monkeypatch):
    monkeypatch.setenv(f"ACCELERATE_USE_{name}", "true")
    with pytest.raises(ValueError, match=f"{name}.*--multi_gpu"):
        loop.fit(tagger(), tagging_rows(4), config=TrainConfig())


# --- memory ---


def test_averages_that_are_touched_now_and_then_leave_the_gpu():
    """The meta device stands for one: what is to be copied to the CPU says so, the rest stays there."""
    model = torch.nn.Linear(2, 2, device="meta")
    for average in (averaging.SWA(start=1), averaging.LAWA()):
        with pytest.raises(NotImplementedError, match="meta"):
            average(model, EPOCH_END)
    ema = averaging.EMA()
    ema(model, EPOCH_END)
    assert {value.device.type for value in ema.weights().values()} == {"meta"}


@pytest.mark.parametrize("restore", [True, False])
def test_the_best_weights_are_copied_only_where_they_are_restored(restore, tmp_path, monkeypatch):
    monkeypatch.setattr(loop.checkpointing, "due", lambda *_, **__: True)
    monkeypatch.setattr(loop.checkpointing, "save", lambda *_, groups, **__: kept.append("best" in groups))
    kept: list[bool] = []
    config = TrainConfig(epochs=2, batch_rows=8, metric="accuracy", restore_best=restore)
    rows = tagging_rows(16)
    loop.fit(tagger(), rows, config=config, evaluate=lambda m: accuracy(m, rows), folder=tmp_path)
    assert kept[-1] is restore


class Single(torch.Tensor):
    """A tensor of a device without double precision, such as Apple's GPUs."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.Tensor.cpu:
            return args[0].as_subclass(torch.Tensor)
        out = super().__torch_function__(function, types, args, kwargs)
        if isinstance(out, Single) and out.dtype == torch.float64:
            raise TypeError("this device has no float64")
        return out


def test_weights_of_a_device_without_double_precision_are_averaged():
    with pytest.raises(TypeError, match="float64"):
        torch.ones(2).as_subclass(Single).double()
    states = [{"w": torch.tensor([value, 2.0]).as_subclass(Single)} for value in (1.0, 3.0)]
    assert averaging.average_weights(states)["w"].tolist() == [2.0, 2.0]


def test_no_column_of_a_batch_is_in_double_precision():
    row = {"input_ids": [1, 2], "labels": [0.0, 1.0], "label_bias": [0.5, 0.5], "weight": 0.25}
    assert {values.dtype for values in Features([row]).batch([0]).values()} == {
        np.dtype("int64"), np.dtype("float32"),
    }  # fmt: skip


# --- adapters ---


@pytest.fixture
def decoder(tmp_path):
    """A folder with a small decoder and its tokenizer."""
    tokenizer = train_tokenizer("wordpiece", TEXTS, size=200)
    body = encoders.encoder("gemma-2", vocab_size=len(tokenizer), pad_id=tokenizer.pad_token_id, **SMALL)
    body.save_pretrained(tmp_path / "decoder")
    tokenizer.save_pretrained(tmp_path / "decoder")
    return str(tmp_path / "decoder")


def adapted(decoder, folder, monkeypatch, *, seed=0):
    """Train adapters for an epoch; return the first and the last state of the network, and what it says."""
    seen = []
    fit = loop.fit

    def watched(net, rows, **options):
        seen.append({name: value.detach().clone() for name, value in net.named_parameters()})
        result = fit(net, rows, **options)
        seen.append(dict(net.named_parameters()))
        return result

    monkeypatch.setattr(loop, "fit", watched)
    labels = np.array([["서울" in text, "1998" in text] for text in TEXTS], dtype=int)
    config = Network(encoder=decoder, tokenizer=decoder, lora_rank=2, pooling="last", epochs=1)
    predict, _ = fit_network(TEXTS, labels, config, seed=seed, folder=folder)
    monkeypatch.setattr(loop, "fit", fit)
    return *seen, predict(TEXTS)


def test_frozen_weights_below_adapters_are_kept_in_half_precision(
    decoder, tmp_path, half_precision, monkeypatch
):
    first, last, scores = adapted(decoder, tmp_path / "run", monkeypatch)
    trained = {name for name, value in last.items() if value.requires_grad}
    assert {value.dtype for name, value in first.items() if name in trained} == {torch.float32}
    frozen = {name for name in first if "base_layer" in name or "embed_tokens" in name}
    assert frozen and {first[name].dtype for name in frozen} == {torch.bfloat16}
    assert any(not torch.equal(first[name], last[name]) for name in trained)
    assert np.isfinite(scores).all()


def test_adapters_are_in_single_precision_on_a_cpu(decoder, tmp_path, monkeypatch):
    first, _, _ = adapted(decoder, tmp_path / "run", monkeypatch)
    assert {value.dtype for value in first.values()} == {torch.float32}


def test_adapters_come_from_the_seed_whatever_ran_before(decoder, tmp_path, monkeypatch):
    drawn = []
    for number, seed in enumerate((1, 1, 2)):
        torch.rand(number + 1)
        first, _, _ = adapted(decoder, tmp_path / str(number), monkeypatch, seed=seed)
        drawn.append(torch.cat([value.flatten() for name, value in first.items() if "lora_A" in name]))
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])


def test_new_embeddings_come_from_the_seed_whatever_ran_before(decoder):
    tokenizer = train_tokenizer("wordpiece", TEXTS, size=200)
    tokenizer.add_tokens(["[가]", "[나]"])
    drawn = []
    for number, seed in enumerate((1, 1, 2)):
        torch.rand(number + 1)
        loaded = encoders.build_encoder(decoder, tokenizer, seed=seed)
        drawn.append(loaded.get_input_embeddings().weight[-2:].detach())
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert isinstance(heads.classifier(loaded, "ab", task="sequence"), heads.Classifier)
