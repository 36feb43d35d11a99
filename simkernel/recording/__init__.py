"""What a run left, typed, and the formats it can be had in.

    rows.py       the pieces: an event, a sample, a task, a slice of its time, a map
    model.py      Events and Recording, what they are part of
    watch.py      who ran where: tracepoints listened to from outside the machine
    sampler.py    CPU samples through perf_event_open(2)
    decode.py     records of the trace buffer to typed events
    take.py       all of it from a machine
    store.py      a directory of JSON files and back
    tables.py     Arrow and pandas
    plots.py      histograms and heat maps for notebooks
    formats/      one file for each format, one row for each in formats/__init__.py
    page/         `simkernel report`: one HTML page

Nothing here is imported before somebody asks for a recording.
"""
