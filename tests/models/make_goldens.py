"""Write tests/models/goldens: tiny Qwen3 checkpoints and what torch computes from them, all in float32.

Run under Python 3.11 with torch 2.13.0 and transformers 5.24.0 installed:

    python tests/models/make_goldens.py

`tied/` is one file, `untied/` is sharded with an index. Each NAME.npz holds, for right-padded rows:

    token [B N], length [B]
    hidden [L+1 B N W]      embedding output, then behind each layer (behind the last: after the final norm)
    logits [B N V]
    loss, gradient/TENSOR   of the mean negative log-likelihood over valid next tokens
    greedy [B 32]           continuation of each row's valid tokens
"""

import shutil
from pathlib import Path

import numpy as np
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

GOLDENS = Path(__file__).parent / "goldens"
GREEDY_TOKENS = 32


def make_model(*, tied: bool, seed: int) -> Qwen3ForCausalLM:
    """A random model with grouped heads, heads wider than the residual stream, and norm weights that matter."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=96,
        hidden_size=24,
        intermediate_size=40,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=128,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0 if tied else 500_000.0},
        rms_norm_eps=1e-6 if tied else 1e-5,
        tie_word_embeddings=tied,
        initializer_range=0.15,
        bos_token_id=1,
        eos_token_id=None,
        pad_token_id=None,
        attn_implementation="eager",
    )
    model = Qwen3ForCausalLM(config).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.copy_(1.0 + 0.3 * torch.randn_like(parameter))
    return model


def record(model: Qwen3ForCausalLM, *, seed: int) -> dict[str, np.ndarray]:
    """Everything the tests compare."""
    generator = torch.Generator().manual_seed(seed)
    length = torch.tensor([16, 9, 1])
    token = torch.randint(0, model.config.vocab_size, (len(length), 16), generator=generator)
    keep = torch.arange(16)[None, :] < length[:, None]
    output = model(input_ids=token, attention_mask=keep.long(), output_hidden_states=True)
    log_prob = torch.log_softmax(output.logits[:, :-1], dim=-1).gather(-1, token[:, 1:, None])[..., 0]
    loss = -(log_prob * keep[:, 1:]).sum() / keep[:, 1:].sum()
    loss.backward()
    greedy = [
        model.generate(
            input_ids=row[None, :size],
            attention_mask=torch.ones(1, int(size), dtype=torch.long),
            max_new_tokens=GREEDY_TOKENS,
            do_sample=False,
        )[0, size:]
        for row, size in zip(token, length, strict=True)
    ]
    arrays = {
        "token": token,
        "length": length,
        "hidden": torch.stack(output.hidden_states),
        "logits": output.logits,
        "loss": loss,
        "greedy": torch.stack(greedy),
        **{f"gradient/{name}": parameter.grad for name, parameter in model.named_parameters()},
    }
    integers = ("token", "length", "greedy")
    return {
        name: array.detach().numpy().astype(np.int32 if name in integers else np.float32)
        for name, array in arrays.items()
    }


def main() -> None:
    """Write both checkpoints and their records."""
    shutil.rmtree(GOLDENS, ignore_errors=True)
    for name, seed in (("tied", 1), ("untied", 2)):
        model = make_model(tied=name == "tied", seed=seed)
        model.save_pretrained(GOLDENS / name, max_shard_size="10MB" if name == "tied" else "25KB")
        (GOLDENS / name / "generation_config.json").unlink()
        np.savez_compressed(GOLDENS / f"{name}.npz", allow_pickle=False, **record(model, seed=seed))


if __name__ == "__main__":
    main()
