import itertools
import random

import torch
from torch import nn


class ImagePool:
    def __init__(self, size):
        self.size, self.images = size, []

    def query(self, images):
        out = []
        for im in images.detach():
            if len(self.images) < self.size:
                self.images.append(im)
                out.append(im)
            elif random.random() > 0.5:
                k = random.randrange(self.size)
                out.append(self.images[k].clone())
                self.images[k] = im
            else:
                out.append(im)
        return torch.stack(out)


class CycleGANModel:
    def __init__(self):
        gen = lambda: nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 3, padding=1), nn.Tanh())
        dis = lambda: nn.Sequential(nn.Conv2d(3, 16, 4, 2), nn.LeakyReLU(0.2), nn.Conv2d(16, 1, 3))
        self.netG_A, self.netG_B, self.netD_A, self.netD_B = gen(), gen(), dis(), dis()
        self.pool_A, self.pool_B = ImagePool(50), ImagePool(50)
        self.optimizer_G = torch.optim.Adam(itertools.chain(self.netG_A.parameters(), self.netG_B.parameters()), lr=2e-4)
        self.optimizer_D = torch.optim.Adam(itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()), lr=2e-4)
        self.optimizers = [self.optimizer_G, self.optimizer_D]

    def set_requires_grad(self, nets, flag):
        for net in nets:
            for p in net.parameters():
                p.requires_grad = flag

    def gan(self, pred, real):
        return ((pred - float(real)) ** 2).mean()

    def forward(self):
        self.fake_B = self.netG_A(self.real_A)
        self.rec_A = self.netG_B(self.fake_B)
        self.fake_A = self.netG_B(self.real_B)
        self.rec_B = self.netG_A(self.fake_A)

    def backward_D(self, netD, real, fake):
        loss = 0.5 * (self.gan(netD(real), True) + self.gan(netD(fake.detach()), False))
        loss.backward()
        return loss.item()

    def backward_G(self):
        adv = self.gan(self.netD_A(self.fake_B), True) + self.gan(self.netD_B(self.fake_A), True)
        cyc = (self.rec_A - self.real_A).abs().mean() + (self.rec_B - self.real_B).abs().mean()
        self.loss_G = adv + 10 * cyc
        self.loss_G.backward()

    def optimize_parameters(self, a, b):
        self.real_A, self.real_B = a, b
        self.forward()
        self.set_requires_grad([self.netD_A, self.netD_B], False)
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()
        self.set_requires_grad([self.netD_A, self.netD_B], True)
        self.optimizer_D.zero_grad()
        self.backward_D(self.netD_A, self.real_B, self.pool_B.query(self.fake_B))
        self.backward_D(self.netD_B, self.real_A, self.pool_A.query(self.fake_A))
        self.optimizer_D.step()


m = CycleGANModel()
for _ in range(10):
    m.optimize_parameters(torch.rand(2, 3, 16, 16), torch.rand(2, 3, 16, 16))
