"""Contents of files of captions, in the layouts in which they are published."""


def results(captions):
    """A file of results, of a caption by the id of its image."""
    return [{"image_id": i, "caption": text} for i, text in captions.items()]


def coco(references):
    """Annotations of COCO, of captions by the id of their image."""
    return {
        "images": [
            {"id": i, "file_name": f"val2014/photo_{i}.jpg"} for i in references
        ],
        "annotations": [
            {"image_id": i, "caption": text}
            for i, texts in references.items()
            for text in texts
        ],
    }
