from hooks import run_hooks


class Trainer:
    def __init__(self, model, optimizer, criterion, hooks=()):
        self.model = model
        self.optimizer = optimizer
        self.criterion = criterion
        self.hooks = list(hooks)
        self.iteration = 0

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            for batch in loader:
                run_hooks(self, "before_batch")
                self.loss = self.forward(batch)
                self.loss.backward()
                run_hooks(self, "after_backward")
                self.optimizer.step()
                self.iteration += 1
            run_hooks(self, "after_epoch")

    def forward(self, batch):
        x, y = batch
        return self.criterion(self.model(x), y)
