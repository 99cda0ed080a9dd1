"""torch: functions and classes by qualified name, methods and attributes by the kind of their object."""

from zerograd.source.effects.rows import Act, Row, Trait

_MEAN = Row(Act.LOSS, "mean")


def _each(act: Act, names: str, *, before: str = "") -> dict[str, Row]:
    return {before + name: Row(act) for name in names.split()}


WHOLE_NUMBERS = frozenset(
    f"torch.{name}" for name in ("uint8", "int8", "int16", "int32", "int64", "int", "long", "short", "bool")
)
LOSS_FUNCTIONS = {
    "torch.nn.functional." + name: _MEAN
    for name in [
        "mse_loss",
        "cross_entropy",
        "nll_loss",
        "l1_loss",
        "smooth_l1_loss",
        "binary_cross_entropy",
        "huber_loss",
        "kl_div",
        "ctc_loss",
        "binary_cross_entropy_with_logits",
        "cosine_embedding_loss",
        "triplet_margin_loss",
        "hinge_embedding_loss",
        "margin_ranking_loss",
        "soft_margin_loss",
        "poisson_nll_loss",
        "gaussian_nll_loss",
        "multi_margin_loss",
        "multilabel_margin_loss",
        "multilabel_soft_margin_loss",
        "triplet_margin_with_distance_loss",
    ]
}
CRITERIA = {
    "torch.nn." + name: Row(Act.CRITERION, "mean")
    for name in [
        "MSELoss",
        "CrossEntropyLoss",
        "NLLLoss",
        "NLLLoss2d",
        "L1Loss",
        "SmoothL1Loss",
        "BCELoss",
        "HuberLoss",
        "KLDivLoss",
        "CTCLoss",
        "BCEWithLogitsLoss",
        "CosineEmbeddingLoss",
        "TripletMarginLoss",
        "HingeEmbeddingLoss",
        "MarginRankingLoss",
        "SoftMarginLoss",
        "PoissonNLLLoss",
        "GaussianNLLLoss",
        "MultiMarginLoss",
        "MultiLabelMarginLoss",
        "MultiLabelSoftMarginLoss",
        "TripletMarginWithDistanceLoss",
    ]
}
_JOINING = ("cat", "concat", "concatenate", "stack", "vstack", "hstack", "dstack", "row_stack", "column_stack")
_CLAMPED = "clamp clip clamp_max"
_PLAIN_MODULES = (
    "ReLU Sigmoid Tanh Softmax Dropout Dropout2d Flatten Identity GELU MaxPool2d MaxPool1d LogSoftmax LeakyReLU "
    "Upsample AvgPool2d AdaptiveAvgPool2d ELU SiLU Softplus ReLU6 Hardtanh Unflatten CosineSimilarity"
)

# Their weights are drawn at random; those of a normalisation begin as good as none.
_LAYERS = (
    "Linear LazyLinear Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv2d "
    "Embedding EmbeddingBag RNN LSTM GRU RNNCell LSTMCell GRUCell MultiheadAttention TransformerEncoderLayer "
    "TransformerDecoderLayer"
)

FUNCTIONS: dict[str, Row] = {
    **LOSS_FUNCTIONS,
    **CRITERIA,
    **_each(Act.PLAIN_MODULE, _PLAIN_MODULES, before="torch.nn."),
    **{f"torch.nn.{name}": Row(Act.MODULE, learns=True) for name in _LAYERS.split()},
    "torch.nn.Parameter": Row(Act.PARAMETER),
    "torch.nn.parameter.Parameter": Row(Act.PARAMETER),
    "torch.nn.Buffer": Row(Act.CUTS),
    "torch.nn.Module": Row(Act.MODULE, keyword="self"),
    "torch.nn.DataParallel": Row(Act.WRAPPER),
    "torch.nn.parallel.DataParallel": Row(Act.WRAPPER),
    "torch.nn.parallel.DistributedDataParallel": Row(Act.REPLICATES),
    "torch.nn.parallel.distributed.DistributedDataParallel": Row(Act.REPLICATES),
    "torch.distributed.fsdp.FullyShardedDataParallel": Row(Act.WRAPPER),
    "torch.distributed.fsdp.fully_shard": Row(Act.WRAPPER),
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": Row(Act.WRAPPER),
    "torch.compile": Row(Act.WRAPPER),
    "torch.jit.script": Row(Act.WRAPPER),
    "torch.jit.trace": Row(Act.WRAPPER),
    "torch.optim.swa_utils.AveragedModel": Row(Act.MODULE, keyword="model"),
    "torch.optim.swa_utils.SWALR": Row(Act.SCHEDULER),
    "torch.optim.lr_scheduler.ReduceLROnPlateau": Row(Act.PLATEAU),
    "torch.optim.Optimizer": Row(Act.OPTIMIZER),
    "torch.optim.LBFGS": Row(Act.OPTIMIZER, repeats=True),
    "torch.optim.lbfgs.LBFGS": Row(Act.OPTIMIZER, repeats=True),
    "torch.autograd.gradcheck.zero_gradients": Row(Act.CLEARS),
    "torch.nn.utils.clip_grad_norm_": Row(Act.CLIPS, keyword="parameters"),
    "torch.nn.utils.clip_grad_value_": Row(Act.CLIPS, keyword="parameters"),
    "torch.nn.utils.clip_grad_norm": Row(Act.CLIPS, keyword="parameters"),
    "torch.nn.utils.clip_grad.clip_grad_norm_": Row(Act.CLIPS, keyword="parameters"),
    "torch.nn.utils.clip_grad.clip_grad_value_": Row(Act.CLIPS, keyword="parameters"),
    "torch.nn.utils.clip_grads_with_norm_": Row(Act.CLIPS, keyword="parameters"),
    "torch.nn.utils.parameters_to_vector": Row(Act.COMPUTES),
    "torch.nn.utils.vector_to_parameters": Row(Act.NOTHING),
    "torch.autograd.backward": Row(Act.DEPOSITS, keyword="tensors"),
    "torch.autograd.grad": Row(Act.AUTOGRAD),
    "torch.autograd.Variable": Row(Act.WRAPS),
    "torch.utils.checkpoint.checkpoint": Row(Act.CHECKPOINT),
    "torch.func.functional_call": Row(Act.FUNCTIONAL),
    "torch.nn.utils.stateless.functional_call": Row(Act.FUNCTIONAL),
    "torch.utils.data.DataLoader": Row(Act.LOADER),
    "torch.no_grad": Row(Act.NO_GRAD),
    "torch.inference_mode": Row(Act.NO_GRAD),
    "torch.autograd.no_grad": Row(Act.NO_GRAD),
    "torch.enable_grad": Row(Act.GRAD),
    "torch.set_grad_enabled": Row(Act.GRAD_IF),
    "torch.autograd.set_grad_enabled": Row(Act.GRAD_IF),
    "torch.autocast": Row(Act.CONTEXT),
    "torch.amp.autocast": Row(Act.CONTEXT),
    "torch.cuda.amp.autocast": Row(Act.CONTEXT),
    "torch.cpu.amp.autocast": Row(Act.CONTEXT),
    "torch.amp.GradScaler": Row(Act.SCALER),
    "torch.cuda.amp.GradScaler": Row(Act.SCALER),
    "torch.amp.grad_scaler.GradScaler": Row(Act.SCALER),
    "torch.cuda.amp.grad_scaler.GradScaler": Row(Act.SCALER),
    "torch.cpu.amp.GradScaler": Row(Act.SCALER),
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler": Row(Act.SCALER),
    "torch.cuda.graph": Row(Act.CAPTURE),
    "torch.cuda.CUDAGraph": Row(Act.REPLAYS),
    "torch.cuda.make_graphed_callables": Row(Act.SAME),
    **{f"torch.{name}": Row(Act.COMPUTES, joins=True) for name in _JOINING},
    "torch.is_tensor": Row(Act.IS_TENSOR),
    "torch.chunk": Row(Act.SPLITS, keyword="chunks"),
    **_each(Act.SPLITS, "split tensor_split", before="torch."),
    "torch.mean": Row(Act.MEAN),
    "torch.sum": Row(Act.SUM),
    "torch.div": Row(Act.DIVIDES),
    "torch.mul": Row(Act.MULTIPLIES),
    "torch.hub.load": Row(Act.MODULE),
    "torch.manual_seed": Row(Act.SEEDS),
    **_each(Act.SETS_DEVICE, "set_default_device set_default_tensor_type", before="torch."),
    "torch.load": Row(Act.UNPICKLES),
    **_each(Act.CLAMPED, _CLAMPED, before="torch."),
    **_each(Act.FLAT, "round floor ceil sign trunc", before="torch."),
    **_each(
        Act.CUTS,
        "argmax argmin eq ne lt gt le ge isnan isfinite isinf equal randn_like zeros_like ones_like rand_like "
        "full_like empty_like any all multinomial bernoulli is_floating_point argsort allclose bucketize count_nonzero "
        "logical_and logical_or logical_not nonzero histc bincount",
        before="torch.",
    ),
    **_each(
        Act.NEW_TENSOR,
        "zeros ones randn rand randint randperm full empty arange linspace eye normal logspace zeros_like ones_like "
        "randn_like rand_like full_like empty_like from_numpy FloatTensor LongTensor",
        before="torch.",
    ),
    "torch.tensor": Row(Act.COPIES),
    **_each(Act.WRAPS, "Tensor as_tensor asarray", before="torch."),
    **_each(Act.NUMBER, "numel device save get_rng_state set_rng_state Generator seed", before="torch."),
    "torch.device": Row(Act.SAME),  # the name of a device stands for it
}
# For what has no row of its own: the longest of these that its name begins with.
PREFIXES: dict[str, Row] = {
    "torch": Row(Act.COMPUTES),
    "torch.nn": Row(Act.MODULE),
    "torch.nn.functional": Row(Act.COMPUTES),
    "torch.nn.init": Row(Act.NOTHING),
    "torch.nn.utils": Row(Act.SAME),
    "torch.nn.utils.rnn": Row(Act.COMPUTES),
    "torch.nn.parallel": Row(Act.WRAPPER),
    "torch.optim": Row(Act.OPTIMIZER),
    "torch.optim.lr_scheduler": Row(Act.SCHEDULER),
    "torch.utils": Row(Act.NOTHING),
    "torch.distributed": Row(Act.NOTHING),
    "torch.distributed.all_reduce": Row(Act.REDUCES),
    "torch.distributed.all_reduce_coalesced": Row(Act.REDUCES),
    "torch.distributed.reduce": Row(Act.REDUCES),
    "torch.distributed.all_gather": Row(Act.REDUCES),
    "torch.distributed.nn": Row(Act.REDUCES),
    "torch.distributed.autograd": Row(Act.OPAQUE),
    "torch.distributed.rpc": Row(Act.OPAQUE),
    "torch.distributed.optim": Row(Act.OPTIMIZER),
    "torch.cuda": Row(Act.NOTHING),
    "torch.backends": Row(Act.NOTHING),
    "torch.profiler": Row(Act.NOTHING),
    "torch.mps": Row(Act.NOTHING),
    "torch.version": Row(Act.NOTHING),
}
# Of these a result is a module, whatever the name of the class.
MODULE_BASES = (
    *("torch.nn", "transformers", "pytorch_transformers", "lightning", "pytorch_lightning", "timm"),
    "torchvision.models",
)

_ALONE = ("cpu", "eval", "half", "float", "double", "bfloat16", "share_memory")
_MODULE_ITSELF: dict[str, Row] = {
    **_each(Act.SAME, "to cuda train apply compile type"),
    **{name: Row(Act.SAME, alone=True) for name in _ALONE},
}
MODULE: dict[str, Row] = {
    **_MODULE_ITSELF,
    "zero_grad": Row(Act.CLEARS),
    "parameters": Row(Act.PARAMETERS),
    "named_parameters": Row(Act.NAMED_PARAMETERS),
    "buffers": Row(Act.NOTHING),
    "requires_grad_": Row(Act.FREEZES),
    **_each(Act.PARTS, "modules children"),
    **_each(Act.NAMED_PARTS, "named_modules named_children"),
    **_each(Act.ADDS_PART, "add_module register_module append register_parameter insert"),
    "state_dict": Row(Act.STATE),
    "load_state_dict": Row(Act.LOADS),
    "register_forward_hook": Row(Act.FORWARD_HOOK),
    "no_sync": Row(Act.QUIETS),
    "join": Row(Act.CONTEXT),
    **_each(
        Act.NOTHING,
        "named_buffers register_buffer extra_repr save_pretrained save_checkpoint "
        "load_checkpoint push_to_hub log log_dict save_hyperparameters print resize_token_embeddings",
    ),
    **_each(
        Act.HOOKS,
        "register_full_backward_hook register_backward_hook register_forward_pre_hook register_full_backward_pre_hook",
    ),
}
OPTIMIZER: dict[str, Row] = {
    "step": Row(Act.STEPS),
    "zero_grad": Row(Act.CLEARS),
    "add_param_group": Row(Act.ADDS_GROUP),
    "first_step": Row(Act.ASCENDS),
    "second_step": Row(Act.DESCENDS),
    "state_dict": Row(Act.READS),
    **_each(Act.NOTHING, "load_state_dict train eval"),
    **_each(Act.HOOKS, "register_step_post_hook register_step_pre_hook"),
    "backward": Row(Act.DEPOSITS),
    "clip_master_grads": Row(Act.CLIPS),
    "clip_grad_norm": Row(Act.CLIPS),
}
SCALER: dict[str, Row] = {
    "scale": Row(Act.SCALES, keyword="outputs"),
    "step": Row(Act.STEPS, scaled=True, keyword="optimizer"),
    "unscale_": Row(Act.UNSCALES, keyword="optimizer"),
    "update": Row(Act.UPDATES),
    "get_scale": Row(Act.LOSS_SCALE),
    "is_enabled": Row(Act.ASKS, asks="is_enabled"),
    "state_dict": Row(Act.NOTHING),
    "load_state_dict": Row(Act.RESTORES),
}
SCHEDULER: dict[str, Row] = {
    "step": Row(Act.SCHEDULES),
    "step_update": Row(Act.SCHEDULES),
    **_each(Act.READS, "state_dict get_last_lr get_lr"),
    "load_state_dict": Row(Act.NOTHING),
}
# What the schedules of torch's own classes have, and those that others write for themselves do not.
SCHEDULER_FIELDS = frozenset(
    ["T_cur", "T_max", "T_i", "T_mult", "max_lrs", "milestones", "lr_lambdas", "step_size_up", "base_momentums"]
)
CRITERION = _MODULE_ITSELF
TENSOR: dict[str, Row] = {
    "backward": Row(Act.DEPOSITS),
    **_each(Act.NUMBER, "item tolist numpy data_ptr element_size get_device"),
    **{name: Row(Act.ASKS, asks=name) for name in ("size", "numel", "nelement", "dim")},
    **_each(
        Act.CUTS,
        "detach argmax argmin bool eq ne lt gt le ge isnan isinf isfinite argsort any all long int new new_zeros "
        "new_ones new_tensor new_full multinomial nonzero byte is_nonzero bernoulli new_empty",
    ),
    **_each(Act.FLAT, "round floor ceil sign trunc"),
    "detach_": Row(Act.CUTS_ITSELF),
    "mean": Row(Act.MEAN),
    "sum": Row(Act.SUM),
    "div": Row(Act.DIVIDES),
    "div_": Row(Act.DIVIDES),
    "mul": Row(Act.MULTIPLIES),
    "mul_": Row(Act.MULTIPLIES),
    "requires_grad_": Row(Act.LEAF),
    **_each(Act.COMPUTES, "chunk unbind narrow permute transpose squeeze unsqueeze reshape view"),
    **_each(Act.HOOKS, "register_hook register_post_accumulate_grad_hook"),
    "retain_grad": Row(Act.LEAF),
    **_each(Act.NOTHING, "is_cuda stride is_floating_point"),
    **_each(Act.SAME, "contiguous cpu"),
    "cuda": Row(Act.MOVES),
    **_each(Act.SPLITS, "split tensor_split"),
    "chunk": Row(Act.SPLITS, keyword="chunks"),
    **_each(Act.CASTS, "to type flatten"),  # of one dimension, flatten() gives the very tensor
    **_each(Act.LIKE, "expand_as view_as type_as reshape_as"),
}
# Methods of a `.grad`, which change it in place.
GRADIENT: dict[str, Row] = {
    "zero_": Row(Act.ZEROES),
    "fill_": Row(Act.FILLS),
    "copy_": Row(Act.REPLACES),
    "set_": Row(Act.REPLACES),
    **_each(Act.CLAMPS, "clamp_ clip_ clamp_max_"),
    **_each(Act.CLAMPED, _CLAMPED),
    **_each(Act.ADDS, "add_ sub_ addcmul_ addcdiv_"),
    **_each(Act.TOUCHES, "mul_ div_ nan_to_num_"),
    **_each(Act.SAME, "detach_ detach"),
    "to": Row(Act.CASTS),
}
PARAMETER: dict[str, Row] = {
    "requires_grad_": Row(Act.FREEZES),
    "zero_grad": Row(Act.CLEARS),
}


# They fill a tensor with random numbers: a beginning, and no weights of the program's own.
_DRAWS = frozenset(["normal_", "uniform_", "random_", "exponential_", "log_normal_", "cauchy_", "trunc_normal_"])


def draws(name: str) -> bool:
    """Whether a method of a tensor fills it with random numbers."""
    return name in _DRAWS


# Methods and functions that compute another tensor, where the same name with an underscore changes this one.
_HAVE_TWINS = frozenset(
    [
        *_CLAMPED.split(),
        *["clamp_min", "add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp", "masked_fill", "renorm"],
    ]
)


def has_twin(name: str) -> bool:
    return name in _HAVE_TWINS


def clips(name: str) -> bool:
    """Whether a method of a gradient clips it into a copy."""
    return name in _CLAMPED.split()


def is_in_place(name: str) -> bool:
    """Whether a method changes its tensor: torch names them so."""
    return name.endswith("_") and not name.endswith("__")


ATTRIBUTES: dict[str, dict[str, Trait]] = {
    "tensor": {
        "data": Trait.DATA,
        "grad": Trait.GRADIENT,
        **dict.fromkeys(("requires_grad", "is_leaf", "grad_fn", "shape", "device", "dtype", "ndim"), Trait.NUMBER),
        **dict.fromkeys(("T", "mT", "H", "real", "imag"), Trait.VIEW),
    },
    "parameter": {
        "grad": Trait.GRADIENT,
        "_grad": Trait.GRADIENT,
        "data": Trait.DATA,
        "requires_grad": Trait.REQUIRES_GRAD,
        **dict.fromkeys(("shape", "device", "dtype", "ndim", "is_leaf", "ndimension"), Trait.NUMBER),
        **dict.fromkeys(("T", "mT", "H"), Trait.VIEW),
    },
    "gradient": {"data": Trait.ITSELF},
    "optimizer": {"param_groups": Trait.GROUPS, "optimizer": Trait.ITSELF},
    "module": {
        "module": Trait.ITSELF,
        "training": Trait.NUMBER,
        **dict.fromkeys(("config", "device", "dtype", "hparams", "trainer", "num_classes"), Trait.SETTING),
    },
}

# What a function names that does something to gradients, beside the methods of optimizers, scalers and gradients.
TOUCH_GRADIENTS = frozenset(
    ["grad", "backward", "clip_grad_norm_", "clip_grad_value_", "requires_grad_", "requires_grad"]
)
