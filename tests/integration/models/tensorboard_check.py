"""tensorboard_check.py FOLDER: TensorBoard's reader finds every step of every file that event_files wrote."""
import math
import sys

from tensorboard.backend.event_processing import directory_watcher, event_file_loader, io_wrapper

seen = {}
watcher = directory_watcher.DirectoryWatcher(sys.argv[1], event_file_loader.EventFileLoader, io_wrapper.IsSummaryEventsFile)
for event in watcher.Load():
    for value in event.summary.value:
        number = value.tensor.float_val[0] if value.HasField("tensor") else value.simple_value
        seen.setdefault(value.tag, []).append((event.step, event.wall_time, number))
assert sorted(seen) == ["episode/return", "reward/energy", "train/td_loss"], sorted(seen)
loss = seen["train/td_loss"]
assert [step for step, _, _ in loss] == [10 * k for k in range(1, 21)], loss
assert all(at == 1_700_000_000 + step // 10 for step, at, _ in loss), loss
assert all(math.isclose(number, 10 / step, rel_tol=1e-6) for step, _, number in loss), loss
assert [number for _, _, number in seen["episode/return"]] == [-float(k) for k in range(1, 21)]
assert [step for step, _, _ in seen["reward/energy"]] == [10 * k for k in range(1, 21) if k != 5]  # non-numbers are omitted
print("tensorboard read", sum(map(len, seen.values())), "values")
