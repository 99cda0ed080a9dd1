import random

import torch


class Replay:
    def __init__(self, cap):
        self.cap, self.rows = cap, []

    def push(self, row):
        self.rows.append(row)
        if len(self.rows) > self.cap:
            self.rows.pop(0)

    def sample(self, n):
        return [torch.stack(c) for c in zip(*random.sample(self.rows, n))]

    def __len__(self):
        return len(self.rows)
