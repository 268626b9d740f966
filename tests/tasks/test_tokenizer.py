"""Tokenizer folders: the one that is trained, the one that ships, and folders that are none."""

import hashlib
import json
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.errors import UserError
from murphy_jax.tasks import repair, tokenizer

TEXTS = [
    "Write solve(x) for a list of integers.",
    "def solve(x):\n    x = sorted(x)\n    return x",
    "12 of 34 tests",
] * 20
QUICKSTART = Path(str(files("murphy_jax"))) / "assets" / "quickstart"
SHIPPED = tokenizer.load(QUICKSTART)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer.train(TEXTS, tmp_path / "tokenizer", vocab_size=300)
    return tmp_path / "tokenizer"


def encode(loaded: Any, text: str) -> list[int]:
    return list(loaded.encode(text, add_special_tokens=False))


def test_a_trained_folder_loads_with_its_special_tokens_and_size(folder: Path) -> None:
    loaded = tokenizer.load(folder)
    assert len(loaded) == 300
    assert (loaded.pad_token, loaded.eos_token, loaded.bos_token) == ("<|endoftext|>", "<|im_end|>", None)
    assert [loaded.convert_tokens_to_ids(token) for token in (tokenizer.PAD, tokenizer.START, tokenizer.END)] == [
        0,
        1,
        2,
    ]


def test_the_chat_template_is_chatml(folder: Path) -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "No"}]
    loaded = tokenizer.load(folder)
    closed = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nx<|im_end|>\n<|im_start|>user\nNo<|im_end|>\n"
    assert loaded.apply_chat_template(chat, tokenize=False) == closed
    opened = loaded.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    assert opened == f"{closed}<|im_start|>assistant\n"


def test_digits_stand_alone(folder: Path) -> None:
    tokens = tokenizer.load(folder).tokenize("1234 of 34")
    assert [token for token in tokens if any(map(str.isdigit, token))] == ["1", "2", "3", "4", "3", "4"]


def test_marks_stand_alone_so_that_a_value_can_be_copied_piece_by_piece() -> None:
    tokens = SHIPPED.tokenize("expected '@ant-@bee', got ['(ant', '<bee>']")
    assert not [token for token in tokens if len(token.strip("\u0120")) > 1 and not token.strip("\u0120").isalpha()]


@given(st.text())
def test_any_text_comes_back_as_it_was(text: str) -> None:
    assert SHIPPED.decode(encode(SHIPPED, text)) == text


def test_texts_of_all_scripts_come_back() -> None:
    for text in ("größe", "日本語\n\n", "  indented\n\ttab \r\n", "🙂 ok", "'s 't I'll"):
        assert SHIPPED.decode(encode(SHIPPED, text)) == text


def test_the_same_texts_give_the_same_files_in_another_process(folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from murphy_jax.tasks import tokenizer\n"
        f"tokenizer.train({TEXTS!r}, pathlib.Path(sys.argv[1]), vocab_size=300)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "again")], check=True)

    def digests(path: Path) -> dict[str, str]:
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in path.iterdir()}

    assert digests(folder) == digests(tmp_path / "again")


def test_a_vocabulary_without_room_for_all_bytes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="at least 259"):
        tokenizer.train(TEXTS, tmp_path, vocab_size=258)


def test_a_vocabulary_that_the_texts_cannot_fill_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="The texts give only"):
        tokenizer.train(TEXTS, tmp_path, vocab_size=2000)
    assert not (tmp_path / "tokenizer.json").exists()


def test_the_shipped_tokenizer_is_small_and_solutions_are_short_in_it() -> None:
    assert len(SHIPPED) == 1024
    for example in repair.generate(count=200, seed=5, split="heldout"):
        assert len(encode(SHIPPED, f"```python\n{example.task.reference}\n```")) <= 79
        assert len(encode(SHIPPED, example.task.prompt)) <= 48


def test_the_shipped_tokenizer_spells_its_constant_words_as_one_token() -> None:
    for word in ("user", "assistant", "python", " return", " solve", " sorted", " expected", " returned"):
        assert len(encode(SHIPPED, word)) == 1, word


@pytest.mark.parametrize("missing", ["the folder", "tokenizer_config.json"])
def test_a_folder_without_a_tokenizer_is_refused(folder: Path, missing: str) -> None:
    if missing == "the folder":
        folder = folder / "nowhere"
    else:
        (folder / missing).unlink()
    with pytest.raises(UserError, match=r"not a tokenizer folder.*Set model.tokenizer"):
        tokenizer.load(folder)


def test_a_damaged_tokenizer_is_refused_in_one_line(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(UserError, match="Cannot load the tokenizer") as caught:
        tokenizer.load(folder)
    assert "\n" not in str(caught.value)


def test_a_tokenizer_without_a_chat_template_is_refused(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(UserError, match="no chat template"):
        tokenizer.load(folder)


def test_a_template_in_the_tokenizers_configuration_counts(folder: Path) -> None:
    template = (folder / "chat_template.jinja").read_text()
    (folder / "chat_template.jinja").unlink()
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chat_template": template}))
    assert tokenizer.load(folder).chat_template == template


def test_a_copy_is_the_same_tokenizer_and_takes_no_weights_along(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "generation_config.json").write_text('{"eos_token_id": [2, 0]}')
    tokenizer.copy(folder, tmp_path / "copy")
    names = {path.name for path in (tmp_path / "copy").iterdir()}
    assert names == {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"}
    assert encode(tokenizer.load(tmp_path / "copy"), TEXTS[0]) == encode(tokenizer.load(folder), TEXTS[0])


def test_a_copy_onto_itself_changes_nothing(folder: Path) -> None:
    before = (folder / "tokenizer.json").read_bytes()
    tokenizer.copy(folder, folder)
    assert (folder / "tokenizer.json").read_bytes() == before


def test_a_copy_over_a_former_one_replaces_it(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    shutil.copytree(QUICKSTART, target)
    tokenizer.copy(folder, target)
    assert len(tokenizer.load(target)) == 300


def test_loading_says_nothing_of_pytorch() -> None:
    code = f"import pathlib; from murphy_jax.tasks import tokenizer; tokenizer.load(pathlib.Path({str(QUICKSTART)!r}))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("", "")
