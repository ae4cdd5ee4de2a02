"""Any encoding with a prior in a Llama, Qwen2, Qwen3, Mistral or GPT-NeoX of transformers.

    model = add_prior(AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B"), "bam-ssmax", rope=False)
    model.save_pretrained("mine")

`add_prior` also takes a configuration. The class of the model becomes one of this module's, which
`AutoModelForCausalLM` knows once this module is imported: `from_pretrained("mine")` restores the model, prior and all,
and a process without this module refuses it instead of leaving the prior out. Training, padding on either side, packed
documents, windows, caches, `generate`, grouped queries and gradient checkpointing are those of transformers.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    initialization,
)

from ..positions.encodings import ENCODINGS, Encoding
from ..store.registry import nearest
from .attending import NAME, PLACE, Positions, check_dropout

__all__ = ["MODELS", "add_prior", "available", "prior_parameters"]


def available() -> list[str]:
    """The encodings that can be added: those of ENCODINGS that are a prior, alone or with scalable softmax."""
    return [name for name, row in ENCODINGS.items() if _is_prior(row)]


def add_prior(
    into: PreTrainedModel | PreTrainedConfig, encoding: str | Encoding, *, rope: bool = True
) -> PreTrainedModel | PreTrainedConfig:
    """`into` with the prior of `encoding` in the attention of every layer, at its start of training.

    A model is changed in place and returned, so that its weights, hooks and adapters stay; of a configuration comes a
    changed copy. `rope`: whether queries and keys are still rotated. ValueError for a model of another family, for an
    encoding that is not in ENCODINGS or is more than a prior, and for settings that a prior cannot serve.
    """
    name = _registered(encoding)
    config = into.config if isinstance(into, PreTrainedModel) else into
    kind = type(into) if isinstance(into, PreTrainedModel) else None
    family = next((made for made in MODELS if type(config) in (made.config_class, made.plain_config)), None)
    if family is None or (kind is not None and kind not in (family, family.plain)):
        shown = (kind or type(config)).__name__
        raise ValueError(
            f"{shown} cannot take a prior; the models that can are "
            f"{', '.join(made.plain.__name__ for made in MODELS)}, and their configurations"
        )
    if kind is family or type(config) is family.config_class:
        raise ValueError(f"the model has the prior {config.attention_prior!r} already; begin with one that has none")
    if "attention_priors_before" in vars(into):
        raise ValueError("the model was changed by integrations.extending; call restore(model) first")
    changed = copy.deepcopy(config)
    changed.__class__ = family.config_class
    changed.attention_prior, changed.attention_prior_rope = name, rope
    changed.attention_prior_heads = changed.num_attention_heads
    _check_attention(changed._attn_implementation, ("eager", "sdpa"))
    _check(changed)
    if kind is None:
        changed._attn_implementation = None
        return changed
    # In place: every part of the model holds this configuration, and adapters and quantised layers would not survive
    # a second construction. torch's fully_shard changes classes for the same reason.
    into.set_attn_implementation(NAME)
    config.__class__ = family.config_class
    config.attention_prior, config.attention_prior_rope = name, rope
    config.attention_prior_heads = changed.attention_prior_heads
    into.__class__ = family
    into._put()
    return into


def prior_parameters(model: PreTrainedModel) -> Iterator[tuple[str, nn.Parameter]]:
    """Names and parameters of the priors and their scales, which often want a rate of their own."""
    return ((name, own) for name, own in model.named_parameters() if f".{PLACE}." in name)


class Unturned(nn.Module):
    """In place of rotary frequencies: cos = 1 and sin = 0, so that queries and keys stay as they are."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        shape = (*position_ids.shape, self.width)
        return x.new_ones(shape), x.new_zeros(shape)


class Settings:
    """What config.json says of the prior: the row of ENCODINGS, its heads, and whether RoPE stays beside it."""

    attention_prior: str | None = None
    attention_prior_heads: int | None = None
    attention_prior_rope: bool = True


class WithPrior:
    """A causal model of transformers with `Positions` in every layer's attention."""

    plain: type[PreTrainedModel]
    plain_config: type[PreTrainedConfig]
    _keep_in_fp32_modules_strict: ClassVar[set[str]] = {PLACE}  # exponents and slopes; there are few of them

    def __init__(self, config: PreTrainedConfig, *inputs: Any, **more: Any) -> None:
        _check_attention(config._attn_implementation, (NAME,))
        _check(config)
        super().__init__(config, *inputs, **more)
        self._put()

    def _put(self) -> None:
        """`Positions` into every layer, on its device, in at least single precision."""
        config, row = self.config, ENCODINGS[self.config.attention_prior]
        shared = None
        for layer in self.base_model.layers:
            own = getattr(layer, "self_attn", None) or layer.attention
            made, weight = Positions(row, config.num_attention_heads, shared), next(own.parameters())
            setattr(own, PLACE, made.to(weight.device, torch.promote_types(weight.dtype, torch.float32)))
            shared = made.log_prior if row.shared else None
        if not config.attention_prior_rope:
            rotary = self.base_model.rotary_emb
            self.base_model.rotary_emb = Unturned(2 * rotary.inv_freq.shape[-1])

    @torch.no_grad()
    def initialize_weights(self) -> None:
        """Starts for what a checkpoint lacks: priors that it has not, and what priors compute instead of storing."""
        super().initialize_weights()
        for module in [module for module in self.modules() if isinstance(module, Positions)]:
            fresh = module.start()
            for own, start in (
                (module.named_parameters(), fresh.named_parameters()),
                (module.named_buffers(), fresh.named_buffers()),
            ):
                for (_, value), (_, given) in zip(own, start, strict=True):
                    initialization.copy_(value, given)  # leaves what was loaded

    def set_attn_implementation(self, attn_implementation: str | dict[str, str], *more: Any, **how: Any) -> None:
        _check_attention(attn_implementation, (NAME,))
        super().set_attn_implementation(NAME, *more, **how)

    def get_correct_attn_implementation(self, requested_attention: str | None, is_init_check: bool = False) -> str:
        _check_attention(requested_attention, (NAME,))
        return NAME


class PriorLlamaConfig(Settings, LlamaConfig):
    model_type = "attention_priors_llama"


class PriorQwen2Config(Settings, Qwen2Config):
    model_type = "attention_priors_qwen2"


class PriorQwen3Config(Settings, Qwen3Config):
    model_type = "attention_priors_qwen3"


class PriorMistralConfig(Settings, MistralConfig):
    model_type = "attention_priors_mistral"


class PriorGPTNeoXConfig(Settings, GPTNeoXConfig):
    model_type = "attention_priors_gpt_neox"


class PriorLlamaForCausalLM(WithPrior, LlamaForCausalLM):
    config_class = PriorLlamaConfig
    plain, plain_config = LlamaForCausalLM, LlamaConfig


class PriorQwen2ForCausalLM(WithPrior, Qwen2ForCausalLM):
    config_class = PriorQwen2Config
    plain, plain_config = Qwen2ForCausalLM, Qwen2Config


class PriorQwen3ForCausalLM(WithPrior, Qwen3ForCausalLM):
    config_class = PriorQwen3Config
    plain, plain_config = Qwen3ForCausalLM, Qwen3Config


class PriorMistralForCausalLM(WithPrior, MistralForCausalLM):
    config_class = PriorMistralConfig
    plain, plain_config = MistralForCausalLM, MistralConfig


class PriorGPTNeoXForCausalLM(WithPrior, GPTNeoXForCausalLM):
    config_class = PriorGPTNeoXConfig
    plain, plain_config = GPTNeoXForCausalLM, GPTNeoXConfig


MODELS = (
    PriorLlamaForCausalLM,
    PriorQwen2ForCausalLM,
    PriorQwen3ForCausalLM,
    PriorMistralForCausalLM,
    PriorGPTNeoXForCausalLM,
)
for _model in MODELS:
    _model.__doc__ = f"""{_model.plain.__name__} with a prior in the attention of every layer: what `add_prior` makes.

    Tokens [batch, length] -> logits [batch, length, vocabulary]; a layer's weights are p_ij ∝ exp(<q_i, k_j> / sqrt(d))
    π(i, j). Each attention holds its prior as `{PLACE}`: the row `config.attention_prior` of ENCODINGS, whose class
    names the source.
    """
    _model.config_class.__doc__ = f"""{_model.plain_config.__name__} of a model with a prior: see `add_prior`.

    attention_prior: the name of a row of ENCODINGS. attention_prior_heads: the prior's heads, as num_attention_heads.
    attention_prior_rope: whether queries and keys are rotated beside it.
    """
    AutoConfig.register(_model.config_class.model_type, _model.config_class)
    AutoModelForCausalLM.register(_model.config_class, _model)


def _is_prior(row: Encoding) -> bool:
    return row.prior is not None and not (row.rotary or row.absolute or row.window or row.local or row.pairs)


def _registered(encoding: str | Encoding) -> str:
    """The name under which `from_pretrained` will find the encoding; ValueError without one, or without a prior."""
    if not isinstance(encoding, (str, Encoding)):
        raise ValueError(
            f"encoding is a {type(encoding).__name__}, but each layer makes a prior of its own: give a name such as "
            "'bam', or register ENCODINGS['mine'] = Encoding('mine', 'Mine', prior=...), a function of the number of "
            "heads, and give 'mine'"
        )
    name = encoding if isinstance(encoding, str) else encoding.name
    if name not in ENCODINGS or encoding not in (name, ENCODINGS[name]):
        near = nearest(name, available()) if isinstance(encoding, str) else ""
        raise ValueError(
            f"encoding {name!r} is not registered{near}; give a name of available(), or set ENCODINGS[{name!r}] = "
            "Encoding(...) first, also before from_pretrained"
        )
    row = ENCODINGS[name]
    if not _is_prior(row):
        what = "has no prior" if row.prior is None else "is more than a prior"
        raise ValueError(
            f"encoding {name!r} {what}; rotations are the model's own (rope=True), and those that are a "
            f"prior are {', '.join(available())}"
        )
    return name


def _check(config: PreTrainedConfig) -> None:
    """ValueError for a configuration that no prior can serve."""
    if config.attention_prior is None:
        raise ValueError(
            "attention_prior = None, but this model has a prior; make its configuration by add_prior(config, ...)"
        )
    row, heads = ENCODINGS[_registered(config.attention_prior)], config.num_attention_heads
    if heads != config.attention_prior_heads:
        raise ValueError(
            f"the prior was made for {config.attention_prior_heads} heads, but num_attention_heads = "
            f"{heads}; make them equal, or begin with add_prior(config, ...)"
        )
    with torch.device("cpu"), torch.random.fork_rng(devices=[]):
        prior = row.prior(heads)
    if prior.heads != heads:
        raise ValueError(
            f"encoding {row.name!r} gives a prior of {prior.heads} heads, but the model has {heads}; its "
            "factory is called with the number of heads and must keep to it"
        )
    check_dropout(config.attention_dropout)
    window = getattr(config, "sliding_window", None)
    if window and prior.split()[1]:
        raise ValueError(
            f"a sliding window of {window} tokens drops the keys that the prior {row.name!r} weighs; set "
            "sliding_window=None, or take a prior over lags alone"
        )


def _check_attention(asked: str | dict[str, str] | None, serving: tuple[str, ...]) -> None:
    if asked is not None and asked not in serving:
        raise ValueError(
            f"attn_implementation = {asked!r} would leave the prior out; leave it unset, and attention is {NAME!r}"
        )
