"""The error of a request that cannot be answered."""


class QueryError(ValueError):
    """A request that the data cannot answer; users see its text."""
