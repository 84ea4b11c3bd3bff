"""The part of kvfanin's probe that must live inside the serving stack.

kvfanin (Go) owns processes, deadlines, ports, temporary folders, expected counts and the verdict. This package drives
one stack with N equal cold requests and records what happens. It decides nothing, and it patches nothing: it wraps
instances and uses the public connector interface.

    target.py     what a case is given and what it gives back: Parameters, Result, Missing, Target
    protocol.py   JSON lines on stdin and stdout, stdout kept apart from whatever the stack prints
    record.py     events and counters, safe to call from any thread of the stack
    barrier.py    the barrier that holds Gets, and waits that always have a deadline
    __main__.py   `python -m kvfanin_probe --target NAME [--self-check]`
    owner.py      `python -m kvfanin_probe.owner`: a process that owns the objects of a real Mooncake store

A target is a module, named in `__main__.TARGETS` and imported only when it is asked for. It has, at module level and
without importing the stack:

    def versions() -> dict[str, str]      what is installed, by the names people know
    def missing() -> list[Missing]        what the target needs and cannot find, each with the way to get it
    IMPORTS: tuple[str, ...]              optional: modules that --self-check imports besides what Target does
    class Target:                         its constructor does the heavy imports
        def run(self, parameters: Parameters, case: CaseRecorder) -> Result
        def close(self) -> None           called once, at the end

`run` is called many times in one process. It builds everything it needs, leaves no thread, socket or file behind that
it can help, and raises where a case could not be carried out; the process lives on unless it raises `Unusable`. Where
the stack itself raises as part of what is being shown, `run` returns a Result with a line in `notes`.

    case.stage("held")                    tells kvfanin where the case is
    case.begin()                          lets the timeline start, right before the first arrival
    case.event("get_start", request="r0", get=0)
    case.declare("lookups", "gets")       counters that are real here, from zero; the others stay out of the counts
    case.add("gets"); case.rise("gets_in_flight"); case.fall("gets_in_flight"); case.put("cached_copies", 8)
    case.counts()                         a snapshot
    case.need("put", key=…, seed=…, bytes=…)   asks kvfanin, waits, raises if it was refused
"""
