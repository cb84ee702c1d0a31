"""What is said when a Java program cannot be had."""

from tfcap.text.absence import Absence


class JavaError(RuntimeError):
    """A score or tokenizer that could not be had from its Java program.

    Raised where something is missing, and where the program died, hung or
    answered nonsense. A report keeps the parts, to name what is absent.

    Args:
        name: String, what is absent, such as `"METEOR"`.
        reason: String, a clause that says why.
        cure: String, a sentence that says what to do.

    Example:

    >>> error = tfcap.text.JavaError("METEOR", "there is no Java", "Get it.")
    >>> print(error)
    METEOR is absent: there is no Java. Get it.
    """

    def __init__(self, name, reason, cure):
        super().__init__(name, reason, cure)
        self.absence = Absence(name, reason, cure)
        self.name, self.reason, self.cure = self.absence

    def __str__(self):
        return str(self.absence)
