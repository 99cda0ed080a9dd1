import unittest

import torch
from torch import nn


class TestSGD(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.w = nn.Parameter(torch.tensor([1.0, 2.0]))

    def test_one_step(self):
        opt = torch.optim.SGD([self.w], lr=0.5)
        (self.w * self.w).sum().backward()
        opt.step()
        torch.testing.assert_close(self.w.data, torch.zeros(2))

    def test_backward_adds(self):
        self.w.sum().backward()
        self.w.sum().backward()
        torch.testing.assert_close(self.w.grad, torch.full((2,), 2.0))

    def test_zero_grad_none(self):
        opt = torch.optim.SGD([self.w], lr=0.5)
        self.w.sum().backward()
        opt.zero_grad()
        self.assertIsNone(self.w.grad)

    def test_converges(self):
        opt = torch.optim.Adam([self.w], lr=0.1)
        for _ in range(300):
            opt.zero_grad()
            loss = (self.w - 3).pow(2).sum()
            loss.backward()
            opt.step()
        self.assertLess(loss.item(), 1e-2)


if __name__ == "__main__":
    unittest.main()
