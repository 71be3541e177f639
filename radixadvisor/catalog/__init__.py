"""Models and cards by name: the template and vocabulary of a log's model, who serves it, what it is made of;
what a card holds and moves.

The tables are ``rules/models.toml`` and ``rules/gpus.toml``. Names are resolved here once, for everyone.
"""

from radixadvisor.catalog.families import SELF_HOSTED, Family, families, family_of
from radixadvisor.catalog.gpus import Gpu, gpu, gpus
from radixadvisor.catalog.models import Model, find_model, model, models
from radixadvisor.catalog.pool import MEMORY_FRACTION, pool_tokens
from radixadvisor.catalog.precision import KV_BYTES, WEIGHT_BYTES, require_kv, require_weights
from radixadvisor.catalog.shapes import Shape

__all__ = [
    "KV_BYTES",
    "MEMORY_FRACTION",
    "SELF_HOSTED",
    "WEIGHT_BYTES",
    "Family",
    "Gpu",
    "Model",
    "Shape",
    "families",
    "family_of",
    "find_model",
    "gpu",
    "gpus",
    "model",
    "models",
    "pool_tokens",
    "require_kv",
    "require_weights",
]
