"""Networks for `zoo` whose operators are those of one area: detection, graphs, and speech."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import geometric, nn
from paddle.vision import ops

Pair = tuple[Any, Any]


class Detector(nn.Layer):
    """A deformable convolution, a region proposal network and a classifier of regions."""

    SIZE = 32.0

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2D(3, 8, 3, stride=4, padding=1)
        self.places = nn.Conv2D(8, 18, 3, padding=1)
        self.middle = ops.DeformConv2D(8, 8, 3, padding=1)
        self.scores = nn.Conv2D(8, 2, 1)
        self.offsets = nn.Conv2D(8, 8, 1)
        self.classes = nn.Linear(8 * 9 + 2 * 4, 4)

    def proposals(self, features: Any) -> Pair:
        """Returns boxes and their number in each image."""
        batch, _, height, width = features.shape
        dtype = features.dtype
        middle = (paddle.arange(height * width, dtype=dtype) + 0.5).reshape([height, width, 1, 1])
        x, y = middle % width * 4, paddle.floor(middle / width) * 4
        sizes = paddle.to_tensor([[6.0], [12.0]], dtype).reshape([1, 1, 2, 1])
        anchors = paddle.concat([x - sizes, y - sizes, x + sizes, y + sizes], -1)
        boxes, _, counts = ops.generate_proposals(
            *(F.sigmoid(self.scores(features)), self.offsets(features)),
            *(paddle.full([batch, 2], self.SIZE, dtype), anchors, paddle.ones_like(anchors)),
            *(20, 6, 0.6),
            return_rois_num=True,
        )
        return boxes, counts

    def forward(self, images: Any) -> Any:
        features = F.relu(self.first(images))
        features = F.relu(self.middle(features, self.places(features)))
        with paddle.no_grad():
            boxes, counts = self.proposals(features)
        largest = ops.roi_pool(features, boxes, counts, 3, 0.25)
        means = ops.psroi_pool(features, boxes, counts, 2, 0.25)
        return self.classes(paddle.concat([largest.flatten(1), means.flatten(1)], 1))

    def loss(self, images: Any) -> Any:
        """Returns the focal loss of regions, as if each were of a class of its image."""
        scores = self(images)
        wanted = paddle.zeros_like(scores)
        wanted[:, 1] = 1.0
        return F.sigmoid_focal_loss(scores, wanted, reduction="mean")


class GraphNetwork(nn.Layer):
    """A convolution of a graph, messages with weights of edges, and a mean of each graph."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.first = nn.Linear(width, 8)
        self.edges = nn.Linear(8, 1)
        self.last = nn.Linear(16, 3)

    def forward(self, nodes: Any, edges: Pair, graphs: Any) -> Any:
        x = geometric.send_u_recv(F.relu(self.first(nodes)), *edges, "mean")
        weights = F.sigmoid(self.edges(geometric.send_uv(x, x, *edges, "mul")))
        x = paddle.concat([x, geometric.send_ue_recv(x, weights, *edges, "mul", "sum")], 1)
        return self.last(geometric.segment_mean(x, graphs))


class Transducer(nn.Layer):
    """A recurrent neural network transducer: the sum of an encoder and a predictor."""

    def __init__(self, labels: int = 5) -> None:
        super().__init__()
        self.encoder = nn.GRU(6, 8)
        self.words = nn.Embedding(labels, 8)
        self.last = nn.Linear(8, labels)

    def forward(self, frames: Any, targets: Any) -> Any:
        heard, _ = self.encoder(frames)
        start = paddle.zeros_like(targets[:, :1])
        said = self.words(paddle.concat([start, targets], 1))
        joined = paddle.tanh(heard.unsqueeze(2) + said.unsqueeze(1))
        return F.log_softmax(self.last(joined), -1)

    def loss(self, frames: Any, targets: Any) -> Any:
        """Returns the loss of all frames and targets."""
        batch, times = frames.shape[:2]
        lengths = [np.full(batch, length, "int32") for length in (times, targets.shape[1])]
        numbers = [paddle.to_tensor(length) for length in lengths]
        return F.rnnt_loss(self(frames, targets), targets.cast("int32"), *numbers)


def detector(images: Any) -> tuple[Any, Any]:
    """Returns a detector and its loss on images."""
    network = Detector()
    return network, lambda: network.loss(images)


def graph(nodes: Any, labels: Any) -> tuple[Any, Any]:
    """Returns a network of graphs and its cross entropy on three graphs of four nodes."""
    network = GraphNetwork()
    ends = np.array([[0, 1, 2, 3, 4, 5, 6, 8, 9], [1, 2, 0, 0, 5, 6, 4, 9, 10]])
    edges = paddle.to_tensor(ends[0]), paddle.to_tensor(ends[1])
    graphs = paddle.to_tensor(np.repeat(np.arange(3), 4))
    return network, lambda: F.cross_entropy(network(nodes, edges, graphs), labels)


def transducer(frames: Any, targets: Any) -> tuple[Any, Any]:
    """Returns a transducer and its loss on frames."""
    network = Transducer()
    return network, lambda: network.loss(frames, targets)
