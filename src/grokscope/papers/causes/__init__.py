"""Causes of the wait: experiments that change one thing in mid-plateau and leave the rest of the run as it was."""
