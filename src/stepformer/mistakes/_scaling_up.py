"""Known mistakes when work is shared among devices, and in what came after 2017. All of them run and give numbers."""

from stepformer.trace import Break, Edit

_WORKERS = ("worker_1", "worker_2")

MEAN_OF_MEANS = Break(
    "Average the workers, not the words",
    (
        *(Edit(f"{worker}.share", op="copy") for worker in _WORKERS),
        Edit("all_reduce.rows", value=2),
    ),
    "The mean of the two means. Worker 2 has one word and worker 1 has three, so sleep now counts three times as much "
    "as each of the others. With equal shares nobody would notice.",
    "the_gradient_is_that_of_the_whole_batch",
)

FORGET_THE_ALL_REDUCE = Break(
    "Forget to add the gradients up",
    Edit("all_reduce.gradient", op="copy", inputs=("worker_1.gradient",)),
    "Worker 1 steps by its own gradient. Worker 2 would step by another one, and from now on there are two models, "
    "which drift apart.",
    "the_gradient_is_that_of_the_whole_batch",
)

BIAS_ON_EACH_DEVICE = Break(
    "Add the second bias on each device",
    (
        *(
            Edit(f"{device}.partial", op="linear", inputs=(f"{device}.hidden", f"{device}.w_2.weight", "w_2.bias"))
            for device in ("device_1", "device_2")
        ),
        Edit("all_reduce.output", op="copy"),
    ),
    "Each device hands in a whole linear layer, bias included, and the sum has the bias twice: being and motion come "
    "out 0.1 too large for every word. With eight devices it would be there eight times.",
    "the_devices_give_the_undivided_network",
)

FORGET_TO_RESCALE_THE_SUM = Break(
    "Forget to rescale the old sum",
    tuple(Edit(f"tile_{k}.old_sum", op="copy") for k in (2, 3)),
    "花园 meets a larger score in each tile, and its old sum was measured from a smaller maximum. It now divides by "
    "too much. 追逐 has its largest score in the first tile, and sees no difference.",
    "tiles_give_the_attention_over_all_keys",
)

FORGET_TO_RESCALE_THE_VALUES = Break(
    "Forget to rescale the old values",
    tuple(Edit(f"tile_{k}.old_values", op="copy") for k in (2, 3)),
    "What 花园 has gathered from the first two tiles counts too much: Tom and chase come through, and its output is "
    "more than any average of the values.",
    "tiles_give_the_attention_over_all_keys",
)

SWAP_THE_GATE = Break(
    "Load the gate as the other matrix",
    (Edit("gate", inputs=("x", "w_3.weight")), Edit("feed_forward.expanded", inputs=("x", "w_1.weight"))),
    "Both matrices have the same shape, so weights with other names load without a word. Now the one that was trained "
    "to say how far opens nothing, and what was made to pass decides.",
    "the_gate_is_the_first_matrix",
)

_GROUPED = "grouped_query_attention"

GROUPS_IN_TURN = Break(
    "Deal the keys out in turn",
    tuple(
        Edit(f"{_GROUPED}.{role}_{cut}", attributes={"n_heads": n})
        for role in ("key", "value")
        for cut, n in (("groups", 1), ("heads", 2))
    ),
    "The heads get the keys of the groups 0, 1, 0, 1 in place of 0, 0, 1, 1, as `repeat` deals them out where "
    "`repeat_interleave` belongs. The head that asks for the deed is shown cat and mouse, and the one that asks for "
    "the cat is shown being and deed.",
    "each_group_has_its_own_keys",
)

LOOK_BACK_ONLY = Break(
    "Hide what comes later, as a decoder does",
    Edit("allowed", op="causal_mask", inputs=("x", "x")),
    "The gap sees Tom and itself, but no Jerry, and says sleep with 0.88. Whether a mouse follows makes no difference "
    "to it any more.",
    "the_gap_sees_both_sides",
)

DATA_PARALLEL = (MEAN_OF_MEANS, FORGET_THE_ALL_REDUCE)
"""Mistakes with one batch on several devices."""

TENSOR_PARALLEL = (BIAS_ON_EACH_DEVICE,)
"""The mistake with one layer on several devices."""

TILES = (FORGET_TO_RESCALE_THE_SUM, FORGET_TO_RESCALE_THE_VALUES)
"""Mistakes with a softmax that is computed in tiles."""

GATED = (SWAP_THE_GATE,)
"""The mistake with two matrices of one shape."""

GROUPED = (GROUPS_IN_TURN,)
"""The mistake with heads that share keys and values."""

ENCODER_ONLY = (LOOK_BACK_ONLY,)
"""The mistake of giving an encoder the mask of a decoder."""
