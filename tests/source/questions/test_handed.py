"""Lightning learns from what training_step() returns."""

from source.execute.reading import certain

BODY = """
import lightning as L


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        {init}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())

    def training_step(self, batch, number):
        x, y = batch
        loss = F.mse_loss(self.layer(x), y)
        self.log("loss", loss)
        {end}
"""


def test_a_step_that_returns_no_loss() -> None:
    assert certain(BODY.format(init="pass", end="pass")) == ["ZG003"]


def test_the_loss_may_be_returned_kept_or_handed_on() -> None:
    assert certain(BODY.format(init="pass", end="return loss")) == []
    assert certain(BODY.format(init="pass", end='return {"loss": loss}')) == []
    assert certain(BODY.format(init="pass", end="self.last = loss")) == []
    assert certain(BODY.format(init="pass", end="learn(loss)")) == []
    assert certain(BODY.format(init="self.automatic_optimization = False", end="self.manual_backward(loss)")) == []
    assert certain(BODY.format(init="self.automatic_optimization = False", end="pass")) == []
