"""LoRA adapters, through peft: train a few low-rank matrices of a large decoder, and the head in full."""

from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training

from helpers.learning.heads import Classifier, seeded

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def add_lora(
    model: Classifier, *, r: int = 64, alpha: int = 128, dropout: float = 0.05, seed: int = 0
) -> PeftModel:
    """Freeze the encoder, put adapters on its attention and feed-forward projections, and train the head."""
    present = {name.rsplit(".", 1)[-1] for name, _ in model.encoder.named_modules()}
    if missing := sorted(set(TARGETS) - present):
        raise ValueError(
            f"{type(model.encoder).__name__} has no {', '.join(missing)}: LoRA here is for decoders"
        )
    if getattr(model.encoder, "is_loaded_in_4bit", False):
        prepare_model_for_kbit_training(model.encoder)  # norms in float32, activations recomputed
    config = LoraConfig(
        r=r, lora_alpha=alpha, lora_dropout=dropout, target_modules=list(TARGETS), modules_to_save=["head"]
    )
    with seeded(seed):
        return get_peft_model(model, config)
