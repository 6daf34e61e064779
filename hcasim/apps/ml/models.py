"""Published models, each with where its numbers are from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hcasim.apps.ml.model import Model, ResNet, Transformer

MODELS: Final[Mapping[str, Model]] = {
    "resnet-50": ResNet(
        title="ResNet-50",
        source="He et al., Deep Residual Learning for Image Recognition (2015), table 1; strides "
        "as in torchvision's resnet50, whose parameters are counted",
        published=25_557_032,
        sample="images",
        stages=(3, 4, 6, 3),
        image=224,
        classes=1000,
    ),
    "bert-large": Transformer(
        title="BERT-large",
        source="Devlin et al., BERT (2018), section 3; config.json of google-bert/"
        "bert-large-uncased, whose encoder with pooler is counted; the paper says 340 million",
        published=335_141_888,
        sample="sequences",
        blocks=24,
        hidden=1024,
        key_value=1024,
        inner=4096,
        vocabulary=30522,
        sequence=512,
        # Places, and two kinds of segments.
        positions=512 + 2,
        matrices=2,
        biased=True,
        norms=1,
        head="pooler",
    ),
    "gpt-3-175b": Transformer(
        title="GPT-3 175B",
        source="Brown et al., Language Models are Few-Shot Learners (2020), tables 2.1 and D.1, "
        "which counts 174,600 million; the vocabulary is that of GPT-2",
        published=174_600_000_000,
        sample="sequences",
        blocks=96,
        hidden=12288,
        key_value=12288,
        inner=4 * 12288,
        vocabulary=50257,
        sequence=2048,
        positions=2048,
        matrices=2,
        biased=True,
        norms=1,
        head="tied",
    ),
    "llama-2-70b": Transformer(
        title="Llama 2 70B",
        source="Touvron et al., Llama 2 (2023), table 1; config.json of meta-llama/Llama-2-70b-hf, "
        "whose parameters are counted",
        published=68_976_648_192,
        sample="sequences",
        blocks=80,
        hidden=8192,
        key_value=1024,
        inner=28672,
        vocabulary=32000,
        sequence=4096,
        positions=0,
        matrices=3,
        biased=False,
        norms=1,
        head="own",
    ),
    "llama-3-70b": Transformer(
        title="Llama 3 70B",
        source="Grattafiori et al., The Llama 3 Herd of Models (2024), table 3; config.json of "
        "meta-llama/Meta-Llama-3-70B, whose parameters are counted",
        published=70_553_706_496,
        sample="sequences",
        blocks=80,
        hidden=8192,
        key_value=1024,
        inner=28672,
        vocabulary=128256,
        sequence=8192,
        positions=0,
        matrices=3,
        biased=False,
        norms=1,
        head="own",
    ),
    "mixtral-8x7b": Transformer(
        title="Mixtral 8x7B",
        source="Jiang et al., Mixtral of Experts (2024), table 1, with 32768 tokens of context; "
        "config.json of mistralai/Mixtral-8x7B-v0.1, whose parameters are counted",
        published=46_702_792_704,
        sample="sequences",
        blocks=32,
        hidden=4096,
        key_value=1024,
        inner=14336,
        vocabulary=32000,
        sequence=32768,
        positions=0,
        matrices=3,
        biased=False,
        norms=1,
        head="own",
        experts=8,
        chosen=2,
    ),
}
"""By name."""
