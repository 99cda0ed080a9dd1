import torch


def train_one_epoch(model, criterion, data_loader, optimizer, device, max_norm=0.0, scaler=None):
    model.train()
    running = 0.0
    for samples, targets in data_loader:
        samples, targets = samples.to(device), targets.to(device)
        with torch.autocast(device.type, enabled=scaler is not None):
            loss = criterion(model(samples), targets)
        optimizer.zero_grad()
        if scaler is not None:
            scaler.scale(loss).backward()
            if max_norm > 0:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            if max_norm > 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
        running += loss.item()
    return running / len(data_loader)


@torch.inference_mode()
def evaluate(model, data_loader, device):
    model.eval()
    hits = total = 0
    for samples, targets in data_loader:
        pred = model(samples.to(device)).argmax(1)
        hits += (pred == targets.to(device)).sum().item()
        total += targets.numel()
    return hits / total
