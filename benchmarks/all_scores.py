"""All scores of thousands of captions, from files to a table, once.

python benchmarks/all_scores.py --json results/speed/all_scores.json

The captions are COCO's own of val2014, which pycocoevalcap brings: of each
image the first is scored against the others, every second one against those of
another image. "ours" is `python -m tfcap.evaluate` with BLEU-1 to 4, ROUGE-L,
CIDEr-D, CIDEr, CIDEr-R and METEOR; the peer is pycocoevalcap with its Java
tokenizer, BLEU, ROUGE-L, CIDEr and METEOR's Java. SPICE is left out on both
sides: its models are in no package. A run takes minutes of Java, so there is
one, and the ratio is that of CPU seconds, which other work on the machine does
not change much; wall time and load are written beside it. Memory is the peak
of the process. All 40,504 images of val2014 are scored by ours alone. Where
spaCy is installed, SPICE (spaCy) is scored, too, and the captions are counted
that it parses in a CPU second.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile

METRICS = "bleu,rouge_l,cider_d,cider,cider_r,meteor"
GOALS = {"ours_cpu_s": 3.0, "parsed_per_cpu_s": 1000}


def coco_captions():
    """Lists of captions of the images of val2014."""
    import pathlib

    import pycocoevalcap

    folder = pathlib.Path(*pycocoevalcap.__path__)
    with zipfile.ZipFile(folder / "spice" / "spice-1.0.jar") as archive:
        name = "coco/annotations/captions_val2014.json"
        annotations = json.loads(archive.read(name))["annotations"]
    captions = {}
    for annotation in annotations:
        text = " ".join(annotation["caption"].split())
        captions.setdefault(annotation["image_id"], []).append(text)
    return [captions[image] for image in sorted(captions)]


def write_files(folder, candidates, references):
    """Paths of results and references as COCO has them."""
    images = range(len(candidates))
    pairs = enumerate(zip(images, references))
    annotations = [
        {"id": 10 * i + n, "image_id": image, "caption": caption}
        for i, (image, captions) in pairs
        for n, caption in enumerate(captions)
    ]
    contents = {
        "results.json": [
            {"image_id": i, "caption": c} for i, c in enumerate(candidates)
        ],
        "references.json": {
            "images": [{"id": i, "file_name": f"{i}.jpg"} for i in images],
            "annotations": annotations,
        },
    }
    for name, content in contents.items():
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)
    return [os.path.join(folder, name) for name in contents]


def pycocoevalcap(results, references):
    """Prints what pycocoevalcap gives for two files."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.meteor.meteor import Meteor
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    with open(results) as file:
        said = {x["image_id"]: [x] for x in json.load(file)}
    true = {image: [] for image in said}
    with open(references) as file:
        for annotation in json.load(file)["annotations"]:
            true[annotation["image_id"]].append(annotation)
    tokenizer = PTBTokenizer()
    true, said = tokenizer.tokenize(true), tokenizer.tokenize(said)
    for scorer in Bleu(4), Rouge(), Cider(), Meteor():
        print(type(scorer).__name__, scorer.compute_score(true, said)[0])


def run(*command):
    """Seconds of wall and CPU of a process, and MB that it took at most."""
    begun, load = time.perf_counter(), os.getloadavg()[0]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} failed with {process.returncode}")
    return printed, {
        "wall_s": round(time.perf_counter() - begun, 1),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": round(usage.ru_maxrss / 1024),
        "load": round(load, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="file to write the results to")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--peer", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        pycocoevalcap(*options.peer)
        return
    found, sets = {}, coco_captions()
    python, this = sys.executable, os.path.abspath(__file__)
    for images in (options.images, len(sets)):
        chosen = sets[:images]
        candidates = [captions[0] for captions in chosen]
        candidates[::2] = candidates[::2][::-1]
        with tempfile.TemporaryDirectory() as folder:
            rest = [captions[1:6] for captions in chosen]
            paths = write_files(folder, candidates, rest)
            ours = [python, "-m", "tfcap.evaluate", *paths]
            ours += ["--quiet", "--metrics"]
            if images == options.images:
                # Prepares the tables of METEOR, if that was never done.
                once = "tfcap.text.meteor([['a']], [[['a']]])"
                once = f"import tfcap.text; {once}"
                subprocess.run([python, "-c", once], check=True)
            printed, found[f"ours, {images:,} captions"] = run(*ours, METRICS)
            print(printed)
            if images == options.images:
                name = f"pycocoevalcap, {images:,} captions"
                printed, found[name] = run(python, this, "--peer", *paths)
                print(printed)
                if importlib.util.find_spec("spacy"):
                    name = f"SPICE (spaCy) alone, {images:,} captions"
                    printed, found[name] = run(*ours, "spice_spacy")
                    print(printed)
                    parsed = images + sum(map(len, rest))
                    rate = round(parsed / found[name]["cpu_s"])
                    found["parsed_per_cpu_s"] = rate
    found["goals"] = GOALS
    first, peer = list(found.values())[:2]
    found["ratio_cpu"] = round(peer["cpu_s"] / first["cpu_s"], 1)
    found["ratio_wall"] = round(peer["wall_s"] / first["wall_s"], 1)
    print(json.dumps(found, indent=1))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
