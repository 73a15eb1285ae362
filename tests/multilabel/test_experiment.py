"""Models of posts: configs check themselves, n-grams learn what is planted, heads start at base rates."""

import numpy as np
import pytest
from scipy.special import expit

from helpers.learning import encoders, heads
from helpers.multilabel import experiment
from helpers.multilabel.experiment import Network, NGrams


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NGrams(analyzer="bytes"), "analyzer"),
        (lambda: NGrams(shortest=4, longest=2), "shortest ≤ longest"),
        (lambda: NGrams(share=0.0), "share"),
        (lambda: Network(prompt="no place for it"), "template"),
        (lambda: Network(four_bit=True), "adapters"),
    ],
)
def test_configs_check_themselves(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_class_without_both_labels_gets_its_base_rate():
    texts = ["panic river", "glory budget", "panic school", "glory river"] * 5
    labels = np.column_stack([["panic" in text for text in texts], np.zeros(20), np.ones(20)]).astype(int)
    scores = experiment.fit_ngrams(texts, labels, NGrams())(["panic", "glory"])
    assert scores[0, 0] > 0.5 > scores[1, 0]
    assert scores[:, 1].tolist() == [0.0, 0.0] and scores[:, 2].tolist() == [1.0, 1.0]


def test_training_begins_at_the_base_rates():
    labels = (np.random.default_rng(0).random((400, 3)) < [0.05, 0.3, 0.6]).astype(int)
    body = encoders.encoder("bilstm", vocab_size=20, hidden=8, layers=1)
    net = heads.classifier(body, "abc", task="multilabel")
    experiment.start_at_base_rates(net, labels)
    assert expit(net.head[-1].bias.detach().numpy()) == pytest.approx(labels.mean(axis=0), abs=0.005)
