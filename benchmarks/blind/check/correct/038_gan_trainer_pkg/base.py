import torch


class Side:
    """one network with its optimizer"""

    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=lr, betas=(0.5, 0.9))

    def descend(self, loss):
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()
