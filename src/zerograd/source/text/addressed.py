"""Whether a comment may be addressed to us: a look at the text, before anything heavy is imported."""


def may_allow(text: str) -> bool:
    """False only for a text that has no comment which is surely addressed to us."""
    # One rare letter is found ten times as fast as two.
    return "zerograd:" in text or ("Z" in text and "ZG" in text and "noqa" in text.lower())
