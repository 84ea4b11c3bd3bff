"""How many lookups of the study's grid are answered in a second: by kvfanin, and
by the LRU cache of libCacheSim.

usage: peers.py KVFANIN TRACE

Both have the same lookups, the block stream of the trace, and the capacities of
the study, and both have two cores. They run in turn, and the ratio is taken in
each round. The comparison is uneven on purpose, in favour of libCacheSim:

- it replays plain LRU: no window, no cohorts, no routing, no instances;
- only its own loop is timed, over a file in its own binary form that is already
  in memory, with hash tables of the size that suits it best. kvfanin is timed as
  a whole process, from the trace's text to the finished run directory.

kvfanin answers a configuration that it proves to be the same as another without
running it. A user of libCacheSim would have to find that proof by himself.
"""

import json
import multiprocessing
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

CAPACITIES = [1_000, 10_000, 100_000]
CONFIGURATIONS = 420  # lookups x routings x instances x capacities x windows
PROCESSES = 2
ROUNDS = 9
REPEATS = 5  # of all capacities, so that a round is not over in an instant
HASHPOWERS = [14, 16, 17, 18, 20]  # log2 of the hash table; the library's 24 is made for larger traces


def convert(trace, path):
    """Writes the block stream of a trace in libCacheSim's form oracleGeneral."""
    lookups = 0
    with open(trace) as lines, open(path, "wb") as out:
        for line in lines:
            request = json.loads(line)
            for block in dict.fromkeys(request["hash_ids"]):
                out.write(struct.pack("<IQIq", request["timestamp"] // 1000, block, 1, -1))
                lookups += 1
    return lookups


def replay(path, hashpower, repeats):
    """Replays the stream under every capacity."""
    import libcachesim

    kind, init = libcachesim.TraceType.ORACLE_GENERAL_TRACE, libcachesim.ReaderInitParam(ignore_obj_size=True)
    reader = libcachesim.TraceReader(path, kind, init)
    for _ in range(repeats):
        for capacity in CAPACITIES:
            reader.reset()
            libcachesim.LRU(cache_size=capacity, hashpower=hashpower).process_trace(reader)


def work(path, hashpower, barrier):
    """Replays once a round, when all processes and the clock are ready."""
    for _ in range(ROUNDS):
        barrier.wait()
        replay(path, hashpower, REPEATS)
        barrier.wait()


def seconds(do):
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


def main(program, trace):
    try:
        import libcachesim
    except Exception as error:  # whatever it is that this platform lacks
        print(f"libCacheSim cannot be had here, so nothing is compared: {error}")
        return
    with tempfile.TemporaryDirectory() as scratch:
        stream, run = os.path.join(scratch, "stream"), os.path.join(scratch, "run")
        lookups = convert(trace, stream)
        hashpower = min(HASHPOWERS, key=lambda power: seconds(lambda: replay(stream, power, 1)))

        barrier = multiprocessing.Barrier(PROCESSES + 1)
        workers = [multiprocessing.Process(target=work, args=(stream, hashpower, barrier)) for _ in range(PROCESSES)]
        for worker in workers:
            worker.start()

        def peer():
            barrier.wait()
            barrier.wait()

        def ours():
            subprocess.run([program, "study", "--quiet", "--force", "-o", run, trace], check=True, stdout=subprocess.DEVNULL)

        theirs, study = [], []  # lookups a second
        for _ in range(ROUNDS):
            theirs.append(PROCESSES * REPEATS * len(CAPACITIES) * lookups / seconds(peer))
            study.append(CONFIGURATIONS * lookups / seconds(ours))
        for worker in workers:
            worker.join()

    ratio = statistics.median(mine / peer for mine, peer in zip(study, theirs))
    print(f"{lookups:,} lookups a configuration; medians of {ROUNDS} rounds, in turn")
    print(f"  libCacheSim {libcachesim.__version__}, plain LRU in {PROCESSES} processes  {statistics.median(theirs) / 1e6:8.1f} M lookups/s")
    print(f"  kvfanin study, whole process              {statistics.median(study) / 1e6:8.1f} M lookups of the grid/s")
    print(f"  times as many, median of the ratios       {ratio:8.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
