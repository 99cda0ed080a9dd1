import torch
from torch import nn
from torchvision import models

model = models.resnet18(weights="IMAGENET1K_V1")
for param in model.parameters():
    param.requires_grad = False
model.fc = nn.Linear(model.fc.in_features, 5)
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.001, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)
criterion = nn.CrossEntropyLoss()
dataloaders = {ph: [(torch.rand(4, 3, 64, 64), torch.randint(0, 5, (4,))) for _ in range(5)] for ph in ("train", "val")}

for epoch in range(10):
    for phase in ["train", "val"]:
        model.train(phase == "train")
        running_loss = 0.0
        for inputs, labels in dataloaders[phase]:
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                outputs = model(inputs)
                loss = criterion(outputs, labels)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
            running_loss += loss.item() * inputs.size(0)
        if phase == "train":
            scheduler.step()
        print(phase, running_loss)
