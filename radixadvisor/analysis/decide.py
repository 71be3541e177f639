"""The verdict of an analysis, from its prediction and its measurements."""

from __future__ import annotations

from radixadvisor.analysis.measure import Measured
from radixadvisor.analysis.reported import Reported
from radixadvisor.predict.outlook import FIXED, FIXED_BLOCKS, RADIX_ENGINE
from radixadvisor.predict.results import Outlook, Prediction
from radixadvisor.verdict import Case, Evidence, Verdict, decide

__all__ = ["verdict_of"]


def verdict_of(prediction: Prediction | None, found: Measured, reported: Reported | None) -> Verdict | None:
    """The decision against the prediction's baseline and against vllm; None without a prediction.

    Args:
        prediction: what is predicted.
        found: the log's measurements.
        reported: what the log's server said it served.
    """
    if prediction is None:
        return None
    total = int(found.lengths.sum())
    outlooks = prediction.outlooks
    mean = total / len(found.lengths)
    none, blocks, radix = (outlooks[name] for name in ("none", "vllm", RADIX_ENGINE))
    given = {"none": _case(none, radix, mean, prediction), "vllm": _case(blocks, radix, mean, prediction)}
    fixed = None
    if FIXED in outlooks:
        fixed = {
            "none": _case(none, outlooks[FIXED], mean, prediction),
            "vllm": _case(outlooks[FIXED_BLOCKS], outlooks[FIXED], mean, prediction),
        }
    return decide(
        Evidence(
            requests=len(found.lengths),
            prompt_tokens=total,
            repeated=int(found.unlimited.sum()) / total,
            prefill_share=prediction.prefill_share,
            given=given,
            fixed=fixed,
            reported=None if reported is None or not reported.prompt else reported.cached / reported.prompt,
        ),
        prediction.baseline,
    )


def _case(off: Outlook, on: Outlook, mean: float, prediction: Prediction) -> Case:
    """One engine against another. Both the closed form, which compares their caches under one scheduler, and
    the simulation, where there is one, have to show a gain: the smaller ratio counts.
    """
    ratio = on.gain / off.gain
    if off.saturation is not None and on.saturation is not None and off.saturation.requests:
        ratio = min(ratio, on.saturation.requests / off.saturation.requests)
    spread = prediction.interval
    return Case(
        ratio=ratio,
        low=ratio * spread.low / prediction.ratio,
        high=ratio * spread.high / prediction.ratio,
        saved=1 - (1 - on.time_saved) / (1 - off.time_saved),
        tokens=(on.rate - off.rate) * mean,
        baseline_rate=off.rate,
        rate=on.rate,
    )
