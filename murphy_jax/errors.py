"""The one exception a user sees: a sentence that says what was given, what is allowed and what to do."""


class UserError(Exception):
    """Bad input of the user. The command line prints it as one line and exits with code 2."""
