"""The error of a question that cannot be answered."""


class QueryError(ValueError):
    """A question that the data cannot answer; its text is for people."""
