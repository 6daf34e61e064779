"""What a model is made of: the tensors of its parameters, and what each layer computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layer:
    """A part of a model that is computed in one piece.

    Attributes:
        tensors: numbers of parameters, in the order of the forward pass.
        operations: of the forward pass of one sample; a multiplication and an addition are two.
    """

    tensors: tuple[int, ...]
    operations: int

    @property
    def parameters(self) -> int:
        """Of all tensors."""
        return sum(self.tensors)


@dataclass(frozen=True, slots=True)
class Model:
    """A neural network.

    Attributes:
        title: its name, as it was published.
        source: where its numbers are from.
        published: number of its parameters, as they were counted by others.
        sample: what is counted in a batch.
    """

    title: str
    source: str
    published: int
    sample: str

    @property
    def layers(self) -> Sequence[Layer]:
        """In the order of the forward pass."""
        raise NotImplementedError

    @property
    def parameters(self) -> int:
        """Number of all parameters."""
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
        norms: of vectors outside of the blocks.
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
    positions: int
    matrices: int
    biased: bool
    norms: int
    head: str
    experts: int = 1
    chosen: int = 1

    @property
    def layers(self) -> Sequence[Layer]:
        """The embedding, the blocks, and what comes behind them."""
        norm = self._norm() * self.norms
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
        """One of the blocks."""
        hidden = self.hidden
        attention = (
            *self._matrix(hidden, hidden),
            *self._matrix(hidden, self.key_value) * 2,
            *self._matrix(hidden, hidden),
        )
        router = (hidden * self.experts,) if self.experts > 1 else ()
        tensors = (*attention, *self._norm() * 2, *router, *self._network() * self.experts)
        return Layer(tensors, self.sequence * (self.attention_operations + self.expert_operations))

    @property
    def attention_operations(self) -> int:
        """Of a block's forward pass for one token, without those of the experts.

        Each token is compared with all of its sample, as in Narayanan et al. (2021), appendix.
        """
        matrices = 2 * self.hidden**2 + 2 * self.hidden * self.key_value
        router = self.hidden * self.experts if self.experts > 1 else 0
        return 2 * (matrices + router) + 4 * self.sequence * self.hidden

    @property
    def expert_operations(self) -> int:
        """Of the experts that compute a token, in a block's forward pass."""
        return self.chosen * self.one_expert_operations

    @property
    def one_expert_operations(self) -> int:
        """Of one expert for one token."""
        return 2 * self.matrices * self.hidden * self.inner

    def _network(self) -> tuple[int, ...]:
        up = self._matrix(self.hidden, self.inner) * (self.matrices - 1)
        return (*up, *self._matrix(self.inner, self.hidden))

    def _matrix(self, rows: int, columns: int) -> tuple[int, ...]:
        return (rows * columns, columns) if self.biased else (rows * columns,)

    def _norm(self) -> tuple[int, ...]:
        return (self.hidden, self.hidden) if self.biased else (self.hidden,)


@dataclass(frozen=True, slots=True)
class ResNet(Model):
    """A residual network of bottleneck blocks, for images.

    Attributes:
        stages: blocks of each stage.
        image: its height and width.
        classes: of images.
    """

    stages: tuple[int, ...]
    image: int
    classes: int

    @property
    def layers(self) -> Sequence[Layer]:
        """The first convolution, the blocks, and the classifier."""
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
    """Convolutions with a normalisation behind each.

    Parameters:
        steps: channels in and out, side of the kernel, and of the image that comes out.
    """
    tensors: list[int] = []
    operations = 0
    for inside, outside, kernel, side in steps:
        weights = inside * outside * kernel**2
        tensors += [weights, outside, outside]
        operations += 2 * weights * side**2
    return Layer(tuple(tensors), operations)
