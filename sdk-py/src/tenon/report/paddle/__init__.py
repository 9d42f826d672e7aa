"""The report on PaddlePaddle."""
