import torch
from opacus import PrivacyEngine
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn

model = nn.Linear(20, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(500, 20), torch.randint(0, 2, (500,))), batch_size=100)
engine = PrivacyEngine()
model, optimizer, loader = engine.make_private(module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.1, max_grad_norm=1.0)
for epoch in range(3):
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=25, optimizer=optimizer) as small:
        for x, y in small:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
    print(engine.get_epsilon(1e-5))
