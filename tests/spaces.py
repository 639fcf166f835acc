"""Pages as tests look for sentences in them."""


def with_plain_spaces(page: str) -> str:
    """A page in which numbers are not tied to their units."""
    return page.replace("\N{NO-BREAK SPACE}", " ")
