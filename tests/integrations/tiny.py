"""Tiny models of each family with a prior away from its start, and their attention written out."""

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, GPTNeoXConfig, GPTNeoXForCausalLM, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from attention_priors.integrations.transformers import add_prior, prior_parameters
from parallel.tiny import FAMILIES as WITH_GROUPS
from parallel.tiny import SIZES, VOCABULARY

NEOX = (GPTNeoXConfig, GPTNeoXForCausalLM, {"num_key_value_heads": None})
FAMILIES = WITH_GROUPS | {"gpt-neox": NEOX}
EXPLICIT = "written_out_in_a_test"


def plain(family: str = "llama", **settings: object) -> PreTrainedModel:
    torch.manual_seed(0)
    config, model, more = FAMILIES[family]
    sizes = {name: value for name, value in (SIZES | more | settings).items() if value is not None or name not in SIZES}
    return model(config(**sizes)).double().eval()


def moved(model: PreTrainedModel) -> PreTrainedModel:
    """Its priors and scales moved at random, so that no head is uniform."""
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _, own in prior_parameters(model):
            own.add_(0.3 * torch.rand(own.shape, generator=draw, dtype=own.dtype))
    return model


def made(encoding: str, family: str = "llama", rope: bool = True, **settings: object) -> PreTrainedModel:
    return moved(add_prior(plain(family, **settings), encoding, rope=rope))


def tokens(rows: int, length: int) -> Tensor:
    return torch.randint(VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(2))


def written_out(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float, **rest: object
) -> tuple[Tensor, None]:
    """softmax(a_i <q_i, k_j> / √d + b_i log π(i, j)): matrices, a loop over rows, and positions told by the test."""
    own, real = module.spelt, module.real
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    seen = mask[:, :, :, : key.shape[2]] == 0
    logits = query @ key.transpose(2, 3) * scaling
    out = []
    for row in range(len(query)):
        kept = real[row].nonzero().flatten()  # slots of the tokens; the rest is padding
        places = torch.arange(len(kept))
        lags = (places[:, None] - places).flatten()
        relative, of_keys = own.log_prior.split()
        bias = sum(factor.exact(lags).unflatten(1, (len(kept), -1)) for factor in relative)
        bias = bias + sum(factor.log_prior(places, len(kept))[:, None] for factor in of_keys)
        inner = logits[row][:, kept][:, :, kept]
        look = seen[row, 0][kept][:, kept]
        if own.row.ssmax:
            factor = own.scale.scale[:, None, None] * look.sum(-1).double().log()[None, :, None]
            inner, bias = inner * factor, bias * factor if own.row.scales_prior else bias
        p = (inner + bias).masked_fill(~look, -torch.inf).softmax(-1)
        mixed = torch.zeros_like(query[row])
        mixed[:, kept] = p @ value[row][:, kept]
        out.append(mixed)
    return torch.stack(out).transpose(1, 2), None


AttentionInterface.register(EXPLICIT, written_out)
AttentionMaskInterface.register(EXPLICIT, eager_mask)


def explicit(model: PreTrainedModel, ids: Tensor, mask: Tensor | None = None, **settings: object) -> Tensor:
    """Logits of the plain model of the same weights, with attention written out and RoPE off by ω = 0."""
    family = next(name for name, (config, _, _) in FAMILIES.items() if isinstance(model.config, config))
    other = plain(family, **settings)
    other.load_state_dict({name: value for name, value in model.state_dict().items() if ".positional." not in name})
    other.set_attn_implementation(EXPLICIT)
    if not model.config.attention_prior_rope:
        other.base_model.rotary_emb.inv_freq.zero_()
    for mine, layer in zip(model.base_model.layers, other.base_model.layers, strict=True):
        own, at = (getattr(x, "self_attn", None) or x.attention for x in (mine, layer))
        # Not as a submodule: the plain model has no prior.
        at.__dict__ |= {"spelt": own.positional, "real": torch.ones_like(ids) if mask is None else mask}
    with torch.no_grad():
        return other(ids, attention_mask=mask).logits
