"""Writing dialogs in the files of VisDial v1.0."""

import json
import pathlib

_VERSION = "1.0"


def write_visdial(path, split, image_ids, dialogs, options):
    """Writes a split in the official layout, options and all.

    Questions and answers are stored once and pointed to, so the loader of
    the real data set reads the file as it is.

    Args:
        path: String or `pathlib.Path`, the JSON file to write.
        split: String, `"train"`, `"val"` or `"test"`.
        image_ids: Sequence of M integers.
        dialogs: List of M `WorldDialog`.
        options: `Options` of the same dialogs.

    Raises:
        ValueError: If the lengths of the three differ.
    """
    if not len(image_ids) == len(dialogs) == len(options.indices):
        raise ValueError(
            "`image_ids`, `dialogs` and `options` must be of one length. "
            f"Received: {len(image_ids)}, {len(dialogs)} and "
            f"{len(options.indices)}. Build the options of the same dialogs."
        )
    questions = {}
    written = []
    for i, dialog in enumerate(dialogs):
        listed = options.indices[i].tolist()
        rounds = []
        for r, turn in enumerate(dialog.rounds):
            gt_index = int(options.gt_index[i, r])
            rounds.append(
                {
                    "question": questions.setdefault(
                        turn.question, len(questions)
                    ),
                    "answer": listed[r][gt_index],
                    "answer_options": listed[r],
                    "gt_index": gt_index,
                }
            )
        written.append(
            {
                "image_id": int(image_ids[i]),
                "caption": dialog.caption,
                "dialog": rounds,
            }
        )
    data = {
        "questions": list(questions),
        "answers": options.answers,
        "dialogs": written,
    }
    _dump(path, {"version": _VERSION, "split": split, "data": data})


def write_dense_annotations(path, image_ids, options, every_round=False):
    """Writes the graded relevance of candidates, as VisDial does for NDCG.

    Args:
        path: String or `pathlib.Path`, the JSON file to write.
        image_ids: Sequence of M integers.
        options: `Options`.
        every_round: Boolean, whether to list all rounds. Defaults to `False`:
            one round per image, as in VisDial, each number equally often.
    """
    written = []
    for i, image_id in enumerate(image_ids):
        count = options.indices.shape[1]
        for r in range(count) if every_round else (i % count,):
            grades = options.relevance[i, r].tolist()
            written.append(
                {
                    "image_id": int(image_id),
                    "round_id": r + 1,
                    "gt_relevance": [round(grade, 3) for grade in grades],
                }
            )
    _dump(path, written)


def _dump(path, value):
    # `dumps` runs in C as a whole, `dump` piece by piece: ten times slower.
    text = json.dumps(value, separators=(",", ":"))
    pathlib.Path(path).write_text(text, encoding="utf-8")
