"""What a case is given, what it gives back, and what a target module looks like."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol

from kvfanin_probe.record import CaseRecorder

CHOICES: dict[str, tuple[str, ...]] = {
    "store": ("fake", "real"),
    "engine": ("stepped", "full"),
    "failure_policy": ("fail", "recompute"),
    "fault": ("none", "first_get_fails", "object_removed", "owner_killed", "abort_held", "abort_queued"),
    "device": ("cpu", "cuda"),
}
AT_LEAST_ONE = ("requests", "shared_blocks", "receive_threads", "gpu_blocks", "held_gets", "prefetch_in_flight")
_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}


class BadParameters(ValueError):
    """The parameters are not those of this protocol."""


class Unusable(RuntimeError):
    """After this the process cannot be trusted with another case."""


@dataclass(frozen=True)
class Parameters:
    """One case. kvfanin owns the defaults, so every field is always given."""

    requests: int
    shared_blocks: int
    receive_threads: int
    store: str
    engine: str
    async_lookup: bool
    load_async: bool
    failure_policy: str
    stagger_ms: float
    gpu_blocks: int
    held_gets: int
    fault: str
    late_request: bool
    mode: str
    prefix_caching: bool
    prefetch_in_flight: int
    device: str
    wait_s: float
    seed: int

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Parameters:
        """Reads and checks parameters; the message of a refusal names the field."""
        names = {f.name: f.type for f in fields(cls)}
        if unknown := sorted(set(given) - set(names)):
            raise BadParameters(f"unknown parameter {unknown[0]!r}")
        for name, kind in names.items():
            if name not in given:
                raise BadParameters(f"parameter {name!r} is missing")
            value = given[name]
            # bool is an int in Python; a true where a number belongs is a mistake all the same.
            if not isinstance(value, _TYPES[str(kind)]) or (isinstance(value, bool) and kind != "bool"):
                raise BadParameters(f"parameter {name!r} is {value!r}, not {kind}")
            if name in CHOICES and value not in CHOICES[name]:
                raise BadParameters(f"parameter {name!r} is {value!r}, not one of {', '.join(CHOICES[name])}")
        for name in AT_LEAST_ONE:
            if given[name] < 1:
                raise BadParameters(f"parameter {name!r} is {given[name]}, not at least 1")
        if not given["wait_s"] > 0:
            raise BadParameters(f"parameter 'wait_s' is {given['wait_s']}, not above 0")
        if given["stagger_ms"] < 0:
            raise BadParameters(f"parameter 'stagger_ms' is {given['stagger_ms']}, not at least 0")
        return cls(**given)


@dataclass(frozen=True)
class Missing:
    """Something the target needs and did not find."""

    what: str
    why: str
    how: str


@dataclass(frozen=True)
class Tokens:
    """Output tokens held against a run without a store."""

    compared: int
    equal: int


@dataclass
class Result:
    """What a case showed. Events are kept by the recorder and added on the way out."""

    counts: dict[str, dict[str, int]]
    """Snapshots by name: held, end, late."""
    finish_reasons: dict[str, int] = field(default_factory=dict)
    get_codes: list[int] = field(default_factory=list)
    """For each key of each Get: bytes delivered, or the store's negative code."""
    each_finished_once: bool = True
    blocks_right: int | None = None
    """Destination buffers whose bytes are those of the object; None where no bytes move."""
    tokens: Tokens | None = None
    not_real: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The fields of a result message; what does not apply is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Target(Protocol):
    """A stack, imported and ready to run cases."""

    def run(self, parameters: Parameters, case: CaseRecorder) -> Result:
        """Runs one case."""
        ...

    def close(self) -> None:
        """Lets go of what outlives a case."""
        ...


class TargetModule(Protocol):
    """The module of a target; see the docstring of the package."""

    Target: type[Target]

    def versions(self) -> dict[str, str]:
        """What is installed."""
        ...

    def missing(self) -> list[Missing]:
        """What is not."""
        ...
