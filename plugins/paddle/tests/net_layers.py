"""The layers of the net, with example inputs: one line each."""

from __future__ import annotations

import numpy as np
from paddle import nn

from host import normal
from net import Entry

ROW = normal(3, 6)
ROWS = normal(3, 5, 6)
LINES = normal(2, 4, 9)
IMAGES = normal(2, 4, 6, 6)
VOLUMES = normal(1, 2, 4, 4, 4)
SIGNS = np.where(normal(3, 6, seed=8) > 0, 1, -1).astype("float32")
UNIT = (np.random.default_rng(9).random((3, 6)) * 0.8 + 0.1).astype("float32")
CLASSES = np.array([1, 0, 5])
WORDS = np.array([[1, 0, 3], [3, 6, 0]])

LAYERS: dict[str, Entry] = {
    "Linear": Entry(lambda: nn.Linear(6, 3), (ROWS,)),
    "Bilinear": Entry(lambda: nn.Bilinear(6, 6, 2), (ROW, normal(3, 6, seed=1))),
    "Embedding": Entry(lambda: nn.Embedding(7, 4, padding_idx=0), (WORDS,)),
    "Flatten": Entry(lambda: nn.Flatten(), (IMAGES,)),
    "Unflatten": Entry(lambda: nn.Unflatten(1, [2, 2]), (IMAGES,)),
    "Identity": Entry(lambda: nn.Identity(), (ROW,)),
    "Conv1D": Entry(lambda: nn.Conv1D(4, 3, 3, padding=1), (LINES,)),
    "Conv1D, strided": Entry(lambda: nn.Conv1D(4, 3, 3, stride=2, padding=2), (LINES,)),
    "Conv2D": Entry(lambda: nn.Conv2D(4, 3, 3, padding=1), (IMAGES,)),
    "Conv2D, grouped": Entry(lambda: nn.Conv2D(4, 4, 3, groups=2, stride=2), (IMAGES,)),
    "Conv2D, depthwise": Entry(lambda: nn.Conv2D(4, 4, 3, groups=4, padding="same"), (IMAGES,)),
    "Conv3D": Entry(lambda: nn.Conv3D(2, 3, 2), (VOLUMES,)),
    "Conv1DTranspose": Entry(lambda: nn.Conv1DTranspose(4, 3, 3, stride=2), (LINES,)),
    "Conv2DTranspose": Entry(lambda: nn.Conv2DTranspose(4, 3, 3, stride=2, padding=1), (IMAGES,)),
    "Conv3DTranspose": Entry(lambda: nn.Conv3DTranspose(2, 3, 2), (VOLUMES,)),
    "MaxPool1D": Entry(lambda: nn.MaxPool1D(3, 2), (LINES,)),
    "MaxPool2D": Entry(lambda: nn.MaxPool2D(3, 2, padding=1), (IMAGES,)),
    "MaxPool3D": Entry(lambda: nn.MaxPool3D(2), (VOLUMES,)),
    "AvgPool1D": Entry(lambda: nn.AvgPool1D(3, 2), (LINES,)),
    "AvgPool2D": Entry(lambda: nn.AvgPool2D(3, 2, ceil_mode=True), (IMAGES,)),
    "AvgPool3D": Entry(lambda: nn.AvgPool3D(2), (VOLUMES,)),
    "AdaptiveAvgPool1D": Entry(lambda: nn.AdaptiveAvgPool1D(4), (LINES,)),
    "AdaptiveAvgPool2D": Entry(lambda: nn.AdaptiveAvgPool2D([4, 1]), (IMAGES,)),
    "AdaptiveMaxPool2D": Entry(lambda: nn.AdaptiveMaxPool2D(4), (IMAGES,)),
    "BatchNorm1D": Entry(lambda: nn.BatchNorm1D(4), (LINES,), 1e-3),
    "BatchNorm2D": Entry(lambda: nn.BatchNorm2D(4), (IMAGES,), 1e-3),
    "BatchNorm2D at rest": Entry(lambda: nn.BatchNorm2D(4), (IMAGES,), is_training=False),
    "BatchNorm3D": Entry(lambda: nn.BatchNorm3D(2), (VOLUMES,), 1e-3),
    "LayerNorm": Entry(lambda: nn.LayerNorm(6), (ROWS,), 1e-3),
    "GroupNorm": Entry(lambda: nn.GroupNorm(2, 4), (IMAGES,), 1e-3),
    "InstanceNorm2D": Entry(lambda: nn.InstanceNorm2D(4), (IMAGES,), 1e-3),
    "LocalResponseNorm": Entry(lambda: nn.LocalResponseNorm(3), (IMAGES,)),
    "Dropout at rest": Entry(lambda: nn.Dropout(), (ROW,), is_training=False),
    "AlphaDropout at rest": Entry(lambda: nn.AlphaDropout(), (ROW,), is_training=False),
    "RReLU at rest": Entry(lambda: nn.RReLU(), (ROW,), is_training=False),
    "PReLU": Entry(lambda: nn.PReLU(4), (IMAGES,)),
    "GLU": Entry(lambda: nn.GLU(), (ROW,)),
    "Maxout": Entry(lambda: nn.Maxout(2), (IMAGES,)),
    "Softmax2D": Entry(lambda: nn.Softmax2D(), (IMAGES,)),
    "LogSoftmax": Entry(lambda: nn.LogSoftmax(), (ROW,)),
    "Upsample": Entry(lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (IMAGES,)),
    "UpsamplingNearest2D": Entry(lambda: nn.UpsamplingNearest2D([9, 7]), (IMAGES,)),
    "PixelShuffle": Entry(lambda: nn.PixelShuffle(2), (IMAGES,)),
    "PixelUnshuffle": Entry(lambda: nn.PixelUnshuffle(2), (IMAGES,)),
    "ChannelShuffle": Entry(lambda: nn.ChannelShuffle(2), (IMAGES,)),
    "Pad1D": Entry(lambda: nn.Pad1D([1, 2], mode="replicate"), (LINES,)),
    "Pad2D": Entry(lambda: nn.Pad2D([1, 2, 0, 1], mode="reflect"), (IMAGES,)),
    "ZeroPad2D": Entry(lambda: nn.ZeroPad2D([1, 2, 0, 1]), (IMAGES,)),
    "Unfold": Entry(lambda: nn.Unfold([3, 3]), (IMAGES,)),
    "Fold": Entry(lambda: nn.Fold([4, 4], [2, 2]), (normal(2, 8, 9),)),
    "CosineSimilarity": Entry(lambda: nn.CosineSimilarity(), (ROW, normal(3, 6, seed=1))),
    "PairwiseDistance": Entry(lambda: nn.PairwiseDistance(), (ROW, normal(3, 6, seed=1)), 1e-3),
    "SimpleRNN": Entry(lambda: nn.SimpleRNN(6, 4), (ROWS,)),
    "LSTM": Entry(lambda: nn.LSTM(6, 4, direction="bidirect"), (ROWS,)),
    "GRU": Entry(lambda: nn.GRU(6, 4, num_layers=2), (ROWS,)),
    "LSTMCell": Entry(lambda: nn.LSTMCell(6, 4), (ROW,)),
    "GRUCell": Entry(lambda: nn.GRUCell(6, 4), (ROW,)),
    "MultiHeadAttention": Entry(lambda: nn.MultiHeadAttention(6, 2), (ROWS,), 1e-3),
    "TransformerEncoderLayer": Entry(
        lambda: nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0), (ROWS,), 1e-3
    ),
    "TransformerDecoderLayer": Entry(
        lambda: nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0), (ROWS, ROWS * 0.5), 1e-3
    ),
    "CrossEntropyLoss": Entry(lambda: nn.CrossEntropyLoss(), (ROW, CLASSES)),
    "NLLLoss": Entry(lambda: nn.NLLLoss(), (ROW, CLASSES)),
    "MSELoss": Entry(lambda: nn.MSELoss(), (ROW, UNIT)),
    "L1Loss": Entry(lambda: nn.L1Loss(), (ROW, UNIT)),
    "SmoothL1Loss": Entry(lambda: nn.SmoothL1Loss(), (ROW, UNIT)),
    "BCELoss": Entry(lambda: nn.BCELoss(), (UNIT, (SIGNS + 1) / 2)),
    "BCEWithLogitsLoss": Entry(lambda: nn.BCEWithLogitsLoss(), (ROW, (SIGNS + 1) / 2)),
    "KLDivLoss": Entry(lambda: nn.KLDivLoss(), (ROW, UNIT)),
    "MarginRankingLoss": Entry(lambda: nn.MarginRankingLoss(), (ROW, UNIT, SIGNS)),
    "HingeEmbeddingLoss": Entry(lambda: nn.HingeEmbeddingLoss(), (ROW, SIGNS)),
    "SoftMarginLoss": Entry(lambda: nn.SoftMarginLoss(), (ROW, SIGNS)),
    "MultiLabelSoftMarginLoss": Entry(lambda: nn.MultiLabelSoftMarginLoss(), (ROW, SIGNS)),
    "TripletMarginLoss": Entry(
        lambda: nn.TripletMarginLoss(), (ROW, UNIT, normal(3, 6, seed=2)), 1e-3
    ),
    "CosineEmbeddingLoss": Entry(
        lambda: nn.CosineEmbeddingLoss(margin=0.1), (ROW, UNIT, np.array([1, -1, 1]))
    ),
    "PoissonNLLLoss": Entry(lambda: nn.PoissonNLLLoss(), (ROW, UNIT)),
    "GaussianNLLLoss": Entry(lambda: nn.GaussianNLLLoss(), (ROW, UNIT, UNIT + 1)),
    "a network with a constant": Entry(
        lambda: nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 2)),
        (ROWS,),
        1e-3,
    ),
}
