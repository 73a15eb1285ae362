"""Models of posts: configs check themselves, n-grams learn what is planted, heads start at base rates."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from transformers import BatchEncoding

from helpers.learning import encoders, heads
from helpers.multilabel import experiment
from helpers.multilabel.experiment import Network, NGrams
from helpers.text import tokenizers


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
    texts = ["panic river", "glory budget", "panic school", "glory river"] * 5 + ["panic", "glory"]
    labels = np.column_stack([["panic" in text for text in texts], np.zeros(22), np.ones(22)]).astype(int)
    train, test = np.arange(20), np.arange(20, 22)
    scores = experiment.score_by_ngrams(texts, labels, train, test, NGrams())
    assert scores[0, 0] > 0.5 > scores[1, 0]
    assert scores[:, 1].tolist() == [0.0, 0.0] and scores[:, 2].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "config", [NGrams(), NGrams(features=150), NGrams("word", 1, 2), NGrams(share=0.4, features=40, c=1.0)]
)
def test_n_grams_counted_once_give_what_a_vectorizer_of_the_training_posts_gives(config):
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(["봄비", "가을", "강가", "눈", "panic", "glory"], 6)) for _ in range(80)]
    labels = np.column_stack([["눈" in text for text in texts], ["glory" in text for text in texts]])
    order = rng.permutation(80)
    train, test = np.sort(order[:60]), np.sort(order[60:])
    known = train[np.sort(np.random.default_rng(7).permutation(60)[: round(config.share * 60)])]
    vectors = TfidfVectorizer(
        analyzer=config.analyzer, ngram_range=(config.shortest, config.longest), min_df=2,
        max_features=config.features, sublinear_tf=True,
    )  # fmt: skip
    x = vectors.fit_transform([texts[i] for i in known])
    rows = vectors.transform([texts[i] for i in test])
    how = {"solver": "liblinear", "dual": True, "max_iter": 2000, "random_state": 7}
    wanted = [
        LogisticRegression(C=config.c, **how).fit(x, y).predict_proba(rows)[:, 1] for y in labels[known].T
    ]
    found = experiment.score_by_ngrams(texts, labels, train, test, config, seed=7)
    assert found == pytest.approx(np.stack(wanted, axis=1), abs=1e-6)


def test_training_begins_at_the_base_rates():
    labels = (np.random.default_rng(0).random((400, 3)) < [0.05, 0.3, 0.6]).astype(int)
    body = encoders.encoder("bilstm", vocab_size=20, hidden=8, layers=1)
    net = heads.classifier(body, "abc", task="multilabel")
    experiment.start_at_base_rates(net, labels)
    assert expit(net.head[-1].bias.detach().numpy()) == pytest.approx(labels.mean(axis=0), abs=0.005)


@pytest.mark.parametrize("kind", ["wordpiece", "unigram", "morpheme"])
@pytest.mark.parametrize("side", ["right", "left"])
def test_posts_have_the_ids_that_the_tokenizer_gives(kind, side):
    texts = ["국물이 진하고 맛있다.", "값이 또 올랐다. " * 9, "[MASK] 자리에 앉았다 [SEP]", "", "🙂 (a) 各"]
    tokenizer = tokenizers.train_tokenizer(kind, texts, size=120)
    tokenizer.truncation_side = side
    tokenizer(texts, padding=True)  # what an earlier call has set must not matter
    encoded = experiment.encode_posts(tokenizer, texts, prompt="후기: {text} =", max_tokens=12)
    asked = [f"후기: {text} =" for text in texts]
    assert [row["input_ids"] for row in encoded] == tokenizer(asked, truncation=True, max_length=12).input_ids
    assert max(len(row["input_ids"]) for row in encoded) == 12


def test_a_tokenizer_without_a_backend_is_asked_itself():
    class Slow:
        is_fast = False

        def __call__(self, texts, *, truncation, max_length):
            ids = [[len(word) for word in text.split()][:max_length] for text in texts]
            return BatchEncoding({"input_ids": ids})

    encoded = experiment.encode_posts(Slow(), ["값이 또 올랐다"], prompt="{text}", max_tokens=2)
    assert encoded == [{"input_ids": [2, 1]}]
