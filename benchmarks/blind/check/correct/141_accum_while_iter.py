import torch
from torch import nn

m_ = nn.Linear(40, 4)
p_ = torch.optim.SGD(m_.parameters(), 0.01, momentum=0.9)
dataset = [(torch.randn(40), int(i % 4)) for i in range(300)]
d_ = torch.utils.data.DataLoader(dataset, batch_size=6, shuffle=True, drop_last=True)
iter_size, max_iter = 5, 200
trainloader_iter = iter(d_)

for i_iter in range(max_iter):
    p_.zero_grad()
    loss_value = 0
    for sub_i in range(iter_size):
        try:
            images, labels = next(trainloader_iter)
        except StopIteration:
            trainloader_iter = iter(d_)
            images, labels = next(trainloader_iter)
        l_ = nn.functional.cross_entropy(m_(images), labels)
        l_ = l_ / iter_size
        l_.backward()
        loss_value += l_.item()
    p_.step()
