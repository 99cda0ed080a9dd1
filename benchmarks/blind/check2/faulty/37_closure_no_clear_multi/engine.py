class Engine:
    def __init__(self, criterion, model, optimizer):
        self.criterion = criterion
        self.model = model
        self.optimizer = optimizer

    def update(self, x, y):
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()  # FAULT: ZG001
        return loss.item()
