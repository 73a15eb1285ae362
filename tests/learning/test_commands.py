"""`nunchi pretrain`: one's own text in, a folder out that notebooks and transformers load."""

from transformers import AutoModel

from helpers import cli, sample_world


def test_pretrain_makes_a_folder_that_loads(tmp_path, capsys):
    texts = list(sample_world.unlabelled(80))
    (tmp_path / "mine.txt").write_text("\n".join(texts))
    (tmp_path / "dev.txt").write_text("\n".join(texts[:5]))
    out = tmp_path / "encoder"
    options = [
        "--vocabulary-size",
        "300",
        "--hidden",
        "16",
        "--epochs",
        "1",
        "--without",
        str(tmp_path / "dev.txt"),
    ]
    assert cli.main(["pretrain", str(tmp_path / "mine.txt"), "--out", str(out), *options]) == 0
    said = capsys.readouterr().out
    assert "copies: 5 exact" in said and "tokens/s, loss" in said
    assert AutoModel.from_pretrained(out).config.hidden_size == 16
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dev.txt", "encoder", "mine.txt"]
    assert cli.main(["pretrain", str(tmp_path / "mine.txt"), "--out", str(out)]) == 2
    assert "exists: name a new folder" in capsys.readouterr().err


def test_bad_text_is_one_message(tmp_path, capsys):
    assert cli.main(["pretrain", str(tmp_path / "none.txt"), "--out", str(tmp_path / "x")]) == 2
    assert "none.txt" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
