from dataclasses import dataclass, field


@dataclass
class OptimCfg:
    lr: float = 3e-4
    betas: tuple = (0.9, 0.95)
    clip: float = 1.0


@dataclass
class TrainCfg:
    steps: int = 300
    micro: int = 4
    amp: bool = False
    optim: OptimCfg = field(default_factory=OptimCfg)
