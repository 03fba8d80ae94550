"""Refuse a study with a model that clearly does not fit into memory, before anything is made for it."""

from __future__ import annotations

from mdnmt.config.cards import Card
from mdnmt.config.cluster import ClusterConfig
from mdnmt.config.run import RunSpec
from mdnmt.gpu import count_visible
from mdnmt.machine import Memory, host_memory
from mdnmt.methods import pretrained
from mdnmt.operations.plan.benchmark_paths import name_of
from mdnmt.operations.plan.existing_results import run_state, vocab_sizes
from mdnmt.operations.plan.model_work import work_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study
from mdnmt.train.footprint import FLOAT, STATES, footprint

# Build a model (on the meta device) only if its layers need at least this share of the limit: DAGs are built often.
_NEAR = 0.1


def require_memory(
    study: Study, places: ResultPaths, cluster: ClusterConfig | None, device: str, card: Card | None = None
) -> None:
    """Refuse a study if the weights, gradients and Adam moments of one of its runs alone exceed the memory.

    Nothing is refused if a GPU of this machine trains: its memory is checked when training starts.

    Args:
        study: the study; runs that are done are not checked.
        places: the paths of its results.
        cluster: its largest size class sets the limit, not the machine that submits the jobs; None: no cluster.
        device: the device in the project's configuration.
        card: the GPU that will train, whose memory is then the limit.

    Raises:
        TooLarge: a run does not fit; the message gives run, estimate and limit.
    """
    if card is not None:
        limit = Memory(int(card.memory_gb * 10**9), f"the {card.name}")
    elif cluster is not None:
        most = max(size.mem_mb for size in cluster.sizes.values()) * 10**6
        limit = Memory(most, "the largest class of jobs (`sizes` of config/cluster.yaml)")
    elif device != "cpu" and count_visible(device):
        return
    else:
        limit = host_memory()
    for run in study.makeable():
        spec = run.spec
        if spec is None or pretrained(spec.builder) is not None or run_state(run, places) == "done":
            continue
        if STATES * FLOAT * _matrices(spec) < _NEAR * limit.size_bytes:
            continue
        task = study.tasks[run.task]
        vocab = vocab_sizes(task, places)[0]
        num_domains = len(task.config.domains)
        parameters = work_of(spec.builder, spec.architecture, num_domains, vocab).parameters
        needed = footprint(parameters, spec.architecture, vocab.target, spec.training, num_domains)
        needed.require(limit, f"run {name_of(run)}")


def _matrices(spec: RunSpec) -> int:
    """Return roughly how many parameters the layers of a Transformer of these widths have, without embeddings."""
    width, inner, layers = (spec.architecture.get(key, 0) for key in ("model_dim", "ffn_dim", "encoder_layers"))
    both = layers + spec.architecture.get("decoder_layers", 0)
    return int(both * (8 * width * width + 2 * width * inner))
