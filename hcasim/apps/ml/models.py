"""Published models: the tensors of their parameters, and what each layer computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple


class Layer(NamedTuple):
    """A part of a model that is computed in one piece.

    Attributes:
        tensors: numbers of parameters, in the order of the forward pass.
        operations: of the forward pass of one sample; a multiplication and an addition are two.
    """

    tensors: tuple[int, ...]
    operations: int

    @property
    def parameters(self) -> int:
        return sum(self.tensors)


class Model:
    """A neural network."""

    @property
    def layers(self) -> Sequence[Layer]:
        """In the order of the forward pass."""
        raise NotImplementedError

    @property
    def parameters(self) -> int:
        return sum(layer.parameters for layer in self.layers)

    @property
    def operations(self) -> int:
        """Of the forward pass of one sample."""
        return sum(layer.operations for layer in self.layers)


@dataclass(frozen=True, slots=True)
class Transformer(Model):
    """A model of blocks of attention and of a feed-forward network.

    Attributes:
        blocks: number of them.
        hidden: numbers that stand for a token.
        key_value: columns of the matrix of keys, and of that of values.
        inner: width of the feed-forward network, of each expert if there are several.
        vocabulary: different tokens.
        sequence: tokens of a sample.
        positions: rows of further tables that are added to the embedding of tokens.
        matrices: of a feed-forward network; 3 if it is gated.
        biased: whether matrices have biases, and norms, too.
        head: what makes words of the last block's output: "tied" to the embedding, "own" or, for
            each sample, a "pooler".
        experts: feed-forward networks of a block.
        chosen: experts that compute a token.
    """

    blocks: int
    hidden: int
    key_value: int
    inner: int
    vocabulary: int
    sequence: int
    positions: int = 0
    matrices: int = 3
    biased: bool = False
    head: str = "own"
    experts: int = 1
    chosen: int = 1

    @property
    def layers(self) -> Sequence[Layer]:
        norm = self._norm()
        tables = [rows * self.hidden for rows in (self.vocabulary, self.positions) if rows]
        first = Layer(tuple(tables), 0)
        if self.head == "pooler":
            last = Layer((*norm, *self._matrix(self.hidden, self.hidden)), 2 * self.hidden**2)
        else:
            own = (self.vocabulary * self.hidden,) if self.head == "own" else ()
            last = Layer((*norm, *own), 2 * self.vocabulary * self.hidden * self.sequence)
        return [first, *[self.block] * self.blocks, last]

    @property
    def block(self) -> Layer:
        hidden = self.hidden
        attention = (
            *self._matrix(hidden, hidden),
            *self._matrix(hidden, self.key_value) * 2,
            *self._matrix(hidden, hidden),
        )
        router = (hidden * self.experts,) if self.experts > 1 else ()
        up = self._matrix(hidden, self.inner) * (self.matrices - 1)
        network = (*up, *self._matrix(self.inner, hidden))
        tensors = (*attention, *self._norm() * 2, *router, *network * self.experts)
        token = self.attention_operations + self.chosen * self.one_expert_operations
        return Layer(tensors, self.sequence * token)

    @property
    def attention_operations(self) -> int:
        """Of a block's forward pass for one token, without those of the experts.

        Each token is compared with all of its sample, as in Narayanan et al. (2021), appendix.
        """
        matrices = 2 * self.hidden**2 + 2 * self.hidden * self.key_value
        router = self.hidden * self.experts if self.experts > 1 else 0
        return 2 * (matrices + router) + 4 * self.sequence * self.hidden

    @property
    def one_expert_operations(self) -> int:
        """Of one expert for one token."""
        return 2 * self.matrices * self.hidden * self.inner

    def _matrix(self, rows: int, columns: int) -> tuple[int, ...]:
        return (rows * columns, columns) if self.biased else (rows * columns,)

    def _norm(self) -> tuple[int, ...]:
        return (self.hidden, self.hidden) if self.biased else (self.hidden,)


@dataclass(frozen=True, slots=True)
class ResNet(Model):
    """A residual network of bottleneck blocks, so many in each stage, for square images of some
    classes.
    """

    stages: tuple[int, ...]
    image: int
    classes: int

    @property
    def layers(self) -> Sequence[Layer]:
        side = self.image // 2
        found = [_convolutions([(3, 64, 7, side)])]
        side //= 2
        inside = 64
        for stage, blocks in enumerate(self.stages):
            width = 64 << stage
            for block in range(blocks):
                before, shrinks = side, not block and stage > 0
                side = side // 2 if shrinks else side
                steps = [
                    (inside, width, 1, before),
                    (width, width, 3, side),
                    (width, 4 * width, 1, side),
                ]
                if not block:
                    steps.append((inside, 4 * width, 1, side))
                found.append(_convolutions(steps))
                inside = 4 * width
        last = inside * self.classes
        return [*found, Layer((last, self.classes), 2 * last)]


def _convolutions(steps: Sequence[tuple[int, int, int, int]]) -> Layer:
    """Convolutions with a normalisation behind each, from channels in and out, side of the kernel,
    and of the image that comes out.
    """
    tensors: list[int] = []
    operations = 0
    for inside, outside, kernel, side in steps:
        weights = inside * outside * kernel**2
        tensors += [weights, outside, outside]
        operations += 2 * weights * side**2
    return Layer(tuple(tensors), operations)


MODELS: Final[Mapping[str, Model]] = {
    # He et al., Deep Residual Learning for Image Recognition (2015), table 1; strides as in
    # torchvision's resnet50.
    "resnet-50": ResNet(stages=(3, 4, 6, 3), image=224, classes=1000),
    # Devlin et al., BERT (2018), section 3; config.json of google-bert/bert-large-uncased.
    "bert-large": Transformer(
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
        head="pooler",
    ),
    # Brown et al., Language Models are Few-Shot Learners (2020), tables 2.1 and D.1; the vocabulary
    # is that of GPT-2.
    "gpt-3-175b": Transformer(
        blocks=96,
        hidden=12288,
        key_value=12288,
        inner=4 * 12288,
        vocabulary=50257,
        sequence=2048,
        positions=2048,
        matrices=2,
        biased=True,
        head="tied",
    ),
    # Touvron et al., Llama 2 (2023), table 1; config.json of meta-llama/Llama-2-70b-hf.
    "llama-2-70b": Transformer(
        blocks=80, hidden=8192, key_value=1024, inner=28672, vocabulary=32000, sequence=4096
    ),
    # Grattafiori et al., The Llama 3 Herd of Models (2024), table 3; config.json of
    # meta-llama/Meta-Llama-3-70B.
    "llama-3-70b": Transformer(
        blocks=80, hidden=8192, key_value=1024, inner=28672, vocabulary=128256, sequence=8192
    ),
    # Jiang et al., Mixtral of Experts (2024), table 1, with 32768 tokens of context; config.json of
    # mistralai/Mixtral-8x7B-v0.1.
    "mixtral-8x7b": Transformer(
        blocks=32,
        hidden=4096,
        key_value=1024,
        inner=14336,
        vocabulary=32000,
        sequence=32768,
        experts=8,
        chosen=2,
    ),
}
"""By name."""
