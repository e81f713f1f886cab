"""How long a step and an edit take until they are laid out, in the page, beside a round trip through a live kernel."""

import time

from browser import PLAYER, Site, chromium, served
from jupyter_client import BlockingKernelClient, KernelManager
from results import BENCH, ROOT, Figure, percentile, versions, write
from workloads import programs

from stepformer.widgets import player_html
from stepformer.widgets.player import step_position

SAMPLES, WARM_UP = 200, 30
# 16 heads are held to the bar of 64 × 64: their weight matrices are as large, and their tensors have as many cells.
BARS = {"toy": 8, "64x64": 30, "sixteen_heads": 30, "many": 8, "very_many": 60, "transformer": 8}
SIZES = {
    "toy": "toy",
    "64x64": "64 tokens × 64",
    "sixteen_heads": "16 heads, 12 tokens × 64",
    "many": "254 steps",
    "very_many": "507 steps",
    "transformer": "the whole Transformer",
}
EDITED = {
    "toy": "scores",
    "64x64": "scores",
    "sixteen_heads": "projected_query",
    "many": "layers.0.self_attention.multi_head_attention.projected_query",
    "very_many": "layers.0.self_attention.multi_head_attention.projected_query",
    "transformer": "encoder.layers.0.self_attention.projected_query",
}
"""The step on show during the edits: a product of what is changed."""
CHANGED = dict.fromkeys(SIZES, "query") | {"transformer": "src_input.with_positions"}
"""The tensor whose first cell is edited; all that comes after it is computed anew."""
ACTIONS = {
    "type": "typed edit",
    "slide": "edit by slider",
    "step": "step",
    "ahead": "the next step drawn ahead, when the last one has been painted",
    "jump": "jump to a step of the list, which nothing draws ahead",
}
# Told without a bar: nobody waits for the one, and the other is no step on.
UNBOUND = ("ahead", "jump")

# What a widget needs a kernel for: recompute attention, and send the tensors as binary buffers through its comm.
KERNEL = """
import sys
sys.path.insert(0, {bench!r})
from workloads import programs
trace = programs()[{size!r}]

def recompute(x):
    changed = trace[{changed!r}].copy()
    changed[0, 0] = x
    return trace.run({{{changed!r}: changed}}).values

def opened(comm, message):
    def answer(message):
        values = recompute(message["content"]["data"]["x"])
        comm.send({{"names": list(values)}}, buffers=[array.tobytes() for array in values.values()])
    comm.on_msg(answer)

get_ipython().kernel.comm_manager.register_target("bench", opened)
"""


def in_the_page() -> tuple[dict[str, dict[str, list[float]]], str]:
    """Return milliseconds by size and action, and the browser's version."""
    players = "".join(f'<main id="{size}">{player_html(trace)}</main>' for size, trace in programs().items())
    page = (
        f'<!doctype html><meta charset="utf-8"><title>latency</title><script defer src="/player.js"></script>{players}'
    )
    site = Site(ROOT, {"/page.html": page.encode(), "/player.js": PLAYER.read_bytes()})
    with chromium() as browser, served(site) as address:
        tab = browser.new_page()
        tab.goto(f"{address}/page.html")
        tab.add_script_tag(path=str(BENCH / "latency.js"))
        measure = "([size, plan]) => measureLatency(document.getElementById(size).firstElementChild, plan)"
        times = {}
        for size, trace in programs().items():
            tab.wait_for_selector(f"[id='{size}'] > [data-ready]")
            edited = step_position(trace, EDITED[size])
            plan = {"samples": SAMPLES, "warmUp": WARM_UP, "edited": edited, "changed": CHANGED[size]}
            times[size] = tab.evaluate(measure, [size, plan])
        return times, browser.version


def through_a_kernel(size: str) -> dict[str, list[float]]:
    """Return milliseconds of round trips: a cell executed, and a comm message answered; no browser is involved."""
    manager = KernelManager(kernel_name="python3", transport="ipc")
    manager.start_kernel()
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        client.execute_interactive(
            KERNEL.format(bench=str(BENCH), size=size, changed=CHANGED[size]), timeout=60, allow_stdin=False
        )
        return {"execute": _executions(client), "comm": _comm_messages(client)}
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _executions(client: BlockingKernelClient) -> list[float]:
    times = []
    for i in range(WARM_UP + SAMPLES):
        start = time.perf_counter()
        reply = client.execute(f"recompute({i / 100});", reply=True, timeout=30)
        times.append((time.perf_counter() - start) * 1e3)
        if reply["content"]["status"] != "ok":
            raise RuntimeError(reply["content"])
    return times[WARM_UP:]


def _comm_messages(client: BlockingKernelClient) -> list[float]:
    def send(kind: str, **content: object) -> None:
        client.shell_channel.send(client.session.msg(kind, {"comm_id": "bench", **content}))

    send("comm_open", target_name="bench", data={})
    times = []
    for i in range(WARM_UP + SAMPLES):
        start = time.perf_counter()
        send("comm_msg", data={"x": i / 100})
        while (message := client.get_iopub_msg(timeout=30))["msg_type"] != "comm_msg":
            if message["msg_type"] == "error":
                raise RuntimeError(message["content"])
        times.append((time.perf_counter() - start) * 1e3)
        if len(message["buffers"]) != len(message["content"]["data"]["names"]):
            raise RuntimeError("the kernel did not send every tensor")
    return times[WARM_UP:]


def main() -> None:
    """Measure both, and how many times longer the kernel takes."""
    times, browser_version = in_the_page()
    figures = []
    for size, words in SIZES.items():
        kernel = through_a_kernel(size)
        for action, name in ACTIONS.items():
            for percent in (50, 95):
                bar = BARS[size] if percent == 95 and action not in UNBOUND else None
                value = percentile(times[size][action], percent)
                what = f"{name}, p{percent} ({words})"
                figures.append(Figure(f"{action}_{size}_p{percent}", what, value, "ms", bar))
        for way, name in {"comm": "a comm message", "execute": "an executed cell"}.items():
            for percent in (50, 95):
                value = percentile(kernel[way], percent)
                what = f"the kernel alone, {name}, p{percent} ({words})"
                figures.append(Figure(f"kernel_{way}_{size}_p{percent}", what, value, "ms"))
        ratio = percentile(kernel["comm"], 50) / percentile(times[size]["slide"], 50)
        figures.append(
            Figure(f"kernel_per_slide_{size}", f"comm message per edit by slider, p50 ({words})", ratio, "×")
        )
    how = (
        f"{SAMPLES} samples after {WARM_UP}. In the page: from dispatching the input event until a forced layout "
        "returns, without the wait for the next frame, and without what is drawn ahead after it; a typed number is "
        "taken over when it has been painted. Kernel: from sending a message until the recomputed tensors are back as "
        "binary buffers (comm), or until a cell that recomputes them is done, on the same computer; a page would still "
        "have to draw them."
    )
    used = versions(["numpy", "ipykernel", "jupyter_client", "playwright"], chromium=browser_version)
    write("latency", figures, used, how)


if __name__ == "__main__":
    main()
