"""HF tokenizer folders: train a small one, load any, copy one beside exported weights.

A trained one has the layout of Qwen's: byte-level BPE, single digits, `<|im_start|>` and `<|im_end|>` around the turns
of a chat, `<|endoftext|>` to pad.
"""

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from murphy_jax.errors import UserError

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
# Words and marks take the space before them; digits and marks stand alone, so a value can be copied piece by piece.
SPLIT = r" ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]|\s*[\r\n]+|\s+(?!\S)|\s+"
TEMPLATE = """\
{%- for message in messages %}<|im_start|>{{ message['role'] }}
{{ message['content'] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "vocab.json",
    "merges.txt",
    "generation_config.json",
)


def train(texts: Iterable[str], folder: Path, *, vocab_size: int, max_positions: int = 4096) -> None:
    """Learn merges from `texts` and write the folder; the same texts give the same files.

    Args:
        texts: what to learn from.
        folder: is made where it is missing.
        vocab_size: tokens in all, the 256 bytes and the special ones included.
        max_positions: told to readers as the longest input.

    Raises:
        UserError: the vocabulary is too small for the bytes and the special tokens, or too large for the texts.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    special = [PAD, START, END]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    if vocab_size < len(alphabet) + len(special):
        raise UserError(f"A vocabulary of {vocab_size} is too small. Give at least {len(alphabet) + len(special)}.")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() < vocab_size:
        raise UserError(
            f"The texts give only {tokenizer.get_vocab_size()} of {vocab_size} tokens. Lower the vocabulary's size."
        )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "eos_token": END,
        "model_max_length": max_positions,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")


def load(folder: Path) -> Any:
    """The HF tokenizer of a folder.

    Raises:
        UserError: there is none, it cannot be read, or it has no chat template.
    """
    # Without this the import advises to install PyTorch, which nothing here needs.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    from transformers import AutoTokenizer

    if not (folder / "tokenizer_config.json").is_file():
        raise UserError(
            f"{folder} is not a tokenizer folder: it has no tokenizer_config.json. Set model.tokenizer (or "
            "model.folder) to an HF folder with tokenizer.json and tokenizer_config.json."
        )
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    except Exception as error:  # each kind of damage raises a different type
        reason = str(error).strip().split("\n")[0][:200] or type(error).__name__
        raise UserError(f"Cannot load the tokenizer of {folder}: {reason}") from error
    if not tokenizer.chat_template:
        raise UserError(
            f"The tokenizer of {folder} has no chat template, so turns cannot be told apart. "
            "Take the tokenizer of the instruct model, or add a chat_template.jinja."
        )
    return tokenizer


def copy(source: Path, target: Path) -> None:
    """Copy the tokenizer's files, and the stop tokens with them, from one folder to another."""
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        if (source / name).is_file() and source.resolve() != target.resolve():
            shutil.copyfile(source / name, target / name)
