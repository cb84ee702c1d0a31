"""Programs in Python that answer as those for Java do, for `fake_java`."""

#: Counts words, and gives each caption the number of its words in tenths.
METEOR = """
    import sys
    for line in sys.stdin:
        kind, *parts = line.rstrip("\\n").split(" ||| ")
        if kind == "SCORE":
            print(len(parts[-1].split()), len(parts) - 1, flush=True)
        else:
            words = [int(part.split()[0]) / 10 for part in parts]
            print(*words, sum(words), sep="\\n", flush=True)
"""
#: Tells its version, then scores captions by their number of words, last one
#: first.
SPICE = """
    import json, os, sys
    if sys.argv[1] == "-version":
        sys.stderr.write('openjdk version "VERSION"\\n')
        sys.exit()
    main = sys.argv.index("edu.anu.spice.SpiceScorer")
    rows = json.load(open(sys.argv[main + 1]))
    scores = [
        {"image_id": row["image_id"],
         "scores": {"All": {"f": len(row["test"].split()) / 10},
                    "Color": {"f": None}}}
        for row in rows[::-1]
    ]
    json.dump(scores, open(sys.argv[main + 3], "w"))
    json.dump([sys.argv, rows], open(os.environ["SEEN"], "w"))
"""
